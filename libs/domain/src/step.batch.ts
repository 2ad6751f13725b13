import type { FieldError, Refusal } from '@countersign/contracts';
import type { StepCall, StepFacts, StepLimits } from './step.facts.js';
import { invalidRequest } from './step.conflicts.js';
import type { ToolCallProposal } from './tool-call.commands.js';

/** The members of a batch that a rule made all-or-nothing. */
type RuledBatch = Required<Pick<ToolCallProposal, 'batchRuleId' | 'batchCallIds'>>;

type Step = readonly Pick<StepCall, 'proposal' | 'state' | 'judged'>[];

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
  return invalidRequest([{ path: 'batchId', message }]);
}

/** Returns whether the agent made a batch all-or-nothing and named it. */
function hasBatchId({ batchId, batchMode, batchRuleId }: ToolCallProposal): boolean {
  return batchMode === 'all-or-nothing' && batchRuleId === undefined && batchId !== null;
}

/**
 * Makes the new calls of a step an all-or-nothing batch where the rule of one of them says so. A batch that the agent
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
      `the rule "${ruled.batchRuleId}" makes the step all-or-nothing, and such a batch has at most ${most} calls`,
    );
  }
  return calls.map((call) => joined(call, begun) ?? joined(call, ruled) ?? call.proposal);
}

function isAllOrNothing({ judged: { verdict, requirement } }: Step[number]): boolean {
  return verdict.outcome === 'require' && requirement.batch === 'all-or-nothing';
}

function recordedBatch({ state }: Step[number]): RuledBatch | undefined {
  if (state.status === 'unrequested') return undefined;
  const { batchRuleId, batchCallIds } = state.request;
  return batchRuleId === undefined ? undefined : { batchRuleId, batchCallIds };
}

function joined({ state, proposal }: Step[number], batch: RuledBatch | undefined): ToolCallProposal | undefined {
  if (state.status !== 'unrequested' || proposal.batchMode === 'all-or-nothing') return undefined;
  if (batch?.batchCallIds.includes(proposal.callId) !== true) return undefined;
  return { ...proposal, ...batch, batchMode: 'all-or-nothing' };
}

function tooMany(message: string): Refusal {
  const errors: readonly FieldError[] = [{ path: 'calls', message }];
  return invalidRequest(errors);
}
