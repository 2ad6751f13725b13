import type { EventData } from '@countersign/contracts';
import type { CallState, ExecutionState } from './call-state.js';
import { illegal, isOfVersion1 } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import { isOfRestore } from './stops.js';
import { hasBecomeDue, hasCome, isBeforeBy, isPastEnd } from './times.js';

type Next = Illegal | CallState;

/** Returns whether people and policy let the call run. */
function isPermitted({ permission }: CallState): boolean {
  return permission === 'allowed' || permission === 'approved';
}

/** The only way to an execution: permitted, in time, this digest, no claim that may still run, and the whole batch. */
export function claim(event: JudgedEvent, call: CallState, hasBatchBegun: boolean): Next {
  const { attempt, claimedBy, leaseUntil } = event.data as Claimed;
  const broken =
    notClaimable(event, call) ??
    notInBatch(event, call, hasBatchBegun) ??
    notInTime(event.data as Claimed, call, hasBatchBegun);
  return broken ?? executing(call, { status: 'claimed', attempt, claimedBy, leaseUntil });
}

type Claimed = EventData<'ExecutionClaimed'>;

const ofClientAlone = 'the client executes this call itself';

function notClaimable(event: JudgedEvent, call: CallState): Illegal | undefined {
  const { attempt, actionDigest, idempotencyKey } = event.data as Claimed;
  const { execution, request } = call;
  if (execution.status !== 'none' && execution.status !== 'released') {
    return illegal('claim', `attempt ${String(attempt)} begins while the execution is ${execution.status}`);
  }
  if (!isPermitted(call))
    return illegal('claim', `the call is ${call.permission}: no approval and no rule lets it run`);
  // A restore takes the right to run from the client too.
  const isOfClient = request.clientExecuted && !isOfRestore(event, call);
  if (isOfClient) return illegal('claim', ofClientAlone);
  if (idempotencyKey !== request.callId) return illegal('claim', 'its idempotency key is not the id of the call');
  if (actionDigest !== call.actionDigest) return illegal('digest', 'these are not the arguments that were approved');
  return attempt === execution.attempt + 1
    ? undefined
    : illegal('claim', `attempt ${String(attempt)} follows attempt ${String(execution.attempt)}`);
}

function notInTime({ claimedAt, leaseUntil }: Claimed, call: CallState, hasBatchBegun: boolean): Illegal | undefined {
  if (mayLapse(call, hasBatchBegun) && hasCome(call.executeBy, claimedAt))
    return illegal('claim', 'the approval was not used in time');
  if (leaseUntil <= claimedAt) return illegal('lease', 'the lease ends before it begins');
  return isTooLong(claimedAt, leaseUntil) ? illegal('lease', 'the lease is longer than a day') : undefined;
}

function mayLapse({ execution, isCommitted }: CallState, hasBatchBegun: boolean): boolean {
  return execution.status === 'none' && !isCommitted && !hasBatchBegun;
}

/** Whether a claim, or the output of a client, used its approval in time, where it was recorded later. */
export function unprovenOfExecution(event: JudgedEvent, call: CallState, hasBatchBegun: boolean): readonly Unproven[] {
  const { executedBy, late } = event.data as Partial<EventData<'ExecutionSucceeded'>>;
  const isUse = event.type === 'ExecutionClaimed' || (executedBy === 'client' && late === undefined);
  return isUse && mayLapse(call, hasBatchBegun) && isPastEnd(call.executeBy, event, call) ? ['past-end'] : [];
}

const leaseMsMax = 24 * 60 * 60 * 1000;

/** Attack: a lease that never ends, so that the call has no outcome and its receipt stays valid. */
function isTooLong(from: string, until: string): boolean {
  return isBeforeBy(leaseMsMax, from, until);
}

/** A member of an all-or-nothing batch runs only once the batch has begun. Version 1 recorded no begin. */
function notInBatch(event: JudgedEvent, { request }: CallState, hasBatchBegun: boolean): Illegal | undefined {
  const isMember = request.batchStream !== null && !isOfVersion1(event);
  return isMember && !hasBatchBegun ? illegal('batch', 'its all-or-nothing batch has not begun') : undefined;
}

/** The holder of the latest claim moves the end of its lease. */
export function renew(event: JudgedEvent, call: CallState): Next {
  const { attempt, leaseUntil, renewedAt } = event.data as EventData<'ExecutionClaimRenewed'>;
  const { execution } = call;
  const isHeld = execution.status === 'claimed' && execution.attempt === attempt;
  if (!isHeld) return illegal('lease', `attempt ${String(attempt)} holds no claim`);
  if (leaseUntil <= execution.leaseUntil) return illegal('lease', 'a renewal moves the lease back');
  if (isTooLong(renewedAt, leaseUntil)) return illegal('lease', 'the lease is longer than a day');
  return executing(call, { leaseUntil });
}

/** The outcome of the latest attempt, by the principal that claimed it, or of a call that its client ran. */
export function report(event: JudgedEvent, call: CallState, hasBatchBegun: boolean): Next {
  const data = event.data as EventData<'ExecutionSucceeded' | 'ExecutionFailed'>;
  const broken = data.executedBy === 'client' ? ofClient(event, call, hasBatchBegun) : ofResolver(event, call);
  return broken ?? executing(call, { status: 'ended' });
}

