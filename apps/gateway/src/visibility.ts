import { isFrontEnd } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { ProblemError, reachedWithin } from '@countersign/shell';
import type { CallRow, ReadModel, Visibility } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';

/** How a read shows hidden values: `clear` for an auditor who asked for it, which is recorded. */
export type ShownValues = 'masked' | 'clear';

/** Returns the visibility of sensitive fields: the principal that requested the call sees their values. */
export function visibilityFor(actor: Actor, call: CallRow, values: ShownValues): Visibility {
  return isRequester(actor, call) || values === 'clear' ? 'whole' : 'masked';
}

/** A front end shows to people what it reads, so values that are hidden from people are hidden from it, if it is no agent. */
function isRequester(actor: Actor, { request }: CallRow): boolean {
  if (request.requestedBy !== actor.principal || actor.vouchedBy !== undefined) return false;
  return !isFrontEnd(actor) || actor.roles.has('agent');
}

/** Returns whether the actor may know of a call: a front end without a person knows those that its principal requested. */
export function maySee(actor: Actor, call: CallRow): boolean {
  return !isFrontEnd(actor) || call.request.requestedBy === actor.principal;
}

/**
 * Waits until every read shows a position of the log. Returns undefined when they already do.
 * @param take is called before a wait; the function that it returns, after the wait.
 * @throws ProblemError `unavailable` after `msMax`.
 */
export function whenShown(
  { readModel, clock }: { readonly readModel: ReadModel; readonly clock: Clock },
  position: number,
  msMax: number,
  take?: () => () => void,
): Promise<void> | undefined {
  if (readModel.checkpoint() >= position) return undefined;
  const release = take?.();
  const shown = waitUntilShown(readModel, clock, position, msMax);
  return release === undefined ? shown : shown.finally(release);
}

async function waitUntilShown(readModel: ReadModel, clock: Clock, position: number, msMax: number): Promise<void> {
  if (await reachedWithin(readModel, clock, position, msMax)) return;
  throw new ProblemError('unavailable', `the read model has not reached position ${String(position)} yet; try again`);
}
