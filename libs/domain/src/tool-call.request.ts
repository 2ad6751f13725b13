import type { Requirement, ToolCallEvent, Verdict } from '@countersign/contracts';
import { noApproverDetail, stageWithoutApprovers } from './approvers-left.js';
import { assert } from './assert.js';
import { historyLimits } from './bounds.js';
import { expiryAfter, recordedReminders } from './deadline-times.js';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { notOwner } from './ownership.js';
import { uncheckedSchema } from './schema-check.js';
import { invalidRequest } from './step.conflicts.js';
import { overQuota } from './step.quotas.js';
import { toStored } from './time.js';
import { hasBegun, heldByBatch, isBatchMember } from './tool-call.batch.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { CancelToolCall, DescribeApproval, RequestApproval, RequestToolCall } from './tool-call.commands.js';
import { compareRepeat } from './tool-call.repeat.js';
import { callState, currentApproval, nextRound } from './tool-call.state.js';
import type { CallState, ToolCall, ToolCallState } from './tool-call.state.js';

interface Question {
  readonly approvalId: string;
  readonly round: number;
  readonly actionDigest: string;
  readonly verdict: Verdict;
  readonly requirement: Requirement;
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
}

function approvalRequested(question: Question, at: number): ToolCallEvent {
  const { requirement } = question;
  const expiresAt = expiryAfter(requirement, at, requirement.expiresInMs);
  const times = { requestedAt: toStored(at), expiresAt, ...recordedReminders(requirement, at) };
  return { type: 'ApprovalRequested', data: { ...question, ...times } };
}

/** The event of the policy's verdict about a call, new or recorded. */
function judged({ call, judgement, approvalId, at }: RequestToolCall, round = 1): ToolCallEvent {
  const { verdict } = judgement;
  switch (judgement.outcome) {
    case 'allow':
      return { type: 'ToolCallAllowed', data: { verdict, allowedAt: toStored(at) } };
    case 'block':
      return blocked(verdict, judgement.reason, at);
    case 'require': {
      const { actionDigest, reason, description, requestedBy } = call;
      const { requirement } = judgement;
      const question = { approvalId, round, actionDigest, verdict, requirement, reason, description, requestedBy };
      return approvalRequested(question, at);
    }
  }
}

/** Why a policy blocks a call: the last line of the verdict, which is the rule's own reason. */
export function blockReason({ why }: Verdict): string {
  return why.at(-1) ?? '';
}

function blocked(verdict: Verdict, reason: string, at: number): ToolCallEvent {
  return { type: 'ToolCallBlocked', data: { verdict, reason, blockedAt: toStored(at) } };
}

/**
 * Request and verdict are one decision, appended together: no reader sees a call without a verdict. A duplicate adds
 * nothing, unless it is stricter: then it opens the approval, or cancels a call that the agent's code denies now.
 */
export function requestToolCall(command: RequestToolCall, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'recorded') {
    const repeat = compareRepeat({ proposal: command.call, judged: command.judgement }, state);
    if (repeat === 'equal') return accepted();
    if (repeat === 'denied') return cancelDenied(command, state);
    if (repeat !== 'stricter') return repeat;
    const decided = decidedByBatch(command.judgement.outcome, command.batch, state);
    if (decided !== undefined) return decided;
    const noMore = noMoreRounds(state);
    if (noMore !== undefined) return noMore;
    return accepted(judged({ ...command, call: withFirstWords(command.call, state) }, nextRound(state)));
  }
  const requested: ToolCallEvent = {
    type: 'ToolCallRequested',
    data: { ...command.call, requestedAt: toStored(command.at) },
  };
  return accepted(requested, judged(command));
}

