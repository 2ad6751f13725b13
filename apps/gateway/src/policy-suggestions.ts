import { requirementOfRequest } from '@countersign/domain';
import type { Actor } from '@countersign/commands';
import { hiddenValues, isReadable, toolCallStream } from '@countersign/contracts';
import type { EventData, PolicySuggestions, PolicySuggestionsQuery } from '@countersign/contracts';
import { createPolicy, createSuggestions, loadPolicy, recordedCall, ruleYaml } from '@countersign/policy';
import type { AskedCall, PeoplesDecision, Policy, Suggestion } from '@countersign/policy';
import type { CallRow } from '@countersign/read-model';
import { sideBySide } from '@countersign/runtime';
import { createBreather } from './limits/breather.js';
import type { FairTurns } from './limits/fair-turns.js';
import type { GatewayPorts } from './ports.js';

const decisionsMinDefault = 20;
const sinceMsDefault = 90 * 86_400_000;
const pageSize = 200;
/** About five seconds of reading. */
const callsMax = 50_000;
const readsAtOnce = 16;

type Ports = Pick<GatewayPorts, 'commands' | 'store' | 'readModel' | 'clock'>;

/**
 * Proposes rules out of the recorded calls of the tenant, one report at a time. Each is tried in front of the policy in
 * force, and left out when that changes nothing. Records and applies nothing.
 * @throws the signal's reason.
 */
export function suggest(
  ports: Ports,
  turns: FairTurns,
  actor: Actor,
  { decisionsMin = decisionsMinDefault, since }: PolicySuggestionsQuery,
  signal: AbortSignal,
): Promise<PolicySuggestions> {
  const { tenant, principal } = actor;
  const sinceMs = since === undefined ? Math.max(0, ports.clock.now() - sinceMsDefault) : Date.parse(since);
  return turns.run(`${tenant}\n${principal}`, async () => {
    const { celEngine } = await import('@countersign/cel');
    const load = (content: object) => loadPolicy('the policy', JSON.stringify(content), celEngine);
    const live = ports.commands.policies.of(tenant);
    const found = createSuggestions(load(live.content), decisionsMin);
    const looked = await readCalls(ports, tenant, sinceMs, signal, (call) => {
      if (call.approvals.length > 0) found.add(toAskedCall(call));
    });
    const suggestions: PolicySuggestions['suggestions'] = [];
    for (const suggestion of found.list()) {
      signal.throwIfAborted();
      const front = createPolicy(load({ version: 1, tenant, default: 'require', rules: [suggestion.rule] }));
      const backtest = await tryInFront(ports, suggestion, front, live);
      if (backtest !== undefined) suggestions.push(toView(suggestion, backtest));
    }
    return { suggestions, since: new Date(sinceMs).toISOString(), decisionsMin, ...looked };
  });
}

/** Reads the calls, the latest first. */
async function readCalls(
  { readModel, clock }: Ports,
  tenant: string,
  sinceMs: number,
  signal: AbortSignal,
  add: (call: CallRow) => void,
): Promise<Pick<PolicySuggestions, 'calls' | 'complete'>> {
  const breathe = createBreather(clock.monotonic);
  let calls = 0;
  for (let cursor: string | undefined; ;) {
    signal.throwIfAborted();
    const page = readModel.listCalls(tenant, { sinceMs, cursor, limit: pageSize });
    if (page.status !== 'page') throw new Error('the read model does not know its own cursor');
    page.rows.forEach(add);
    calls += page.rows.length;
    if (page.nextCursor === null) return { calls, complete: true };
    if (calls >= callsMax) return { calls, complete: false };
    cursor = page.nextCursor;
    await breathe();
  }
}

function toAskedCall(call: CallRow): AskedCall {
  const { callId, toolName, agentId, arguments: args, sensitive } = call.request;
  const hidden = new Set(hiddenValues(args, sensitive).map(({ pointer }) => firstMember(pointer)));
  const requirements = call.approvals.map(requirementOfRequest);
  return { callId, toolName, agentId, arguments: args, hidden, requirements, decision: decisionOn(call) };
}

function firstMember(pointer: string): string {
  return (pointer.split('/')[1] ?? '').replaceAll('~1', '/').replaceAll('~0', '~');
}

const endedWell: ReadonlySet<CallRow['state']> = new Set(['approved', 'executing', 'succeeded']);

function decisionOn(call: CallRow): PeoplesDecision {
  const { state, approvals } = call;
  const [approval] = approvals;
  if (approval === undefined || approvals.length > 1) return { status: 'against' };
  const { votes, resolution, requestedAt } = approval;
  if (votes.some(({ decision }) => decision.type !== 'approve')) return { status: 'against' };
  if (state === 'awaiting_approval' || state === 'cancelled') return { status: 'open' };
  if (!isUnchanged(call, approval) || resolution.status !== 'approved') return { status: 'against' };
  const by = votes.map(({ respondedBy, onBehalfOf }) => onBehalfOf ?? respondedBy);
  return { status: 'unchanged', by, askedMs: Date.parse(requestedAt), decidedMs: Date.parse(resolution.at) };
}

/** Returns whether people, and not the clock, approved the call as it was requested, and nothing has failed since. */
function isUnchanged({ state, action, request }: CallRow, { votes }: CallRow['approvals'][number]): boolean {
  const isByPeople = votes.length > 0 && votes.every(({ status, automatic }) => status === 'counted' && !automatic);
  return isByPeople && endedWell.has(state) && action.actionDigest === request.actionDigest;
}

/**
 * How many of the recorded calls the policy in force would allow with the rule in front of it. Undefined when the rule
 * lets no further call through, or when the policy in force blocks one of them now.
 */
async function tryInFront(
  { store }: Ports,
  { callIds }: Suggestion,
  front: Policy,
  live: Policy,
): Promise<{ readonly asked: number; readonly allowed: number } | undefined> {
  const requests = await sideBySide(callIds, readsAtOnce, async (callId) => {
    const [first] = await store.readStream(toolCallStream(callId));
    return first === undefined || !isReadable(first) ? undefined : (first.data as EventData<'ToolCallRequested'>);
  });
  const outcomes = requests.flatMap((request) => {
    if (request === undefined) return [];
    const outcomeBy = (policy: Policy) =>
      policy.judge([recordedCall(request)], Date.parse(request.requestedAt))[0]?.verdict.outcome;
    const [now, inFront] = [outcomeBy(live), outcomeBy(front)];
    return [{ now, isAllowed: now === 'allow' || inFront === 'allow' }];
  });
  const allowed = outcomes.filter(({ isAllowed }) => isAllowed).length;
  const allowedNow = outcomes.filter(({ now }) => now === 'allow').length;
  const isBlocked = outcomes.some(({ now }) => now === 'block');
  return isBlocked || allowed <= allowedNow ? undefined : { asked: outcomes.length, allowed };
}

function toView(
  { toolName, agentId, rule, evidence }: Suggestion,
  backtest: PolicySuggestions['suggestions'][number]['backtest'],
): PolicySuggestions['suggestions'][number] {
  const { firstMs, lastMs, ...counts } = evidence;
  const [since, until] = [new Date(firstMs).toISOString(), new Date(lastMs).toISOString()];
  return {
    toolName,
    agentId,
    rule,
    yaml: ruleYaml(rule),
    evidence: { ...counts, since, until },
    backtest,
  };
}
