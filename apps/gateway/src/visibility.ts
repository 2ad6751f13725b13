import type { Actor } from '@countersign/commands';
import { ProblemError, reachedWithin } from '@countersign/shell';
import type { CallRow, ReadModel, Visibility } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';

/**
 * Returns the visibility of sensitive fields: the principal that requested the call sees their values, and so do
 * auditors. In the inbox an auditor who is also an approver sees the masked view, since other people may see the
 * screen.
 */
export function visibilityFor(actor: Actor, call: CallRow): Visibility {
  const isAtInbox = actor.via === 'inbox' && actor.roles.has('approver');
  const seesAll = actor.roles.has('auditor') && !isAtInbox;
  return call.request.requestedBy === actor.principal || seesAll ? 'whole' : 'masked';
}

/**
 * Masks an approval for everyone who may decide it, also for auditors, since a card is shown on screens. The audit
 * reads return it unmasked.
 */
export function approvalVisibilityFor(actor: Actor, call: CallRow): Visibility {
  const isOwn = call.request.requestedBy === actor.principal;
  return actor.roles.has('approver') && !isOwn ? 'masked' : visibilityFor(actor, call);
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
