import { jcsDigest } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { areEqualJson } from '@countersign/domain';
import type { Quotas } from '@countersign/policy';
import type { History } from './history.js';
import type { CommandPorts } from './ports.js';
import { refused } from './result.js';
import type { Refused } from './with-tool-call.js';

/** A call about which people would be asked. */
export interface Question extends AskingAgent {
  readonly callId: string;
  readonly toolCallId: string;
  readonly runId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
}

/** An agent of a tenant. */
export interface AskingAgent {
  readonly tenant: string;
  readonly agentId: string;
}

/** Nobody knows when people will answer. */
const pendingRetryMs = 60_000;

/**
 * Runs `work`, which asks people about calls of an agent, after the agent's earlier requests: what they record counts.
 * Without quotas it runs at once.
 */
export function inTurnOfAgent<T>(ports: CommandPorts, agent: AskingAgent, work: () => Promise<T>): Promise<T> {
  const { asking, policies } = ports;
  if (asking === undefined || policies.of(agent.tenant).quotas === null) return work();
  return asking.inTurn(JSON.stringify([agent.tenant, agent.agentId]), work);
}

/**
 * Runs `work`, which records calls of a run, after the earlier requests of that run, where the policy looks at runs:
 * otherwise requests at the same moment would each count none of the others. Enter it before the agent's turn.
 */
export function inTurnOfRun<T>(
  { asking, policies }: CommandPorts,
  tenant: string,
  runId: string,
  work: () => Promise<T>,
): Promise<T> {
  if (asking === undefined || !policies.of(tenant).usesRun) return work();
  return asking.inTurn(JSON.stringify(['run', tenant, runId]), work);
}

/**
 * Refuses questions of one agent that the policy's quotas do not allow: all of them together or none.
 * @returns undefined when people may be asked
 */
export function overQuota(
  { asking, policies, clock }: CommandPorts,
  questions: readonly Question[],
): Refused | undefined {
  const [first] = questions;
  const quotas = first === undefined ? null : policies.of(first.tenant).quotas;
  if (first === undefined || quotas === null) return undefined;
  if (asking === undefined) return refused('unavailable', 'this process cannot count what an agent asks of people');
  const { tenant, agentId } = first;
  const asked = { tenant, agentId, quotas, questions, history: asking.history };
  return coolingDown(asked, clock.now()) ?? identical(asked) ?? tooManyPending(asked);
}

interface Asked extends AskingAgent {
  readonly quotas: Quotas;
  readonly questions: readonly Question[];
  readonly history: History;
}

function coolingDown({ tenant, agentId, quotas, history }: Asked, now: number): Refused | undefined {
  const { coolDown } = quotas;
  if (coolDown === null) return undefined;
  const times = history.denialsInARow(tenant, agentId, coolDown.denials).map((at) => Date.parse(at));
  const [first, last] = [Math.min(...times), Math.max(...times)];
  const untilMs = last + coolDown.ms;
  if (times.length < coolDown.denials || last - first > coolDown.ms || untilMs <= now) return undefined;
  const detail =
    `${String(times.length)} calls of the agent "${agentId}" were denied in a row: ` +
    `the policy lets it ask people again at ${new Date(untilMs).toISOString()}`;
  return refused('too-many-requests', detail, { extra: { retryAfterMs: untilMs - now } });
}

function tooManyPending({ tenant, agentId, quotas, questions, history }: Asked): Refused | undefined {
  const { pendingPerAgent } = quotas;
  if (pendingPerAgent === null) return undefined;
  const pending = history.pendingOfAgent(tenant, agentId, pendingPerAgent);
  if (pending + questions.length <= pendingPerAgent) return undefined;
  const detail =
    `the policy allows ${String(pendingPerAgent)} calls of an agent that wait for people. The agent "${agentId}" has ` +
    `${String(pending)}, and this request has ${String(questions.length)}: wait until people have decided`;
  return refused('too-many-requests', detail, { extra: { retryAfterMs: pendingRetryMs } });
}

/** People are asked once about identical calls, so the second one is refused, and told which one waits. */
function identical(asked: Asked): Refused | undefined {
  if (!asked.quotas.coalesceIdentical) return undefined;
  return identicalInRequest(asked.questions) ?? identicalPending(asked);
}

function identicalInRequest(questions: readonly Question[]): Refused | undefined {
  const first = new Map<string, string>();
  for (const { toolCallId, runId, toolName, arguments: args } of questions) {
    const key = jcsDigest({ runId, toolName, arguments: args });
    const same = first.get(key);
    if (same !== undefined) {
      return refused(
        'already-pending',
        `the calls "${same}" and "${toolCallId}" of this request are identical: ask once`,
      );
    }
    first.set(key, toolCallId);
  }
  return undefined;
}

function identicalPending({ tenant, agentId, questions, history }: Asked): Refused | undefined {
  for (const { callId, runId, toolName, arguments: args } of questions) {
    const pending = history.pendingCalls(tenant, { agentId, runId, toolName });
    if (pending === null) {
      const detail = `too many calls of the tool "${toolName}" wait for people in this run to be compared`;
      return refused('too-many-requests', detail, { extra: { retryAfterMs: pendingRetryMs } });
    }
    const same = pending.find((one) => one.callId !== callId && areEqualJson(one.arguments, args));
    if (same !== undefined) return waitsAlready(same);
  }
  return undefined;
}

function waitsAlready({ callId, toolCallId, approvalId }: Refusable): Refused {
  const detail = `people are asked about the identical call "${toolCallId}" (${callId}) of this run: wait for its result`;
  return refused('already-pending', detail, { extra: { callId, toolCallId, approvalId } });
}

type Refusable = Readonly<Record<'callId' | 'toolCallId' | 'approvalId', string>>;
