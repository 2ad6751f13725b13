import type { Requirement } from '@countersign/contracts';
import { fold } from '../decider.js';
import { couldApprove } from '../grant.coverage.js';
import type { PeopleOfGrant } from '../grant.coverage.js';
import { decideStep } from '../step.decider.js';
import type { DecidedCall } from '../step.decider.js';
import type { ApproversOfGrant, GrantFacts, StepCall, StepFacts } from '../step.facts.js';
import { toolCallDecider } from '../tool-call.decider.js';
import type { ToolCallCommand, ToolCallProposal } from '../tool-call.commands.js';
import type { ToolCall } from '../tool-call.state.js';
import { startMs } from './constants.js';
import { proposal, request, requirement, responder, verdict } from './fixtures.js';
import { terms } from './grant-fixtures.js';
import { question } from './quota-fixtures.js';

/** A grant and the people behind it. What they could do depends on the call. */
export type GrantWithPeople = Omit<GrantFacts, keyof ApproversOfGrant> & PeopleOfGrant;

interface CallChange extends Partial<Omit<StepCall, 'grants'>> {
  readonly of?: Partial<ToolCallProposal>;
  readonly grants?: readonly GrantWithPeople[];
}

/** A new call of a request about which the policy asks one person. */
export const call = (toolCallId: string, { of = {}, grants = [], ...change }: CallChange = {}): StepCall => {
  const asked = {
    proposal: proposal({ callId: `id-of-${toolCallId}`, toolCallId, needsApproval: false, ...of }),
    state: toolCallDecider.initialState(),
    parent: null,
    judged: { verdict: verdict(), requirement: requirement() },
    approvalId: `approval-of-${toolCallId}`,
    together: ([first, ...others]: readonly [Requirement, ...Requirement[]]) => ({
      ...first,
      stages: [first, ...others].flatMap(({ stages }) => stages),
    }),
    ...change,
  };
  const inFront = { proposal: asked.proposal, requirement: asked.judged.requirement };
  return {
    ...asked,
    grants: grants.map((one) => ({ ...one, ...couldApprove(one.grant, one, inFront, startMs) })),
  };
};

/** The same, which the policy allows. */
export const allowedCall = (toolCallId: string, change: Parameters<typeof call>[1] = {}): StepCall =>
  call(toolCallId, { judged: { verdict: verdict('allow'), requirement: requirement() }, ...change });

/** The call after its request, with approval, and these commands. */
export function recorded({ proposal: asked }: StepCall, ...commands: readonly ToolCallCommand[]): ToolCall {
  const all = [{ ...request(), call: asked }, ...commands];
  const state = all.reduce(
    (before, command) => {
      const decision = toolCallDecider.decide(command, before);
      if (decision.status === 'refused') throw new Error(decision.refusal.detail);
      return decision.events.reduce(toolCallDecider.evolve, before);
    },
    fold(toolCallDecider, []),
  );
  if (state.status !== 'recorded') throw new Error('nothing was requested');
  return state;
}

/** A request of these calls without quotas, of a tenant whose approvers are not known. */
export const step = (calls: readonly StepCall[], change: Partial<StepFacts> = {}): StepFacts => ({
  ...{ at: startMs, calls, quotas: null, inBatch: [], approvers: null, stopsOver: calls.map(() => []) },
  limits: { batchMembersMax: 4, nestingMax: 2 },
  ...change,
});

/** The quotas of a request: each of its calls is a question. */
export const asQuestions = (calls: readonly StepCall[]) =>
  calls.map(({ proposal: { callId, toolCallId } }) => question(toolCallId, { callId }));

/** Alice's active grant, which matches. */
export const grantFacts = (
  change: Partial<GrantFacts['grant']['terms']> = {},
  more: Partial<GrantWithPeople['grant']> & Partial<Omit<GrantWithPeople, 'grant'>> = {},
): GrantWithPeople => {
  const {
    creator = responder('alice'),
    confirmer = null,
    digest = null,
    holds = null,
    hidesValues = false,
    ...grant
  } = more;
  return {
    grant: { ...{ status: 'active', confirmed: null, uses: 0, callIds: [] }, terms: terms(change), ...grant },
    ...{ creator, confirmer, digest, holds, hidesValues },
  };
};

/** The calls of an accepted request. */
export function acceptedCalls(facts: StepFacts): readonly (DecidedCall | null)[] {
  const decision = decideStep(facts);
  if (decision.status === 'refused') throw new Error(`${decision.refusal.code}: ${decision.refusal.detail}`);
  return decision.calls;
}

/** The outcome of each call, or the code of the refusal. */
export function outcomesOf(facts: StepFacts): readonly string[] | string {
  const decision = decideStep(facts);
  if (decision.status === 'refused') return decision.refusal.code;
  return decision.calls.map((one) => one?.command.judgement.outcome ?? 'nothing');
}
