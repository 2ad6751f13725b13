import type { Refusal, ToolCallEvent } from '@countersign/contracts';
import { approvalRequested, withFirstWords, wordsOf } from './approval-requested.js';
import type { Question, Words } from './approval-requested.js';
import { assert } from './assert.js';
import { accepted, refusalOfFields, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { notOwner } from './ownership.js';
import { noApproverDetail, overQuota, stageWithoutApprovers, uncheckedSchema } from './step.questions.js';
import { toStored } from './time.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { DescribeApproval, RequestApproval } from './tool-call.commands.js';
import { blocked, blockReason, decidedByBatch, insideCancelled, noMoreRounds, stoppedBy } from './tool-call.request.js';
import { callState, currentApproval, nextRound } from './tool-call.state.js';
import type { CallState, Queued, ToolCall, ToolCallState } from './tool-call.state.js';
import { isSequential, queuedIn, toolCallQueued } from './tool-call.turn.js';

/** Before the first claim of an allowed call, or again after a round that ended without an execution. */
export function requestApproval(command: RequestApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-requested', 'No such tool call is recorded.');
  const refusal = whyNot(command, state);
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
  return accepted(askedNowOrAtTurn(question, state, at));
}

function whyNot(command: RequestApproval, state: ToolCall): RuleResult<never> | undefined {
  return (
    notOwner(state, command.requestedBy, command.reach) ??
    heldByStop(command) ??
    notAskable(command, state) ??
    decidedByBatch(command.verdict.outcome, command.batch, state) ??
    noMoreRounds(state) ??
    notToBeAsked(command, state)
  );
}

function askedNowOrAtTurn(question: Question, call: ToolCall, at: number): ToolCallEvent {
  const { verdict } = question;
  return waitsForTurn(call) ? toolCallQueued({ verdict, question }, at) : approvalRequested(question, at);
}

/** A sequential call that has ended has no turn any more: it goes to the end of its queue. */
function waitsForTurn(call: ToolCall): boolean {
  return queuedIn(call) !== undefined || (isSequential(call.request) && call.permission.status === 'expired');
}

function heldByStop({ stopsOver }: RequestApproval): RuleResult<never> | undefined {
  const refusal = stoppedBy(stopsOver);
  return refusal && { status: 'refused', refusal };
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
    : { status: 'refused', refusal: refusalOfFields('invalid-request', [{ path: 'toolSchema', message }]) };
}

function notAskable({ isInsideCancelled }: RequestApproval, call: ToolCall): RuleResult<never> | undefined {
  const { permission, execution } = call;
  const isAllowedAtTurn = queuedIn(call)?.question === null;
  if (permission.status === 'awaiting_approval' && !isAllowedAtTurn) {
    const approvalId = currentApproval(call)?.approvalId;
    return refused('already-pending', 'An approval of this tool call is pending.', { approvalId });
  }
  const isAskable = isAllowedAtTurn || permission.status === 'allowed' || permission.status === 'expired';
  const name = callState(call);
  if (isAskable && execution.status === 'none') {
    return isInsideCancelled === true ? { status: 'refused', refusal: insideCancelled } : erasedAction(call, name);
  }
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

/**
 * Why a question that was recorded asks nobody: the policy blocks the call now, the call around it was cancelled meanwhile
 * (`isEndedInside`), or its batch has got its word. Undefined: people are asked, or will be at its turn.
 */
export function askedNobody(
  call: ToolCall,
  { fate, isEndedInside }: { readonly fate: BatchFate | undefined; readonly isEndedInside: boolean },
): Refusal | undefined {
  const { permission } = call;
  if (permission.status === 'blocked') {
    return { code: 'blocked-by-policy', detail: `the policy blocks this tool call: ${permission.reason}` };
  }
  if (isEndedInside) return insideCancelled;
  const byBatch = decidedByBatch('require', fate, call);
  return byBatch?.status === 'refused' ? byBatch.refusal : undefined;
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
  const waiting = queuedIn(state)?.question ?? null;
  if (waiting !== null) return describeQueued(command, state, waiting);
  const approval = currentApproval(state);
  if (approval?.resolution.status !== 'pending') {
    return refused('already-resolved', 'No approval of this tool call is pending.', { state: callState(state) });
  }
  const { approvalId } = approval;
  const { describedBy, at } = command;
  const { reason, description } = untold(command, approval);
  if (reason === null && description === null) return accepted();
  return accepted({
    type: 'ApprovalDescribed',
    data: { approvalId, reason, description, describedBy, describedAt: toStored(at) },
  });
}

/** The words of a description that the question lacks. */
function untold(
  { reason, description, describedBy }: DescribeApproval,
  told: Words & { readonly requestedBy: string },
): Words {
  const unlessTold = (known: string | null, words: string | null): string | null =>
    known === null ? attributed(words, describedBy, told.requestedBy) : null;
  return { reason: unlessTold(told.reason, reason), description: unlessTold(told.description, description) };
}

/** People are not asked yet: the words are recorded with what they will be asked. */
function describeQueued(
  command: DescribeApproval,
  { verdict, request }: ToolCall,
  told: NonNullable<Queued['question']>,
): RuleResult<ToolCallEvent> {
  const { reason, description } = untold(command, told);
  if (verdict === null || (reason === null && description === null)) return accepted();
  const words = { reason: told.reason ?? reason, description: told.description ?? description };
  const question = { ...told, ...words, verdict, actionDigest: request.actionDigest };
  return accepted(toolCallQueued({ verdict, question }, command.at));
}
