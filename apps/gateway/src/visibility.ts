import type { Actor } from '@countersign/commands';
import { ProblemError, reachedWithin } from '@countersign/shell';
import type { CallRow, ReadModel, Visibility } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';

/**
 * Who sees the values of sensitive fields: the principal that requested the call, and auditors. At the inbox an auditor who
 * also approves sees what approvers see, since its pages are shown where others look over one's shoulder.
 */
export function visibilityFor(actor: Actor, call: CallRow): Visibility {
  const isAtInbox = actor.via === 'inbox' && actor.roles.has('approver');
  const seesAll = actor.roles.has('auditor') && !isAtInbox;
  return call.request.requestedBy === actor.principal || seesAll ? 'whole' : 'masked';
}

/**
 * What of an approval: masked for whoever may decide it, also when they are an auditor, since a card is shown where others
 * look over one's shoulder; the audit reads show it whole.
 */
export function approvalVisibilityFor(actor: Actor, call: CallRow): Visibility {
  const isOwn = call.request.requestedBy === actor.principal;
  return actor.roles.has('approver') && !isOwn ? 'masked' : visibilityFor(actor, call);
}

/**
 * Waits until every read shows a position of the log; undefined when it does already.
 * @param take is called before a wait; what it returns, after it.
 * @throws ProblemError `unavailable` when it does not within `msMax`.
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
  throw new ProblemError('unavailable', `the views have not reached position ${String(position)} yet; try again`);
}
