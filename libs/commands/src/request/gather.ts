import { approvalIdOf, limits, nestingMax, toolCallStream } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import { asksAll, chainInside, initialState } from '@countersign/domain';
import type { JudgedCall, StepCall, StepFacts, StepParent, ToolCallState } from '@countersign/domain';
import { together } from '@countersign/policy';
import type { Actor } from '../actor.js';
import { approversOf } from './approvers.js';
import type { CheckedRequest } from './check-calls.js';
import { grantFactsOf } from '../grants/grant-facts.js';
import type { IsLost } from '../grants/grant-facts.js';
import { planCall } from './plan-call.js';
import type { Plan } from './plan-call.js';
import type { CommandPorts } from '../ports.js';
import { namesBatch, questionOf, quotaFacts } from './quotas.js';
import type { Asker } from './quotas.js';
import { withRunFacts } from './run-facts.js';
import { judgeInShadow } from './shadow.js';
import type { ShadowVerdicts } from './shadow.js';
import { assertNotForbidden } from '../stream/forbidden.js';
import { assertReadable } from '../stream/handle-command.js';
import { callOf } from '../stream/with-tool-call.js';
import { isAnyInForce } from '../stops/known-stops.js';
import { isInsideCancelled } from '../people/end-inside.js';

/** All that is known about a request, and what is needed to record it. */
export interface Gathered {
  /** Without the stops: they are the last that is looked at. */
  readonly facts: Omit<StepFacts, 'stopsOver'>;
  readonly plans: readonly Plan[];
  /** The version of the policy that judged the calls. */
  readonly policyVersion: string;
  readonly shadow: ShadowVerdicts;
  /** The position of the latest event of its calls; 0 when there is none, or nothing was read. */
  readonly seen: number;
  /** The only call was not read, and is recorded without a read. */
  readonly writeOnly: boolean;
}

/**
 * Gathers the facts about a request. Nothing is decided here: `decideStep` refuses what the facts do not allow.
 * @throws UnreadableStreamError when a stream that it must know, or that forbids the request, cannot be read.
 */
export async function gatherStep(
  ports: CommandPorts,
  actor: Actor,
  asker: Asker,
  request: CheckedRequest,
  isLost: IsLost,
): Promise<Gathered> {
  const { tenant } = actor;
  assertNotForbidden(ports, { tenant, runId: request.body.runId }, 'judge');
  const parents = await parentsOf(ports, actor, request.body);
  const stops = await ports.stops.fresh(tenant);
  const writeOnly = !isAnyInForce(stops) && isWriteOnly(ports, tenant, request.body);
  const loaded = await Promise.all(
    // Most of them are new: the append finds out where one was deleted.
    writeOnly
      ? []
      : request.callIds.map(async (callId) => assertReadable(await ports.handler.look(toolCallStream(callId)))),
  );
  const states = request.callIds.map((_, index): ToolCallState => loaded[index]?.state ?? initialState());
  const plans = states.map((state, index) => planCall(ports, actor, request, index, parents[index] ?? null, state));
  for (const { proposal } of plans) assertNotForbidden(ports, proposal, 'judge');
  const at = ports.clock.now();
  const policyCalls = withRunFacts(
    ports,
    tenant,
    plans.map(({ policyCall }) => policyCall),
  );
  const policy = ports.policies.of(tenant);
  const judged = policy.judge(policyCalls, at);
  const shadow = judgeInShadow(ports, tenant, policyCalls, judged, at);
  const grants = await grantFactsOf(ports, plans, judged, { isLost, at });
  const calls = plans.map(({ callId, state, proposal, policyCall }, index) => {
    const verdict = judged[index];
    if (verdict === undefined) throw new Error('a policy must judge every call that it is given');
    const facts = { proposal, state, parent: parents[index] ?? null, judged: verdict, grants: grants[index] ?? [] };
    const jointly: StepCall['together'] = (requirements) => together(requirements, policyCall);
    return { ...facts, together: jointly, approvalId: approvalIdOf(callId, 1) };
  });
  const facts: Gathered['facts'] = {
    ...{
      at,
      calls,
      quotas: quotasOfStep(ports, asker, plans, judged),
      approvers: approversOf(
        ports,
        tenant,
        plans.map(({ proposal }) => proposal),
      ),
    },
    inBatch: callsInBatch(ports, actor, request.body),
    limits: { batchMembersMax: limits.batchMembersMax, nestingMax },
  };
  const seen = Math.max(0, ...loaded.map(({ position }) => position));
  return { facts, plans, policyVersion: policy.version, shadow, seen, writeOnly };
}

/** Nothing is looked up where the request names no all-or-nothing batch. */
function callsInBatch(
  { asking }: CommandPorts,
  { tenant, principal: requestedBy }: Actor,
  body: RequestToolCalls,
): StepFacts['inBatch'] {
  const { runId, batchId } = body;
  if (!namesBatch(body) || batchId === undefined) return [];
  // One more than a request can have: the others are not needed.
  return asking?.history.callsOfBatch(tenant, { requestedBy, runId, batchId }, limits.batchMembersMax + 1) ?? null;
}

/** The parents that the calls of a request name. Each is read once. */
async function parentsOf(
  ports: CommandPorts,
  { tenant, principal }: Actor,
  { calls }: RequestToolCalls,
): Promise<readonly (StepParent | null)[]> {
  const named = new Set(calls.flatMap(({ parentCallId }) => parentCallId ?? []));
  const loaded = await Promise.all(
    [...named].map(async (callId): Promise<StepParent> => {
      const call = callOf((await ports.handler.load(toolCallStream(callId))).state, tenant);
      if (call === undefined) return { callId, call, isCancelled: false };
      const inside = { tenant, requestedBy: principal, chain: chainInside({ call }) };
      return { callId, call, isCancelled: await isInsideCancelled(ports, inside, call) };
    }),
  );
  const known = new Map(loaded.map((parent) => [parent.callId, parent]));
  return calls.map(({ parentCallId }) => (parentCallId === undefined ? null : (known.get(parentCallId) ?? null)));
}

/**
 * Only a single call that runs inside no other can be recorded without a read. A repeat is no new question to people, and
 * takes no use of a grant, so under quotas and where a grant is about its tool it is read as well.
 */
function isWriteOnly({ writeOnly, policies, grants, clock }: CommandPorts, tenant: string, body: RequestToolCalls) {
  const [call] = body.calls;
  if (writeOnly !== true || call === undefined || body.calls.length > 1 || call.parentCallId !== undefined)
    return false;
  if (policies.of(tenant).quotas !== null) return false;
  return (grants?.index.live(tenant, call.toolName, clock.now()) ?? []).length === 0;
}

function quotasOfStep(
  ports: CommandPorts,
  asker: Asker,
  plans: readonly Plan[],
  judged: readonly JudgedCall[],
): StepFacts['quotas'] {
  const proposals = plans.map(({ proposal }) => proposal);
  // The allowed calls of a step may be asked about as well.
  const isWhole = judged.some(asksAll);
  const asked = proposals.filter((_, index) => isWhole || judged[index]?.verdict.outcome === 'require');
  const facts = quotaFacts(ports, asker, asked);
  return facts && { ...facts, questions: proposals.map(questionOf) };
}
