import { provenTypes } from '@countersign/contracts';
import type { LedgerEvent, Proof } from '@countersign/contracts';
import type { RuleResult } from '@countersign/domain';
import type { Actor } from './actor.js';

/** The proof of an actor, as it is recorded with what they decide; empty for an actor without a credential. */
export function proofOf({ credential, session, client, address, roles, vouchedBy, bulkId }: Actor): Proof {
  if (credential === undefined && session === undefined) return {};
  return {
    ...(credential !== undefined && { credential }),
    ...(session !== undefined && { session }),
    ...(client !== undefined && { client }),
    ...(address !== undefined && { address }),
    roles: [...roles].toSorted(),
    ...(vouchedBy !== undefined && { vouchedBy }),
    ...(bulkId !== undefined && { bulkId }),
  };
}

/** A rule's result with the proof of the actor in each event that records one. No rule depends on it. */
export function withProof<Event extends LedgerEvent>(result: RuleResult<Event>, actor: Actor): RuleResult<Event> {
  if (result.status === 'refused') return result;
  const proof = proofOf(actor);
  const events = result.events.map((event) =>
    provenTypes.has(event.type) ? { ...event, data: { ...event.data, ...proof } } : event,
  );
  return { status: 'accepted', events };
}
