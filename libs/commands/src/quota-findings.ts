import { hiddenValues } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import { areEqualJson } from '@countersign/domain';
import type { Quotas } from '@countersign/policy';
import type { Counted, History, PendingCall } from './history.js';
import { refused } from './result.js';
import type { Refused } from './with-tool-call.js';

/** A call about which people would be asked. */
export interface Question {
  readonly callId: string;
  readonly toolCallId: string;
  readonly runId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  /** The pointers of the hidden arguments. */
  readonly sensitive: readonly string[];
  /** The principal that asks, about a call of its own; null for another person, who may not see hidden values. */
  readonly requestedBy: string | null;
}

/** A quota in front of questions: what it counts, and the refusal when they may not be asked. */
export interface QuotaFinding {
  readonly quota: 'coolDown' | 'coalesceIdentical' | 'pendingPerAgent';
  readonly counted: Counted;
  /** The denials or the pending calls that it allows. */
  readonly limit: number;
  /** The denials in a row within the window, or the pending calls; counted up to the limit. */
  readonly used: number;
  /** The time that a cool-down lasts, and within which denials count. */
  readonly windowMs: number | null;
  /** The end of the cool-down, epoch milliseconds; null when there is none. */
  readonly untilMs: number | null;
  /** The identical call that waits for people. */
  readonly identical: PendingCall | null;
  readonly refusal: Refused | undefined;
}

/** The questions of one request, all of one agent, and where to look. */
export interface Asked {
  readonly tenant: string;
  readonly counted: Counted;
  readonly quotas: Quotas;
  readonly questions: readonly Question[];
  readonly history: History;
  /** Epoch milliseconds. */
  readonly now: number;
}

/** The time of a person's answer is unknown. */
const pendingRetryMs = 60_000;

/** The quotas of the policy, one after the other: the history is read for those that are looked at. */
export function* findQuotas(asked: Asked): Generator<QuotaFinding, void, undefined> {
  const { coolDown, coalesceIdentical, pendingPerAgent } = asked.quotas;
  if (coolDown !== null) yield denialsOf(asked, coolDown);
  if (coalesceIdentical) yield identicalOf(asked);
  if (pendingPerAgent !== null) yield pendingOf(asked, pendingPerAgent);
}

function found(
  { counted }: Asked,
  quota: QuotaFinding['quota'],
  limit: number,
  used: number,
  more: Partial<QuotaFinding> = {},
): QuotaFinding {
  const none = { windowMs: null, untilMs: null, identical: null, refusal: undefined };
  return { quota, counted, limit, used, ...none, ...more };
}

function denialsOf(asked: Asked, { denials, ms: windowMs }: NonNullable<Quotas['coolDown']>): QuotaFinding {
  const { tenant, counted, history, now } = asked;
  const times = history.denialsInARow(tenant, counted, denials).map((at) => Date.parse(at));
  const last = Math.max(...times);
  const inWindow = times.filter((at) => last - at <= windowMs).length;
  const untilMs = last + windowMs;
  if (inWindow < denials || untilMs <= now) {
    return found(asked, 'coolDown', denials, times.filter((at) => now - at <= windowMs).length, { windowMs });
  }
  const detail =
    `${String(inWindow)} calls of ${nameOf(counted)} were denied in a row: ` +
    `the policy lets it ask people again at ${new Date(untilMs).toISOString()}`;
  const refusal = refused('too-many-requests', detail, { extra: { retryAfterMs: untilMs - now } });
  return found(asked, 'coolDown', denials, inWindow, { windowMs, untilMs, refusal });
}

function pendingOf(asked: Asked, limit: number): QuotaFinding {
  const { tenant, counted, questions, history } = asked;
  const pending = history.pendingOf(tenant, counted, limit);
  if (pending + questions.length <= limit) return found(asked, 'pendingPerAgent', limit, pending);
  const detail =
    `the policy allows ${String(limit)} calls of an agent that wait for people. ${capital(nameOf(counted))} has ` +
    `${String(pending)}, and this request has ${String(questions.length)}: wait until people have decided`;
  const refusal = refused('too-many-requests', detail, { extra: { retryAfterMs: pendingRetryMs } });
  return found(asked, 'pendingPerAgent', limit, pending, { refusal });
}

/** People are asked once about identical calls, so the second one is refused, and told which one waits. */
function identicalOf(asked: Asked): QuotaFinding {
  const { tenant, counted, questions, history } = asked;
  for (const question of questions) {
    const { callId, runId, toolName, arguments: args } = question;
    const pending = history.pendingCalls(tenant, { ...counted, runId, toolName });
    if (pending === null) {
      const detail = `too many calls of the tool "${toolName}" wait for people in this run to be compared`;
      const refusal = refused('too-many-requests', detail, { extra: { retryAfterMs: pendingRetryMs } });
      return found(asked, 'coalesceIdentical', 1, 0, { refusal });
    }
    const identical = pending.find(
      (one) => one.callId !== callId && mayCompare(question, one) && areEqualJson(one.arguments, args),
    );
    if (identical === undefined) continue;
    return found(asked, 'coalesceIdentical', 1, 1, { identical, refusal: waitsAlready(identical) });
  }
  return found(asked, 'coalesceIdentical', 1, 0);
}

/** Attack: guesses of another principal's arguments, or of hidden ones. Equality would be knowledge of them. */
function mayCompare(question: Question, pending: PendingCall): boolean {
  if (question.requestedBy !== null) return question.requestedBy === pending.requestedBy;
  return [question, pending].every((one) => hiddenValues(one.arguments, one.sensitive).length === 0);
}

function waitsAlready({ callId, toolCallId, approvalId }: PendingCall): Refused {
  const detail = `people are asked about the identical call "${toolCallId}" (${callId}) of this run: wait for its result`;
  return refused('already-pending', detail, { extra: { callId, toolCallId, approvalId } });
}

function nameOf(counted: Counted): string {
  return 'agentId' in counted ? `the agent "${counted.agentId}"` : `the principal "${counted.requestedBy}"`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
