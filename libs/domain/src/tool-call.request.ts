import type { DeniedInCode, OtherSchema, Refusal, ToolCallEvent, Verdict } from '@countersign/contracts';
import { approvalRequested, withFirstWords } from './approval-requested.js';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { historyLimits } from './history-limits.js';
import { areEqualJson } from './json-equality.js';
import { otherDefinition, otherPlace } from './place.js';
import { isInForce, stopDetail } from './stop.state.js';
import type { Stop } from './stop.state.js';
import { toStored } from './time.js';
import { hasBegun, heldByBatch, isBatchMember, isBatchOfOne } from './tool-call.batch.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { CancelToolCall, RequestToolCall, ToolCallProposal } from './tool-call.commands.js';
import { callState, currentApproval, nextRound } from './tool-call.state.js';
import { isSequential, queuedIn, toolCallQueued } from './tool-call.turn.js';
import type { ToolCall, ToolCallState } from './tool-call.state.js';

const deniedInCode: DeniedInCode = 'deniedInCode';
const otherSchema: OtherSchema = 'with another input schema of the tool';

/** The event of the policy's verdict about a call, new or recorded. */
function judged({ call, judgement, approvalId, at }: RequestToolCall, isQueued: boolean, round = 1): ToolCallEvent {
  const { verdict } = judgement;
  switch (judgement.outcome) {
    case 'allow':
      if (isQueued) return toolCallQueued({ verdict, question: null }, at);
      return { type: 'ToolCallAllowed', data: { verdict, allowedAt: toStored(at) } };
    case 'block':
      return blocked(verdict, judgement.reason, at);
    case 'require': {
      const { actionDigest, reason, description, requestedBy } = call;
      const { requirement } = judgement;
      const question = { approvalId, round, actionDigest, verdict, requirement, reason, description, requestedBy };
      return isQueued ? toolCallQueued({ verdict, question }, at) : approvalRequested(question, at);
    }
  }
}

/** Why a policy blocks a call: the last line of the verdict, which is the rule's own reason. */
export function blockReason({ why }: Verdict): string {
  return why.at(-1) ?? '';
}

/** The event of a call that the policy blocks. */
export function blocked(verdict: Verdict, reason: string, at: number): ToolCallEvent {
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
    const isQueued = queuedIn(state) !== undefined;
    return accepted(judged({ ...command, call: withFirstWords(command.call, state) }, isQueued, nextRound(state)));
  }
  const requested: ToolCallEvent = {
    type: 'ToolCallRequested',
    data: { ...command.call, requestedAt: toStored(command.at) },
  };
  return accepted(requested, judged(command, isSequential(command.call)));
}

/** People may have been asked already, so the call is cancelled: that ends the question as well. */
function cancelDenied({ call, judgement, batch, at }: RequestToolCall, state: ToolCall): RuleResult<ToolCallEvent> {
  const reason = blockReason(judgement.verdict);
  return cancelled({ reason, cancelledBy: call.requestedBy, at, ...(batch !== undefined && { batch }) }, state);
}

/** Cancels an unclaimed call, and the question about it. Refused where the batch of the call may have begun. */
export function cancelled(
  { reason, cancelledBy, batch, at }: Pick<CancelToolCall, 'reason' | 'cancelledBy' | 'batch' | 'at'>,
  call: ToolCall,
): RuleResult<ToolCallEvent> {
  const held = heldByBatch(call, batch);
  if (held !== undefined) return held;
  const approval = currentApproval(call);
  const approvalId = approval?.resolution.status === 'pending' ? approval.approvalId : null;
  return accepted({ type: 'ToolCallCancelled', data: { approvalId, reason, cancelledBy, cancelledAt: toStored(at) } });
}

