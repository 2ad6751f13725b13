import type { EventData, Requirement, ToolCallEvent, Verdict } from '@countersign/contracts';
import { assert } from './assert.js';
import { accepted, refused } from './decider.js';
import type { Decision } from './decider.js';
import { areEqualJson } from './json-equality.js';
import { storedAfter, toStored } from './time.js';
import { hasBegun, heldByBatch, isBatchMember } from './tool-call.batch.js';
import type {
  CancelToolCall,
  DescribeApproval,
  RequestApproval,
  RequestToolCall,
  ToolCallProposal,
} from './tool-call.commands.js';
import { callState, currentApproval, nextRound } from './tool-call.state.js';
import type { ToolCall, ToolCallState } from './tool-call.state.js';

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
  const expiresAt = storedAfter(at, question.requirement.expiresInMs);
  return { type: 'ApprovalRequested', data: { ...question, requestedAt: toStored(at), expiresAt } };
}

/** What the policy's verdict makes of a new call. */
function judged({ call, judgement, approvalId, at }: RequestToolCall): ToolCallEvent {
  const { verdict } = judgement;
  switch (judgement.outcome) {
    case 'allow':
      return { type: 'ToolCallAllowed', data: { verdict, allowedAt: toStored(at) } };
    case 'block':
      return { type: 'ToolCallBlocked', data: { verdict, reason: judgement.reason, blockedAt: toStored(at) } };
    case 'require': {
      const { actionDigest, reason, description, requestedBy } = call;
      const { requirement } = judgement;
      const question = { approvalId, round: 1, actionDigest, verdict, requirement, reason, description, requestedBy };
      return approvalRequested(question, at);
    }
  }
}

/**
 * Whether a request repeats a recorded one: the same action by the same principal in the same batch. The digest is that of
 * the request, not of an edit: the agent repeats what it asked. The members of an all-or-nothing batch count in any order.
 */
export function isSameRequest(recorded: EventData<'ToolCallRequested'>, asked: ToolCallProposal): boolean {
  return (
    recorded.actionDigest === asked.actionDigest &&
    recorded.requestedBy === asked.requestedBy &&
    isSameBatch(recorded, asked)
  );
}

type InBatch = Pick<ToolCallProposal, 'batchId' | 'batchMode' | 'batchCallIds'>;

function isSameBatch(one: InBatch, other: InBatch): boolean {
  if (one.batchMode !== other.batchMode || one.batchId !== other.batchId) return false;
  return one.batchMode === 'independent' || hasSameMembers(one.batchCallIds, other.batchCallIds);
}

/** Whether two lists name the same calls, in any order. */
export function hasSameMembers(one: readonly string[], other: readonly string[]): boolean {
  return areEqualJson(one.toSorted(), other.toSorted());
}

/** Proposal and verdict are one decision, appended together: no reader ever sees a call that nobody judged. */
export function requestToolCall(command: RequestToolCall, state: ToolCallState): Decision<ToolCallEvent> {
  if (state.status === 'recorded') {
    return isSameRequest(state.request, command.call)
      ? accepted()
      : refused(
          'tool-call-mismatch',
          'The same tool call is already recorded with other arguments or in another batch.',
        );
  }
  const requested: ToolCallEvent = {
    type: 'ToolCallRequested',
    data: { ...command.call, requestedAt: toStored(command.at) },
  };
  return accepted(requested, judged(command));
}

/** A batch that has its word takes no further question. */
function decidedByBatch({ batch }: RequestApproval, call: ToolCall): Decision<never> | undefined {
  if (hasBegun(call, batch)) {
    return refused('batch-begun', 'A call of the same all-or-nothing batch has begun, so this call may run.');
  }
  return isBatchMember(call) && batch === 'broken'
    ? refused('batch-incomplete', 'No call of this all-or-nothing batch will run.')
    : undefined;
}

/** Before the first claim of an allowed call, or again after a round that ended without an execution. */
export function requestApproval(command: RequestApproval, state: ToolCallState): Decision<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-requested', 'No such tool call is recorded.');
  const { permission, execution, action, request } = state;
  if (permission.status === 'awaiting_approval') {
    const approvalId = currentApproval(state)?.approvalId;
    return refused('already-pending', 'An approval of this tool call is pending.', { approvalId });
  }
  const askable = permission.status === 'allowed' || permission.status === 'expired';
  if (!askable || execution.status !== 'none') {
    const name = callState(state);
    return refused('already-resolved', `The tool call is ${String(name)}; nothing is left to approve.`, {
      state: name,
    });
  }
  const decided = decidedByBatch(command, state);
  if (decided !== undefined) return decided;
  assert(command.round === nextRound(state), 'a further approval is the next round');
  const question = {
    approvalId: command.approvalId,
    round: command.round,
    actionDigest: action.actionDigest,
    verdict: command.verdict,
    requirement: command.requirement,
    reason: command.reason ?? request.reason,
    description: command.description ?? request.description,
    requestedBy: command.requestedBy,
  };
  return accepted(approvalRequested(question, command.at));
}

/**
 * Tells the people who are asked what they were not told yet. What they may have read already stays: an answer must not
 * turn out to have been given to other words.
 */
export function describeApproval(command: DescribeApproval, state: ToolCallState): Decision<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-requested', 'No such tool call is recorded.');
  const approval = currentApproval(state);
  if (approval?.resolution.status !== 'pending') {
    return refused('already-resolved', 'No approval of this tool call is pending.', { state: callState(state) });
  }
  const reason = approval.reason === null ? command.reason : null;
  const description = approval.description === null ? command.description : null;
  if (reason === null && description === null) return accepted();
  const { approvalId } = approval;
  const { describedBy, at } = command;
  return accepted({
    type: 'ApprovalDescribed',
    data: { approvalId, reason, description, describedBy, describedAt: toStored(at) },
  });
}

/** Only what nobody claimed can be called off: a claim may have had its effect, also one that was released. */
export function cancelToolCall(command: CancelToolCall, state: ToolCallState): Decision<ToolCallEvent> {
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
