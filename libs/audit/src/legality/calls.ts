import type { EventData, ToolCallEventType } from '@countersign/contracts';
import type { ApprovalState, CallState, Permission } from './call-state.js';
import { claim, lapseClaim, loseOutcome, reconcile, renew, report, unprovenOfExecution } from './executions.js';
import { notCovered, unprovenOfGrant } from './grant-scope.js';
import { illegal, isIllegal, isOfVersion1 } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import { isSameFolded, mayEnd, peopleOfVote } from './names.js';
import { begin, describe, escalate, expire, remind, reveal, withdraw } from './questions.js';
import type { Changed } from './questions.js';
import { judgeNesting } from './nesting.js';
import { isHiddenRequest, misnamedIn, request } from './requests.js';
import { judgeResponse } from './responses.js';
import type { Response } from './proposal.js';
import { agreeing } from './seats.js';
import type { KnownStreams } from './streams.js';
import { hasBecomeDue, lateMsOf } from './times.js';
import { notAllowedAtTurn, notAskedAtTurn, queued } from './turns.js';

/** A broken rule, or the call after the event. */
type Next = Illegal | CallState;

/** The call after one more event, or the rule that the event breaks. */
export interface JudgedCall {
  readonly next: Next;
  readonly unproven: readonly Unproven[];
}

/** Judges an event of a tool call's own stream; `call` is undefined before its first event. */
export function judgeCall(event: JudgedEvent, call: CallState | undefined, streams: KnownStreams): JudgedCall {
  const { next, unproven } = judgedCall(event, call, streams);
  return { next: withRecord(event, next), unproven };
}

function judgedCall(event: JudgedEvent, call: CallState | undefined, streams: KnownStreams): JudgedCall {
  if (call === undefined) {
    if (event.type !== 'ToolCallRequested') return { next: illegal('request', 'no request is recorded'), unproven: [] };
    const next = request(event);
    if (isIllegal(next)) return { next, unproven: [] };
    const { broken, unproven } = judgeNesting(event, next.request, streams);
    const hidden: readonly Unproven[] = isHiddenRequest(event) ? ['sealed-values'] : [];
    return { next: misnamedIn(event, next) ?? broken ?? next, unproven: [...hidden, ...unproven] };
  }
  const misnamed = misnamedIn(event, call);
  if (misnamed !== undefined) return { next: misnamed, unproven: [] };
  if (event.type === 'ApprovalResponded') return responded(event, call, streams);
  return { next: judged(event, call, streams), unproven: unprovenOf(event, call, streams) };
}

/** The same call, with when and how late the event was recorded. */
function withRecord(event: JudgedEvent, next: Next): Next {
  if (isIllegal(next)) return next;
  return { ...next, recordedAt: event.recordedAt, lateMs: lateMsOf(event, next.lateMs) };
}

function unprovenOf(event: JudgedEvent, call: CallState, streams: KnownStreams): readonly Unproven[] {
  const { type, data } = event;
  const { request: of, approval } = call;
  if (type.startsWith('Execution')) return unprovenOfExecution(event, call, fateOf(call, streams) === 'begun');
  if (type === 'ToolCallAllowed') {
    const { grantId } = (data as EventData<'ToolCallAllowed'>).verdict;
    return grantId === undefined ? [] : unprovenOfGrant(grantId, of, streams);
  }
  return endsOtherVotes(type, data, approval) ? ['ended-votes'] : [];
}

/** Whether the person had lost the right, or is the same one under another name, is in files that the log does not have. */
function endsOtherVotes(type: JudgedEvent['type'], data: unknown, approval: ApprovalState | null): boolean {
  if (type === 'ApprovalEscalated') return (data as EventData<'ApprovalEscalated'>).endedVotes !== undefined;
  if (type !== 'ResponseWithdrawn') return false;
  const { withdrawnBy, castBy = withdrawnBy, roles = [] } = data as EventData<'ResponseWithdrawn'>;
  return !isSameFolded(withdrawnBy, castBy) && !mayEnd(withdrawnBy, roles, peopleOfVote(approval, castBy));
}

function judged(event: JudgedEvent, call: CallState, streams: KnownStreams): Next {
  const hasBegun = fateOf(call, streams) === 'begun';
  switch (event.type as ToolCallEventType) {
    case 'ToolCallRequested':
    case 'ApprovalResponded':
      return illegal('request', 'the call is requested already');
    case 'ToolCallAllowed':
      return allowed(event, call, streams);
    case 'ToolCallQueued':
      return queued(event, call);
    case 'ToolCallBlocked':
      return blocked(event, call);
    case 'ToolCallShadowJudged':
      return shadowJudged(call);
    case 'ToolCallCancelled':
    case 'ApprovalLapsed':
    case 'ToolCallCommitted':
      return ending(event, call, hasBegun);
    case 'ExecutionClaimed':
      return claim(event, call, hasBegun);
    case 'ExecutionClaimRenewed':
      return renew(event, call);
    case 'ExecutionSucceeded':
    case 'ExecutionFailed':
      return report(event, call, hasBegun);
    case 'ExecutionLapsed':
      return lapseClaim(event, call);
    case 'ExecutionOutcomeUnknown':
      return loseOutcome(event, call);
    case 'ExecutionReconciled':
      return reconcile(event, call);
    default:
      return asked(event, call, hasBegun);
  }
}

