import type { Refusal, ToolCallEvent } from '@countersign/contracts';
import { accepted, refusalOfFields, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import type { JudgedCall, StepCall, StepFacts, StepLimits } from './step.facts.js';
import type { CoveredCall } from './step.grants.js';
import { toStored } from './time.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { CommitToBatch, ToolCallProposal } from './tool-call.commands.js';
import { currentApproval } from './tool-call.state.js';
import type { Approval, ToolCall, ToolCallState } from './tool-call.state.js';

/** Returns whether an agent called a single call an all-or-nothing batch: that binds it to nothing. */
export function isBatchOfOne({
  batchMode,
  batchCallIds,
}: Pick<ToolCallProposal, 'batchMode' | 'batchCallIds'>): boolean {
  return batchMode === 'all-or-nothing' && batchCallIds.length < 2;
}

/** The members of a request that say to which batch it belongs. */
export type BatchPlace = Pick<ToolCallProposal, 'batchMode' | 'batchCallIds' | 'tenant' | 'requestedBy'>;

/** Returns whether the call belongs to an all-or-nothing batch of several calls. */
export function isBatchMember({ request }: { readonly request: BatchPlace }): boolean {
  return request.batchMode === 'all-or-nothing' && request.batchCallIds.length > 1;
}

/** Returns whether the call's batch has begun, according to the call and the command. */
export function hasBegun(call: ToolCall, fate: BatchFate | undefined): boolean {
  return call.committed || (isBatchMember(call) && fate === 'begun');
}

/**
 * Refuses to end a call without a run when its batch may have begun: a call that is or was permitted counts for the
 * begin. It ends only once the batch is known to be broken. A call that has always waited for people cannot have
 * counted, so its end needs no look at the batch.
 */
export function heldByBatch(call: ToolCall, fate: BatchFate | undefined): RuleResult<never> | undefined {
  if (!isBatchMember(call) || (fate === 'broken' && !call.committed)) return undefined;
  const { permission } = call;
  const everPermitted = permission.status === 'allowed' || permission.status === 'approved' || isLateQuestion(call);
  if (!everPermitted) return undefined;
  return refused(
    'batch-begun',
    'Another call of the same all-or-nothing batch has begun, so every call of it may run.',
  );
}

/**
 * Records in the call that its batch has begun: an approval that came too late is closed, and the right to run does not
 * lapse.
 */
export function committed(call: ToolCall, at: number): ToolCallEvent {
  const approvalId = isLateQuestion(call) ? (currentApproval(call)?.approvalId ?? null) : null;
  return { type: 'ToolCallCommitted', data: { approvalId, committedAt: toStored(at) } };
}

/** Recorded only when it changes something; usually only the batch's own stream records the begin. */
export function commitToBatch({ at, batch }: CommitToBatch, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested' || state.committed || !hasBegun(state, batch)) return accepted();
  return isLateQuestion(state) ? accepted(committed(state, at)) : accepted();
}

/**
 * Returns whether an approval is pending for a call that had been allowed: its batch may have begun before the request.
 */
export function isLateQuestion({ permission }: ToolCall): boolean {
  return permission.status === 'awaiting_approval' && permission.wasAllowed;
}

/** How a call ended without a run. */
export interface Ending {
  readonly state: 'blocked' | 'denied' | 'expired' | 'cancelled';
  readonly reason: string;
  /** The principal who ended it; `countersign` where the policy or a deadline did. */
  readonly by: string;
}

/** How the call ended without a run; undefined when it has not. */
export function endingOf(call: ToolCall): Ending | undefined {
  const { permission, execution } = call;
  if (execution.status !== 'none') return undefined;
  switch (permission.status) {
    case 'blocked':
      return { state: 'blocked', reason: permission.reason, by: 'countersign' };
    case 'cancelled':
      return { state: 'cancelled', reason: permission.reason, by: permission.cancelledBy };
    case 'expired': {
      const reason = permission.cause === 'lapsed' ? 'it was not executed in time' : 'no person answered in time';
      return { state: 'expired', reason, by: 'countersign' };
    }
    case 'denied':
      return denialOf(currentApproval(call));
    default:
      return undefined;
  }
}

function denialOf(approval: Approval | undefined): Ending {
  const resolution = approval?.resolution;
  return resolution?.status === 'denied'
    ? { state: 'denied', reason: resolution.reason ?? 'it was denied', by: resolution.respondedBy }
    : { state: 'denied', reason: 'it was denied', by: 'countersign' };
}

/** The members of a batch that a rule made all-or-nothing. */
type RuledBatch = Required<Pick<ToolCallProposal, 'batchRuleId' | 'batchCallIds'>>;

type Step = readonly Pick<StepCall, 'proposal' | 'state' | 'judged' | 'together'>[];

/** Refuses an all-or-nothing batch of too many calls. Each member records the list of all. */
export function tooManyMembers(calls: Step, { batchMembersMax }: StepLimits): Refusal | undefined {
  const isTooLarge =
    calls.length > batchMembersMax && calls.some((call) => call.proposal.batchMode === 'all-or-nothing');
  return isTooLarge ? tooMany(`an all-or-nothing batch has at most ${String(batchMembersMax)} calls`) : undefined;
}

/**
 * Refuses a batch that arrives in more than one request. Its members record the list of all when they are requested, so a
 * later request would be a batch of its own: the first one runs although the second is denied.
 */
export function splitBatch(calls: Step, inBatch: StepFacts['inBatch']): Refusal | undefined {
  const first = calls.find(({ state, proposal }) => state.status === 'unrequested' && hasBatchId(proposal));
  if (first === undefined) return undefined;
  if (inBatch === null) {
    return { code: 'unavailable', detail: 'this process does not know which calls are in an all-or-nothing batch' };
  }
  if (inBatch.every((callId) => calls.some(({ proposal }) => proposal.callId === callId))) return undefined;
  const message = `"${String(first.proposal.batchId)}" is an all-or-nothing batch of this run that has other calls: request all calls of a batch at once`;
  return refusalOfFields('invalid-request', [{ path: 'batchId', message }]);
}

/** Returns whether the agent made a batch all-or-nothing and named it. */
function hasBatchId({ batchId, batchMode, batchRuleId }: ToolCallProposal): boolean {
  return batchMode === 'all-or-nothing' && batchRuleId === undefined && batchId !== null;
}

/**
 * Makes the new calls of a step an all-or-nothing batch, or sequential, where the rule of one of them says so. A batch that the agent
 * itself made all-or-nothing stays as it is. The retry of a step that was recorded in part completes the recorded batch.
 * @returns the calls as they would be recorded, or a refusal for a batch of too many calls.
 */
export function joinedByRule(calls: Step, { batchMembersMax }: StepLimits): readonly ToolCallProposal[] | Refusal {
  const unrecorded = calls.flatMap(({ state, proposal }) => (state.status === 'unrequested' ? [proposal.callId] : []));
  const begun = calls.map(recordedBatch).find((batch) => batch?.batchCallIds.some((id) => unrecorded.includes(id)));
  const others = unrecorded.filter((callId) => begun?.batchCallIds.includes(callId) !== true);
  const batchRuleId = calls.find(isAllOrNothing)?.judged.verdict.ruleId;
  const ruled = batchRuleId === undefined || others.length < 2 ? undefined : { batchRuleId, batchCallIds: others };
  if (others.length > batchMembersMax && ruled !== undefined) {
    const most = String(batchMembersMax);
    return tooMany(
      `the rule "${ruled.batchRuleId}" binds the calls of the step, and such a batch has at most ${most} calls`,
    );
  }
  const inTurn = calls.find(isSequentialByRule)?.judged.verdict.ruleId;
  return calls.map((call) => joined(call, begun) ?? joined(call, ruled) ?? queuedBy(call, inTurn) ?? call.proposal);
}

function isAllOrNothing({ judged: { verdict, requirement } }: Step[number]): boolean {
  return verdict.outcome === 'require' && requirement.batch !== undefined && requirement.batch !== 'sequential';
}

function isSequentialByRule({ judged: { verdict, requirement } }: Step[number]): boolean {
  return verdict.outcome === 'require' && requirement.batch === 'sequential';
}

/**
 * The calls of a step take their turn where the rule of one of them says so. What runs all or not at all has no turns.
 * Attack: an agent calls a single call such a batch, and people are asked about all of its calls at once.
 */
function queuedBy({ state, proposal }: Step[number], batchRuleId: string | undefined): ToolCallProposal | undefined {
  const isOpen = state.status === 'unrequested' && (proposal.batchMode === 'independent' || isBatchOfOne(proposal));
  return isOpen && batchRuleId !== undefined ? { ...proposal, batchRuleId, batchMode: 'sequential' } : undefined;
}

/**
 * The calls of a step after the grants. Where rules ask about calls of it and say `any-asks-all`, each new call about which no
 * rule of its own asks is asked about as well, by all of these rules: the order in which the agent writes the calls chooses no
 * approvers. A call that only a grant allowed is asked about by its own rule.
 */
export function askedWithStep(calls: Step, covered: readonly CoveredCall[]): readonly CoveredCall[] {
  return covered.map((own, index) => {
    const call = calls[index];
    if (call?.state.status !== 'unrequested' || isAskedByRule(own.judged)) return own;
    const [first, ...others] = calls.flatMap((other, at) => {
      const judged = covered[at]?.judged;
      return judged !== undefined && asksAll(judged) && isOfStep(other.state, call.proposal.callId) ? [judged] : [];
    });
    return first === undefined ? own : { judged: askedBy([first, ...others], call), grantId: null };
  });
}

/** The rule of a call that only the worker wants asked about: any approver may answer, so it is not as strict as a rule. */
const askedByWorker = 'needsApproval';

function isAskedByRule({ verdict: { outcome, ruleId } }: JudgedCall): boolean {
  return outcome !== 'allow' && ruleId !== askedByWorker;
}

/** Returns whether people are asked about a call, and with it about all calls of its step. */
export function asksAll({ verdict, requirement }: JudgedCall): boolean {
  return verdict.outcome === 'require' && requirement.batch === 'any-asks-all';
}

/** Returns whether a call of the request is of the same step as a new one: another step may repeat a recorded call. */
function isOfStep(state: ToolCallState, callId: string): boolean {
  return state.status === 'unrequested' || state.request.batchCallIds.includes(callId);
}

function askedBy(rules: readonly [JudgedCall, ...JudgedCall[]], { judged: own, together }: Step[number]): JudgedCall {
  const [{ verdict, requirement }, ...others] = rules;
  const names = [...new Set(rules.map((rule) => `"${rule.verdict.ruleId}"`))].join(' and ');
  const why = [...own.verdict.why, `it waits, because ${names} asks about another call of the step`];
  if (isAskedByRule(own)) return { ...own, verdict: { ...own.verdict, why } };
  const asked = [requirement, ...others.map((rule) => rule.requirement)] as const;
  return {
    ...own,
    verdict: { ...own.verdict, outcome: 'require', automatic: false, ruleId: verdict.ruleId, why },
    requirement: together(own.verdict.outcome === 'require' ? [...asked, own.requirement] : asked),
  };
}

function recordedBatch({ state }: Step[number]): RuledBatch | undefined {
  if (state.status === 'unrequested') return undefined;
  const { batchRuleId, batchCallIds, batchMode } = state.request;
  return batchRuleId === undefined || batchMode !== 'all-or-nothing' ? undefined : { batchRuleId, batchCallIds };
}

function joined({ state, proposal }: Step[number], batch: RuledBatch | undefined): ToolCallProposal | undefined {
  if (state.status !== 'unrequested' || proposal.batchMode === 'all-or-nothing') return undefined;
  if (batch?.batchCallIds.includes(proposal.callId) !== true) return undefined;
  return { ...proposal, ...batch, batchMode: 'all-or-nothing' };
}

function tooMany(message: string): Refusal {
  return refusalOfFields('invalid-request', [{ path: 'calls', message }]);
}