/** A decided batch accepts no further approval request. A member that the policy blocks ends like any other member. */
export function decidedByBatch(
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

/** Nothing is requested, or asked about again, inside a call that was cancelled: it runs nothing. */
export const insideCancelled: Refusal = {
  code: 'already-settled',
  detail: 'The call inside which this one would run was cancelled.',
  extra: { state: 'cancelled' },
};

/** Refuses what the stops over a call hold back: it is not requested, asked about, approved or claimed while one is in force. */
export function stoppedBy(stopsOver: readonly Stop[]): Refusal | undefined {
  const stop = stopsOver.find(isInForce);
  if (stop === undefined) return undefined;
  const { stopId, scope, reason, declaredBy, declaredAt } = stop;
  const extra = { stop: { stopId, scope, reason, declaredBy, declaredAt } };
  return { code: 'stopped', detail: stopDetail(stop), extra };
}

/** Refuses to ask people about a call more often than its history may hold. */
export function noMoreRounds(call: ToolCall): RuleResult<never> | undefined {
  const { roundsMax: limit } = historyLimits;
  return nextRound(call) > limit
    ? refused('too-many', `People are asked about a tool call at most ${String(limit)} times: request a new call.`, {
        limit,
      })
    : undefined;
}

/**
 * How a duplicate request compares with the recorded call. `equal` (or less strict) adds nothing; `stricter` requires
 * approval of an allowed, unclaimed call; `denied` ends an open, unclaimed call.
 */
export type Repeat = 'equal' | 'stricter' | 'denied' | RuleResult<never>;

/** Returns whether the agent's own code denies the call in its request. */
export function isDeniedInCode({ verdict }: { readonly verdict: Verdict }): boolean {
  return verdict.ruleId === deniedInCode;
}

/**
 * Compares a request with the call recorded under its id.
 * @returns the refusal `tool-call-mismatch` for another principal, other arguments, other facts about the execution, or
 *   a stricter request after the claim.
 */
export function compareRepeat(
  { proposal, judged }: { readonly proposal: ToolCallProposal; readonly judged: { readonly verdict: Verdict } },
  call: ToolCall,
): Repeat {
  const { request, permission, execution } = call;
  const difference = differenceOf(proposal, call);
  if (difference !== undefined) return mismatch(difference);
  if (isDeniedInCode(judged)) return denial(call);
  const isAllowed = permission.status === 'allowed' || queuedIn(call)?.question === null;
  const isStricter = proposal.needsApproval && !request.needsApproval && isAllowed;
  if (!isStricter) return 'equal';
  return execution.status === 'none' ? 'stricter' : mismatch('without `needsApproval`, and it was claimed');
}

/** A denial ends a call that may still run. One that has ended keeps its result. */
function denial(call: ToolCall): Repeat {
  switch (callState(call)) {
    case 'allowed':
    case 'awaiting_approval':
    case 'approved':
      return call.execution.status === 'none' ? 'denied' : mismatch(tooLateToDeny);
    case 'executing':
      return mismatch(tooLateToDeny);
    default:
      return 'equal';
  }
}

const tooLateToDeny = 'without `deny`, and it was claimed';

/** How a request differs from the recorded one; undefined: it is the same. */
function differenceOf(proposal: ToolCallProposal, call: ToolCall): string | undefined {
  const { request } = call;
  const place = otherPlace(request.labels, proposal.labels);
  const differences: readonly (readonly [isDifferent: boolean, how: string])[] = [
    // Attack: an agent registers the call of another first, laxer, and the owner's own request finds it allowed.
    [request.requestedBy !== proposal.requestedBy, 'by another principal'],
    [request.agentId !== proposal.agentId, 'for another agent'],
    [request.toolName !== proposal.toolName, 'for another tool'],
    [place !== undefined && place !== otherDefinition, place ?? ''],
    // The worker SDK goes on with a call of which nothing but the schema or the definition differs: it does not run.
    [hasOnlyOtherSchema(proposal, request), otherSchema],
    // The digest of the request, not of an edit: the agent repeats what it asked.
    [request.actionDigest !== proposal.actionDigest, request.salt === null ? unreadable : 'with other arguments'],
    [request.idempotent !== proposal.idempotent, 'with another `idempotent`'],
    [request.clientExecuted !== proposal.clientExecuted, 'with another `clientExecuted`'],
    [request.onBehalfOf !== proposal.onBehalfOf, 'with another `onBehalfOf`'],
    [parentOf(request) !== parentOf(proposal), 'inside another call'],
    [!isSameBatch(proposal, request) && !isNamedAgain(proposal, call), 'in another batch'],
  ];
  return differences.find(([isDifferent]) => isDifferent)?.[1] ?? place;
}

/** Without the salt no digest can be compared: the values are erased, or their key is lost. */
const unreadable = 'with values that can no longer be read';

function hasOnlyOtherSchema(proposal: ToolCallProposal, request: ToolCall['request']): boolean {
  const hasOther = request.toolSchemaHash !== proposal.toolSchemaHash;
  return hasOther && areEqualJson(request.arguments, proposal.arguments);
}

function mismatch(how: string): RuleResult<never> {
  return refused('tool-call-mismatch', `The same tool call is already recorded ${how}.`);
}

/** The call inside which a call runs. */
function parentOf({ chain }: Pick<ToolCallProposal, 'chain'>): string | undefined {
  return chain?.at(-1)?.callId;
}

type Batch = Pick<ToolCallProposal, 'batchId' | 'batchMode' | 'batchCallIds' | 'batchRuleId'>;

/**
 * The members count in an all-or-nothing batch alone: independent calls may be requested again in another company. Where a
 * rule gave the call its mode, a request may name that mode or none.
 */
function isSameBatch(proposal: Batch, recorded: Batch): boolean {
  const mode = requestedMode(proposal);
  if (proposal.batchId !== recorded.batchId) return false;
  const isQueued = recorded.batchMode === 'sequential' && recorded.batchRuleId !== undefined;
  if (isBatchOfOne(proposal) && isQueued) return recorded.batchCallIds.length < 2;
  if (mode !== requestedMode(recorded) && mode !== recorded.batchMode) return false;
  return mode !== 'all-or-nothing' || hasSameMembers(proposal.batchCallIds, recorded.batchCallIds);
}

/**
 * A later step names a call that has ended, because the ids of its model repeat. It gets the recorded result, and the
 * answer says so. An all-or-nothing batch needs its members to be open.
 */
function isNamedAgain(proposal: ToolCallProposal, call: ToolCall): boolean {
  const isIndependent = [proposal, call.request].every((one) => requestedMode(one) !== 'all-or-nothing');
  return isIndependent && isEnded(call);
}

/** Returns whether nothing happens to the call any more unless it is asked about again. */
function isEnded(call: ToolCall): boolean {
  switch (callState(call)) {
    case null:
    case 'allowed':
    case 'awaiting_approval':
    case 'approved':
    case 'executing':
      return false;
    default:
      return true;
  }
}

/** The mode that the agent asked for. It does not know that a rule made its batch stricter. */
function requestedMode({ batchMode, batchRuleId }: Batch): Batch['batchMode'] {
  return batchRuleId === undefined ? batchMode : 'independent';
}

/** Returns whether two lists contain the same calls, in any order. */
export function hasSameMembers(one: readonly string[], other: readonly string[]): boolean {
  return areEqualJson(one.toSorted(), other.toSorted());
}