/** A candidate policy judges a request at most once. */
function shadowJudged(call: CallState): Next {
  return call.isShadowJudged
    ? illegal('verdict', 'a candidate has judged the call already')
    : { ...call, isShadowJudged: true };
}

/** The policy forbids a call, also at its turn, or when people are to be asked about it again. */
function blocked(event: JudgedEvent, call: CallState): Next {
  const { verdict } = event.data as EventData<'ToolCallBlocked'>;
  if (verdict.outcome !== 'block') return illegal('verdict', 'its verdict does not block');
  const isWaiting = !call.isJudged || call.queued !== null;
  const isOpen = isWaiting || (isAskable(call) && call.execution.status === 'none');
  return isOpen ? settled(call, 'blocked') : illegal('verdict', 'the call was decided already');
}

/** The policy or a grant allows a new call. */
function allowed(event: JudgedEvent, call: CallState, streams: KnownStreams): Next {
  const { verdict } = event.data as EventData<'ToolCallAllowed'>;
  if (call.isJudged) return illegal('verdict', 'the call was judged already');
  if (verdict.outcome !== 'allow') return illegal('verdict', 'its verdict does not allow');
  const early = notAllowedAtTurn(call, verdict);
  if (early !== undefined) return early;
  const { grantId } = verdict;
  const uncovered = grantId === undefined ? undefined : notCovered(grantId, call.request, streams);
  return uncovered ?? { ...call, isJudged: true, queued: null, permission: 'allowed' };
}

/** Before the first claim of an allowed call, or again after a round that ended without an execution. */
function isAskable({ permission }: CallState): boolean {
  return permission === 'allowed' || permission === 'expired' || permission === 'lapsed';
}

/** Events of a question to people, except the responses. */
function asked(event: JudgedEvent, call: CallState, hasBegun: boolean): Next {
  if (event.type === 'ApprovalRequested') return question(event, call);
  const approval = pendingOf(event, call);
  if (isIllegal(approval)) return approval;
  const changed = changeOf(event, call, approval);
  if (isIllegal(changed)) return changed;
  if (event.type !== 'ApprovalExpired') return { ...call, approval: changed };
  return unlessBegun(event, call, hasBegun) ?? settled({ ...call, approval: changed }, 'expired');
}

function changeOf(event: JudgedEvent, call: CallState, approval: ApprovalState): Changed {
  switch (event.type) {
    case 'ApprovalDescribed':
      return describe(event, approval);
    case 'ResponseWithdrawn':
      return withdraw(event, call, approval);
    case 'ValuesRevealed':
      return reveal(event, call, approval);
    case 'ApproversReminded':
      return remind(event, approval);
    case 'ApprovalEscalated':
      return escalate(event, call, approval);
    case 'ApprovalExpired':
      return expire(event, call, approval);
    default:
      return illegal('stream', `an event of the type ${event.type} has no place in the stream of a call`);
  }
}

/** The approval that an event names, while it is pending. */
function pendingOf({ data }: JudgedEvent, { approval }: CallState): Changed {
  const { approvalId } = data as { readonly approvalId: string };
  if (approval?.approvalId !== approvalId)
    return illegal('approval', `no approval ${approvalId} is the latest of the call`);
  return approval.isPending ? approval : illegal('resolution', `the approval ${approvalId} has ended already`);
}

function question(event: JudgedEvent, call: CallState): Next {
  const isFirst = !call.isJudged || call.queued !== null;
  const early = notAskedAtTurn(call, event.data as EventData<'ApprovalRequested'>);
  if (early !== undefined) return early;
  const isOpen = isFirst || (isAskable(call) && call.execution.status === 'none' && !call.isCommitted);
  if (!isOpen) return illegal('approval', `people are asked about a call that is ${call.permission}`);
  const approval = begin(event, call);
  if (isIllegal(approval)) return approval;
  return {
    ...call,
    ...{ isJudged: true, queued: null, approval, actionDigest: approval.firstDigest, executeBy: null },
    ...{ permission: 'awaiting', wasAllowed: call.permission === 'allowed' },
  };
}

