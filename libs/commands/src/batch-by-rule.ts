import { limits } from '@countersign/contracts';
import type { ToolCallProposal } from '@countersign/domain';
import type { Judgement } from '@countersign/policy';
import type { Plan } from './plan-call.js';
import { refused } from './result.js';
import type { Refused } from './with-tool-call.js';

/** The members of a batch that a rule made all-or-nothing. */
type RuledBatch = Required<Pick<ToolCallProposal, 'batchRuleId' | 'batchCallIds'>>;

/**
 * Makes the new calls of a step an all-or-nothing batch where the rule of one of them says so. A batch that the agent
 * itself made all-or-nothing stays as it is. The retry of a step that was recorded in part completes the recorded batch.
 */
export function joinedByRule(plans: readonly Plan[], judgements: readonly Judgement[]): readonly Plan[] | Refused {
  const unrecorded = plans.filter(({ state }) => state.status === 'unrequested').map(({ callId }) => callId);
  const begun = plans.map(recordedBatch).find((batch) => batch?.batchCallIds.some((id) => unrecorded.includes(id)));
  const others = unrecorded.filter((callId) => begun?.batchCallIds.includes(callId) !== true);
  const batchRuleId = judgements.find(isAllOrNothing)?.verdict.ruleId;
  const ruled = batchRuleId === undefined || others.length < 2 ? undefined : { batchRuleId, batchCallIds: others };
  if (others.length > limits.batchMembersMax && ruled !== undefined) return tooMany(ruled);
  return plans.map((plan) => joined(plan, begun) ?? joined(plan, ruled) ?? plan);
}

function isAllOrNothing({ verdict, requirement }: Judgement): boolean {
  return verdict.outcome === 'require' && requirement.batch === 'all-or-nothing';
}

function recordedBatch({ state }: Plan): RuledBatch | undefined {
  if (state.status === 'unrequested') return undefined;
  const { batchRuleId, batchCallIds } = state.request;
  return batchRuleId === undefined ? undefined : { batchRuleId, batchCallIds };
}

function joined(plan: Plan, batch: RuledBatch | undefined): Plan | undefined {
  const { callId, state, proposal } = plan;
  if (state.status !== 'unrequested' || proposal.batchMode === 'all-or-nothing') return undefined;
  if (batch?.batchCallIds.includes(callId) !== true) return undefined;
  return { ...plan, proposal: { ...proposal, ...batch, batchMode: 'all-or-nothing' } };
}

function tooMany({ batchRuleId }: RuledBatch): Refused {
  const most = String(limits.batchMembersMax);
  const message = `the rule "${batchRuleId}" makes the step all-or-nothing, and such a batch has at most ${most} calls`;
  return refused('invalid-request', `calls: ${message}`, { errors: [{ path: 'calls', message }] });
}