/** People may have been asked already, so the call is cancelled: that ends the question as well. */
function cancelDenied({ call, judgement, batch, at }: RequestToolCall, state: ToolCall): RuleResult<ToolCallEvent> {
  const reason = blockReason(judgement.verdict);
  const { requestedBy: cancelledBy } = call;
  const command = { type: 'CancelToolCall', reach: 'own', reason, cancelledBy, at } as const;
  return cancelToolCall({ ...command, ...(batch !== undefined && { batch }) }, state);
}

/** A decided batch accepts no further approval request. A member that the policy blocks ends like any other member. */
function decidedByBatch(
  outcome: Verdict['outcome'],
  fate: BatchFate | undefined,
  call: ToolCall,
): RuleResult<never> | undefined {
  if (outcome === 'block') return heldByBatch(call, fate);
  if (hasBegun(call, fate)) {
    return refused('batch-begun', 'A call of the same all-or-nothing batch has begun, so this call may run.');
  }
  return isBatchMember(call) && fate === 'broken'
    ? refused('batch-incomplete', 'No call of this all-or-nothing batch will run.')
    : undefined;
}

/** Before the first claim of an allowed call, or again after a round that ended without an execution. */
export function requestApproval(command: RequestApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-requested', 'No such tool call is recorded.');
  const refusal =
    notOwner(state, command.requestedBy, command.reach) ??
    notAskable(state) ??
    decidedByBatch(command.verdict.outcome, command.batch, state) ??
    noMoreRounds(state) ??
    notToBeAsked(command, state);
  if (refusal !== undefined) return refusal;
  assert(command.round === nextRound(state), 'a further approval is the next round');
  const { approvalId, round, verdict, requirement, requestedBy, at } = command;
  // A person must not be asked for what the policy forbids: it may have changed since the call was allowed.
  if (verdict.outcome === 'block') return accepted(blocked(verdict, blockReason(verdict), at));
  const over = command.quotas && overQuota(command.quotas, [command.quotas.question], at);
  if (over !== undefined) return { status: 'refused', refusal: over };
  // An edit that was not approved has ended with its round.
  const { actionDigest } = state.request;
  const words = withFirstWords(command, state);
  const question = { approvalId, round, actionDigest, verdict, requirement, ...wordsOf(words), requestedBy };
  return accepted(approvalRequested(question, at));
}

function notToBeAsked(command: RequestApproval, state: ToolCall): RuleResult<never> | undefined {
  return command.verdict.outcome === 'block'
    ? undefined
    : (tooFewApprovers(command, state) ?? notChecked(command, state));
}

/** Attack: people are asked only after those have left whom the agent did not exclude by the names that it chose. */
function tooFewApprovers(
  { approvers, requirement, verdict }: RequestApproval,
  { request }: ToolCall,
): RuleResult<never> | undefined {
  if (approvers === undefined) return undefined;
  const stage = stageWithoutApprovers(requirement, request, approvers);
  return stage === undefined ? undefined : refused('no-approver-left', `${noApproverDetail(stage, verdict)}.`);
}

/** The policy may demand more than when the call was recorded. */
function notChecked({ requirement }: RequestApproval, { request }: ToolCall): RuleResult<never> | undefined {
  const message = uncheckedSchema(requirement, request);
  return message === undefined
    ? undefined
    : { status: 'refused', refusal: invalidRequest([{ path: 'toolSchema', message }]) };
}

function noMoreRounds(call: ToolCall): RuleResult<never> | undefined {
  const { roundsMax: limit } = historyLimits;
  return nextRound(call) > limit
    ? refused('too-many', `People are asked about a tool call at most ${String(limit)} times: request a new call.`, {
        limit,
      })
    : undefined;
}

function notAskable(call: ToolCall): RuleResult<never> | undefined {
  const { permission, execution } = call;
  if (permission.status === 'awaiting_approval') {
    const approvalId = currentApproval(call)?.approvalId;
    return refused('already-pending', 'An approval of this tool call is pending.', { approvalId });
  }
  const isAskable = permission.status === 'allowed' || permission.status === 'expired';
  const name = callState(call);
  if (isAskable && execution.status === 'none') return erasedAction(call, name);
  return refused('already-resolved', `The tool call is ${String(name)}; nothing is left to approve.`, { state: name });
}

