import { externalIdSchema } from './primitives.js';

/** Names under which the service itself writes events: an event with one of them was not caused by a person or an agent. */
const reserved = ['countersign', 'policy', 'operator'];

/**
 * Whether the name belongs to the service itself: `countersign`, `policy`, `operator`, and every name that begins with
 * `countersign-`. Case and surrounding blanks make no difference.
 */
export function isReservedPrincipal(principal: string): boolean {
  const name = principal.trim().toLowerCase();
  return reserved.includes(name) || name.startsWith('countersign-');
}

/** A principal in a file that an operator writes. Attack: a token whose principal poses as the service. */
export const principalSchema = externalIdSchema.refine((principal) => !isReservedPrincipal(principal), {
  error:
    'is a name that the service reserves for itself (countersign, countersign-*, policy, operator); choose another',
});
