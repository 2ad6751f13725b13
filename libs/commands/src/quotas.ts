import { jcsDigest } from '@countersign/contracts';
import type { Actor } from './actor.js';
import { namesFreely } from './actor.js';
import type { Counted } from './history.js';
import type { CommandPorts } from './ports.js';
import { findQuotas } from './quota-findings.js';
import type { Question, QuotaFinding } from './quota-findings.js';
import { refused } from './result.js';
import type { Refused } from './with-tool-call.js';

/** An agent that asks people, and the principal that speaks for it. */
export interface Asker {
  readonly tenant: string;
  readonly agentId: string;
  /** The principal whose calls are counted together, because it may name agents as it likes; null: it may not. */
  readonly principal: string | null;
}

/**
 * The asker of an actor's request. Attack: a token with a glob in its `agentIds` asks under another name each time, so
 * that no name reaches a limit.
 */
export function askerOf(actor: Actor, agentId: string): Asker {
  const { tenant, principal } = actor;
  return { tenant, agentId, principal: namesFreely(actor, agentId) ? principal : null };
}

/**
 * Runs `work`, which asks people about calls of an agent, after the earlier requests that count for it: what they record
 * counts. Without quotas it runs at once.
 */
export function inTurnOfAsker<T>(
  { asking, policies }: CommandPorts,
  { tenant, agentId, principal }: Asker,
  work: () => Promise<T>,
): Promise<T> {
  if (asking === undefined || policies.of(tenant).quotas === null) return work();
  const ofAgent = (): Promise<T> => asking.inTurn(JSON.stringify([tenant, agentId]), work);
  // Always the principal first: two requests that waited for each other would wait for ever.
  return principal === null ? ofAgent() : asking.inTurn(JSON.stringify(['principal', tenant, principal]), ofAgent);
}

/**
 * Runs `work`, which records calls of a run, after the earlier requests of that run, where the policy looks at runs:
 * otherwise requests at the same moment would each count none of the others. Enter it before the asker's turn.
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
 * Refuses questions of one asker that the policy's quotas do not allow: all of them together or none.
 * @returns undefined when people may be asked
 */
export function overQuota(ports: CommandPorts, asker: Asker, questions: readonly Question[]): Refused | undefined {
  const quotas = questions.length === 0 ? null : ports.policies.of(asker.tenant).quotas;
  if (quotas === null) return undefined;
  if (ports.asking === undefined)
    return refused('unavailable', 'this process cannot count what an agent asks of people');
  const twice = quotas.coalesceIdentical ? identicalInRequest(questions) : undefined;
  if (twice !== undefined) return twice;
  for (const { refusal } of quotasOf(ports, asker, questions)) if (refusal !== undefined) return refusal;
  return undefined;
}

/**
 * Yields the verdict of each quota of the policy about these questions. Empty where it has none, or this process cannot
 * count.
 */
export function* quotasOf(
  { asking, policies, clock }: CommandPorts,
  { tenant, agentId, principal }: Asker,
  questions: readonly Question[],
): Generator<QuotaFinding, void, undefined> {
  const { quotas } = policies.of(tenant);
  if (asking === undefined || quotas === null) return;
  const all: readonly Counted[] = [{ agentId }, ...(principal === null ? [] : [{ requestedBy: principal }])];
  for (const counted of all) {
    yield* findQuotas({ tenant, counted, quotas, questions, history: asking.history, now: clock.now() });
  }
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