/** An erasure takes the salt, so the digest cannot be computed any more: a person would approve what cannot run. */
function erasedAction({ request }: ToolCall, state: CallState | null): RuleResult<never> | undefined {
  return request.salt === null
    ? refused('already-resolved', 'Values of this tool call are erased, so it can no longer run: request a new call.', {
        state,
      })
    : undefined;
}

interface Words {
  readonly reason: string | null;
  readonly description: string | null;
}

function wordsOf({ reason, description }: Words): Words {
  return { reason, description };
}

/** Attack: an agent requests again with more harmless words. The first words stay first, and later ones are added. */
function withFirstWords<T extends Words & { readonly requestedBy: string }>(
  later: T,
  { request, approvals }: ToolCall,
): T {
  const first = approvals[0] ?? request;
  return {
    ...later,
    reason: added(first.reason, later.reason, later.requestedBy),
    description: added(first.description, later.description, later.requestedBy),
  };
}

function added(first: string | null, later: string | null, by: string): string | null {
  if (first === null || later === null || first === later) return first ?? later;
  return `${first}\n\nAdded later by ${by}: ${later}`;
}

/** Words of another principal, such as an admin, carry its name, so that they do not look like the requester's. */
function attributed(words: string | null, by: string, asker: string): string | null {
  return words === null || by === asker ? words : `Added by ${by}: ${words}`;
}

/**
 * Adds what the approvers have not been told. Words that they may have read stay unchanged: a response must not turn
 * out to be about other words.
 */
export function describeApproval(command: DescribeApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-requested', 'No such tool call is recorded.');
  const notOwned = notOwner(state, command.describedBy, command.reach);
  if (notOwned !== undefined) return notOwned;
  const approval = currentApproval(state);
  if (approval?.resolution.status !== 'pending') {
    return refused('already-resolved', 'No approval of this tool call is pending.', { state: callState(state) });
  }
  const { approvalId, requestedBy } = approval;
  const { describedBy, at } = command;
  const unlessTold = (told: string | null, words: string | null): string | null =>
    told === null ? attributed(words, describedBy, requestedBy) : null;
  const reason = unlessTold(approval.reason, command.reason);
  const description = unlessTold(approval.description, command.description);
  if (reason === null && description === null) return accepted();
  return accepted({
    type: 'ApprovalDescribed',
    data: { approvalId, reason, description, describedBy, describedAt: toStored(at) },
  });
}

/** Only an unclaimed call can be cancelled: a claim may have had its effect, even a released one. */
export function cancelToolCall(command: CancelToolCall, state: ToolCallState): RuleResult<ToolCallEvent> {
  const notOwned = state.status === 'recorded' && notOwner(state, command.cancelledBy, command.reach);
  if (notOwned) return notOwned;
  if (state.status === 'recorded' && state.execution.status === 'released') {
    return refused('already-claimed', 'The call was claimed before, so it may have run.');
  }
  const name = callState(state);
  switch (name) {
    case null:
      return refused('not-requested', 'No such tool call is recorded.');
    case 'executing':
      return refused('already-claimed', 'The execution is under way.');
    case 'awaiting_approval':
    case 'allowed':
    case 'approved': {
      const held = state.status === 'recorded' ? heldByBatch(state, command.batch) : undefined;
      if (held !== undefined) return held;
      const approval = currentApproval(state);
      const approvalId = approval?.resolution.status === 'pending' ? approval.approvalId : null;
      const { reason, cancelledBy, at } = command;
      return accepted({
        type: 'ToolCallCancelled',
        data: { approvalId, reason, cancelledBy, cancelledAt: toStored(at) },
      });
    }
    default:
      return refused('already-settled', `The tool call is ${name}.`, { state: name });
  }
}