function responded(event: JudgedEvent, call: CallState, streams: KnownStreams): JudgedCall {
  const pending = pendingOf(event, call);
  if (isIllegal(pending)) return { next: pending, unproven: [] };
  const { illegal: broken, unproven, after } = judgeResponse(event, call, pending, streams);
  const { resolution, automatic } = event.data as Response;
  if (broken !== undefined) return { next: broken, unproven };
  const edits = isOfVersion1(event) ? [...call.edits, after.lastRun.actionDigest] : call.edits;
  const approval = { ...after, isPending: resolution === 'pending' };
  // Version 1 let silence approve a later round: nothing was agreed to.
  const isNothing = automatic && approval.round > 1;
  const { signature } = event.data as Response;
  const nonces = signature === undefined ? call.nonces : [...call.nonces, signature.nonce];
  const resolved = { ...call, edits, approval, nonces };
  if (isNothing) return { next: settled(resolved, 'expired'), unproven };
  if (resolution === 'pending') return { next: resolved, unproven };
  if (resolution === 'approved') return { next: approved(resolved, approval, event.data as Response), unproven };
  return {
    next: unlessBegun(event, call, fateOf(call, streams) === 'begun') ?? settled(resolved, 'denied'),
    unproven,
  };
}

/** An approved run may be claimed. An approved answer is the result, so there is nothing to claim. */
function approved(call: CallState, approval: ApprovalState, { executeBy }: Response): CallState {
  const { kind, actionDigest } = approval.proposal;
  const approvedBy = { ...call.approvedBy, [approval.approvalId]: agreeing(approval).map(({ by }) => by) };
  const permitted: CallState = { ...call, permission: 'approved', actionDigest, executeBy, approvedBy };
  return kind === 'run' ? permitted : { ...permitted, execution: { ...call.execution, status: 'ended' } };
}

/** The end of a call without a run, and the begin of its batch. */
function ending(event: JudgedEvent, call: CallState, hasBegun: boolean): Next {
  if (event.type === 'ToolCallCommitted') return commit(event, call, hasBegun);
  const isLapse = event.type === 'ApprovalLapsed';
  return (
    (isLapse ? notToLapse(event, call) : notToCancel(event, call)) ??
    unlessBegun(event, call, hasBegun) ??
    settled(endedWith(call), isLapse ? 'lapsed' : 'cancelled')
  );
}

function notToLapse(event: JudgedEvent, call: CallState): Illegal | undefined {
  const { approval, permission, execution, executeBy } = call;
  const { approvalId, lapsedAt } = event.data as EventData<'ApprovalLapsed'>;
  if (approval?.approvalId !== approvalId) return illegal('approval', `${approvalId} is not the latest approval`);
  const isUnused = permission === 'approved' && execution.status === 'none';
  if (!isUnused) return illegal('claim', 'no approval waits for its claim');
  // What was approved before a backup was restored may have run since.
  const isOfBackup = event.restoredAt !== undefined && (call.recordedAt ?? '') <= event.restoredAt;
  return isOfBackup || hasBecomeDue(executeBy, lapsedAt, event, call)
    ? undefined
    : illegal('deadline', 'the right to run had not ended');
}

function notToCancel(event: JudgedEvent, { approval, permission, execution }: CallState): Illegal | undefined {
  const { approvalId } = event.data as EventData<'ToolCallCancelled'>;
  const isOpen = permission === 'awaiting' || permission === 'allowed' || permission === 'approved';
  // Version 1 let a call be cancelled after its claim was released.
  const isUnclaimed = execution.status === 'none' || (execution.status === 'released' && isOfVersion1(event));
  if (!isOpen || !isUnclaimed) return illegal('claim', `a call that is ${permission} or claimed cannot be cancelled`);
  const pending = approval?.isPending === true ? approval.approvalId : null;
  return approvalId === pending ? undefined : illegal('approval', 'it does not name the approval that was pending');
}

function commit(event: JudgedEvent, call: CallState, hasBegun: boolean): Next {
  const { approvalId } = event.data as EventData<'ToolCallCommitted'>;
  if (!hasBegun && !isOfVersion1(event)) return illegal('batch', 'its all-or-nothing batch has not begun');
  const late = lateQuestionOf(call);
  if (approvalId !== late) return illegal('batch', 'it does not name the approval that came too late');
  const committed: CallState = { ...call, isCommitted: true, executeBy: null };
  return late === null ? committed : { ...endedWith(committed), permission: 'allowed' };
}

/** The approval that is pending for a call that had been allowed; null: there is none. */
function lateQuestionOf({ permission, wasAllowed, approval }: CallState): string | null {
  const isLate = permission === 'awaiting' && wasAllowed && approval?.isPending === true;
  return isLate ? approval.approvalId : null;
}

/** A member of a batch that has begun cannot end without a run. */
function unlessBegun(event: JudgedEvent, call: CallState, hasBegun: boolean): Illegal | undefined {
  const isHeld = call.isCommitted || (hasBegun && !isOfVersion1(event));
  return isHeld ? illegal('batch', 'its all-or-nothing batch has begun, so it cannot end without a run') : undefined;
}

function fateOf({ request: { batchStream } }: CallState, streams: KnownStreams): 'begun' | 'broken' | undefined {
  const state = batchStream === null ? undefined : streams.get(batchStream)?.state;
  return state?.kind === 'batch' ? state.status : undefined;
}

function endedWith(call: CallState): CallState {
  return call.approval === null ? call : { ...call, approval: { ...call.approval, isPending: false } };
}

function settled(call: CallState, permission: Permission): CallState {
  return { ...call, isJudged: true, queued: null, permission };
}
