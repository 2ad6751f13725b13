import { hiddenValues, jcsDigest, placeLabelsOf } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import { quotaFindings } from '@countersign/domain';
import type {
  AskedBefore,
  Counted,
  Question,
  QuestionFacts,
  QuotaFacts,
  QuotaFinding,
  ToolCallProposal,
  WaitingCall,
} from '@countersign/domain';
import type { Quotas } from '@countersign/policy';
import type { Actor } from '../actor.js';
import { namesFreely } from '../actor.js';
import type { History, PendingCall } from '../history.js';
import type { CommandPorts } from '../ports.js';

/** An agent that asks people, and the principal that speaks for it. */
export interface Asker {
  readonly tenant: string;
  readonly agentId: string;
  readonly principal: string;
  /** All calls of the principal are counted together as well, because it may name agents as it likes. */
  readonly namesFreely: boolean;
}

/**
 * The asker of an actor's request. Attack: a token with a glob in its `agentIds` asks under another name each time, so
 * that no name reaches a limit.
 */
export function askerOf(actor: Actor, agentId: string): Asker {
  const { tenant, principal } = actor;
  return { tenant, agentId, principal, namesFreely: namesFreely(actor, agentId) };
}

/**
 * Runs `work`, which asks people about calls of an agent, after the earlier requests that count for it: what they record
 * counts. Without quotas it runs at once.
 */
export function inTurnOfAsker<T>({ asking, policies }: CommandPorts, asker: Asker, work: () => Promise<T>): Promise<T> {
  const { tenant, agentId, principal } = asker;
  if (asking === undefined || policies.of(tenant).quotas === null) return work();
  const ofAgent = (): Promise<T> => asking.inTurn(JSON.stringify([tenant, principal, agentId]), work);
  // Always the principal first: two requests that waited for each other would wait for ever.
  return asker.namesFreely ? asking.inTurn(JSON.stringify(['principal', tenant, principal]), ofAgent) : ofAgent();
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

/** Returns whether a request names an all-or-nothing batch, which no other request may name. */
export function namesBatch({ batchId, batchMode }: RequestToolCalls): boolean {
  return batchMode === 'all-or-nothing' && batchId !== undefined;
}

/**
 * Runs `work`, which records calls of a batch, after the earlier requests that name the batch: otherwise two requests at the
 * same moment would each find it empty. Enter it between the turns of the run and of the asker.
 */
export function inTurnOfBatch<T>(
  { asking }: CommandPorts,
  { tenant, principal }: Actor,
  body: RequestToolCalls,
  work: () => Promise<T>,
): Promise<T> {
  if (asking === undefined || !namesBatch(body)) return work();
  return asking.inTurn(JSON.stringify(['batch', tenant, principal, body.runId, body.batchId]), work);
}

/** The call of a question. `requestedBy`: null for a person who may not see its hidden values. */
export type AskedAbout = Pick<
  ToolCallProposal,
  'callId' | 'toolCallId' | 'runId' | 'toolName' | 'arguments' | 'sensitive' | 'labels'
> & { readonly requestedBy: string | null };

/** A call as a question in front of the quotas. */
export function questionOf({ runId, sensitive, ...call }: AskedAbout): Question {
  const { callId, toolCallId, toolName, arguments: args, requestedBy, labels } = call;
  const identity = jcsDigest({ runId, toolName, arguments: args, place: placeLabelsOf(labels) });
  const hidesValues = hides(call, sensitive);
  return { callId, toolCallId, toolName, arguments: args, requestedBy, labels, identity, hidesValues };
}

/** Counts what was asked before these questions of one run. Null where the policy has no quotas, or nothing is asked. */
export function quotaFacts(
  { asking, policies }: CommandPorts,
  { tenant, agentId, principal: requestedBy, namesFreely: isWhole }: Asker,
  questions: readonly AskedAbout[],
): QuotaFacts | null {
  const limits = questions.length === 0 ? null : policies.of(tenant).quotas;
  if (limits === null) return null;
  if (asking === undefined) return { limits, before: null };
  // Attack: a principal takes the name of another's agent, and uses up its quotas.
  const all: readonly Counted[] = [{ requestedBy, agentId }, ...(isWhole ? [{ requestedBy }] : [])];
  return { limits, before: all.map((counted) => askedBefore(asking.history, tenant, counted, limits, questions)) };
}

/** The quotas in front of one question about a recorded call. Null where the policy has none. */
export function questionFacts(ports: CommandPorts, asker: Asker, asked: AskedAbout): QuestionFacts | null {
  const facts = quotaFacts(ports, asker, [asked]);
  return facts && { ...facts, question: questionOf(asked) };
}

function askedBefore(
  history: History,
  tenant: string,
  counted: Counted,
  { pendingPerAgent, coolDown, coalesceIdentical }: Quotas,
  questions: readonly AskedAbout[],
): AskedBefore {
  const asked = new Map(coalesceIdentical ? questions.map(({ toolName, runId }) => [toolName, runId] as const) : []);
  const isForeign = questions.some(({ requestedBy }) => requestedBy === null);
  return {
    counted,
    deniedAt: coolDown === null ? [] : history.denialsInARow(tenant, counted, coolDown.denials),
    pending: pendingPerAgent === null ? 0 : history.pendingOf(tenant, counted, pendingPerAgent),
    waiting: new Map(
      [...asked].map(([toolName, runId]) => [
        toolName,
        history.pendingCalls(tenant, { ...counted, runId, toolName })?.map((one) => toWaiting(one, isForeign)) ?? null,
      ]),
    ),
  };
}

/** Hidden values are looked for only where another person asks: a principal knows those of its own calls. */
function toWaiting({ sensitive, ...call }: PendingCall, isForeign: boolean): WaitingCall {
  return { ...call, hidesValues: !isForeign || hides(call, sensitive) };
}

function hides(call: Pick<PendingCall, 'arguments'>, sensitive: readonly string[]): boolean {
  return hiddenValues(call.arguments, sensitive).length > 0;
}

/** Returns the verdict of each quota of the policy about a call. Empty where it has none, or this process cannot count. */
export function quotasOf(ports: CommandPorts, asker: Asker, call: AskedAbout): readonly QuotaFinding[] {
  const facts = questionFacts(ports, asker, call);
  return facts === null ? [] : quotaFindings(facts, [facts.question], ports.clock.now());
}