function ofClient(event: JudgedEvent, call: CallState, hasBatchBegun: boolean): Illegal | undefined {
  const { attempt } = event.data as EventData<'ExecutionSucceeded'>;
  const { execution, request } = call;
  if (!request.clientExecuted) return illegal('outcome', 'a resolver executes this call');
  if (attempt !== null) return illegal('outcome', 'a client has no attempt');
  const isOpen = execution.status === 'none' || (execution.status === 'released' && !execution.isLapsed);
  if (!isOpen) return illegal('outcome', `the execution is ${execution.status}`);
  if (!isPermitted(call) && call.permission !== 'lapsed') {
    return illegal('outcome', `the call is ${call.permission}: no approval and no rule lets it run`);
  }
  return notAsLate(event, call, hasBatchBegun) ?? notInBatch(event, call, hasBatchBegun);
}

/** The output of a client after its right to run is recorded as late, and no other. */
function notAsLate(event: JudgedEvent, call: CallState, hasBatchBegun: boolean): Illegal | undefined {
  const { late, reportedAt } = event.data as EventData<'ExecutionSucceeded'>;
  const mayLapse = call.permission === 'approved' && !call.isCommitted && !hasBatchBegun;
  const isLate = call.permission === 'lapsed' || (mayLapse && hasCome(call.executeBy, reportedAt));
  // Version 1 began without the word.
  if (isLate === (late === 'execute-by-over') || (isLate && isOfVersion1(event))) return undefined;
  return illegal('outcome', `it is recorded as ${late ?? 'in time'}, and is ${isLate ? 'late' : 'in time'}`);
}

function ofResolver(event: JudgedEvent, call: CallState): Illegal | undefined {
  const { attempt, reportedBy, reportedAt, late } = event.data as EventData<'ExecutionSucceeded'>;
  const { execution, request } = call;
  if (request.clientExecuted) return illegal('outcome', ofClientAlone);
  if (attempt !== execution.attempt) {
    return illegal(
      'outcome',
      `attempt ${String(attempt)} reports, and the latest claim is ${String(execution.attempt)}`,
    );
  }
  if (execution.claimedBy !== null && execution.claimedBy !== reportedBy) {
    return illegal('outcome', `${reportedBy} reports for the claim of ${execution.claimedBy}`);
  }
  const expected = lateness(call, reportedAt);
  if (expected === 'closed') return illegal('outcome', `the execution is ${execution.status}: no claim is open`);
  // Version 1 began without the word.
  if (late === expected || isOfVersion1(event)) return undefined;
  return illegal('outcome', `it is recorded as ${late ?? 'in time'}, and is ${expected ?? 'in time'}`);
}

/** How late a report is; undefined: it is in time. `closed`: none is awaited. */
function lateness(call: CallState, at: string) {
  const { status, leaseUntil, isLapsed } = call.execution;
  switch (status) {
    case 'claimed':
      return hasCome(leaseUntil, at) ? 'lease-over' : undefined;
    case 'unknown':
      return 'outcome-unknown';
    case 'released':
      return isLapsed && isPermitted(call) ? 'lease-over' : 'closed';
    case 'none':
    case 'ended':
      return 'closed';
  }
}

/** The lease of an idempotent tool ended: the call can be claimed again. */
export function lapseClaim(event: JudgedEvent, call: CallState): Next {
  const { attempt, lapsedAt } = event.data as EventData<'ExecutionLapsed'>;
  const { execution, request } = call;
  if (execution.status !== 'claimed' || execution.attempt !== attempt) return illegal('lease', 'no such claim is open');
  if (!request.idempotent) return illegal('lease', 'the tool is not idempotent: its outcome is unknown');
  if (!hasBecomeDue(execution.leaseUntil, lapsedAt, event, call)) return illegal('lease', 'the lease was not over');
  return executing(call, { status: 'released', isLapsed: true });
}

/** Whether the tool ran is unknown. */
export function loseOutcome(event: JudgedEvent, call: CallState): Next {
  const { attempt } = event.data as EventData<'ExecutionOutcomeUnknown'>;
  const { execution, request } = call;
  // In a restored log it is unknown how often the call ran, and whether it was claimed again.
  const isRestored = event.restoredAt !== undefined;
  const isOpen = execution.status === 'claimed' || (isRestored && execution.status === 'released');
  if (!isOpen || execution.attempt !== attempt) return illegal('lease', 'no such claim is open');
  if (request.idempotent && !isRestored) return illegal('lease', 'the tool is idempotent: its claim lapses');
  return executing(call, { status: 'unknown' });
}

/** A person says what happened, also to a call that may be claimed once more and that nobody claims. */
export function reconcile(event: JudgedEvent, call: CallState): Next {
  const { status } = event.data as EventData<'ExecutionReconciled'>;
  const isEnded = call.execution.status === 'released' && status !== 'retry';
  if (call.execution.status !== 'unknown' && !isEnded) return illegal('outcome', 'the outcome is not unknown');
  return executing(call, status === 'retry' ? { status: 'released', isLapsed: false } : { status: 'ended' });
}

function executing(call: CallState, change: Partial<ExecutionState>): CallState {
  return { ...call, execution: { ...call.execution, ...change } };
}
