import { comparedIdentity } from './compared-identity.js';
import { refuseLookalike } from './names.js';
import { externalIdSchema } from './primitives.js';

/** Names under which the service itself writes events. No person or agent caused such an event. */
const reserved = ['countersign', 'policy', 'operator'];

/**
 * Returns whether the name is reserved for the service: `countersign`, `policy`, `operator`, and every name that begins
 * with `countersign-`. Case and surrounding blanks are ignored.
 */
export function isReservedPrincipal(principal: string): boolean {
  const name = comparedIdentity(principal);
  return reserved.includes(name) || name.startsWith('countersign-');
}

/**
 * A principal in a file that an operator writes. Attack: a token whose principal poses as the service, or looks like
 * another person.
 */
export const principalSchema = externalIdSchema
  .superRefine(refuseLookalike)
  .refine((principal) => !isReservedPrincipal(principal), {
    error:
      'is a name that the service reserves for itself (countersign, countersign-*, policy, operator); choose another',
  });
