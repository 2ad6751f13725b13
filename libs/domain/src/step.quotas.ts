import type { JsonObject, Refusal } from '@countersign/contracts';
import { areEqualJson } from './json-equality.js';
import { otherPlace } from './place.js';
import { toEpochMs, toStored } from './time.js';

/** How much an agent may ask of people. */
export interface QuotaLimits {
  readonly pendingPerAgent: number | null;
  /** So many denials in a row within `ms` make the agent wait for `ms`. */
  readonly coolDown: { readonly denials: number; readonly ms: number } | null;
  readonly coalesceIdentical: boolean;
}

/** Whose calls are counted: those that a principal requested for one agent, or for any agent. */
export type Counted = { readonly requestedBy: string; readonly agentId?: string };

/** A call about which people would be asked. */
export interface Question {
  readonly callId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly hidesValues: boolean;
  /** To what the arguments are relative. Default: nothing. */
  readonly labels?: Readonly<Record<string, string>>;
  /** A digest of run, tool, arguments and place: equal for identical calls. */
  readonly identity: string;
  /** The principal that asks, about a call of its own; null for another person, who may not see hidden values. */
  readonly requestedBy: string | null;
}

/** A call of the same run about which people are being asked. */
export interface WaitingCall {
  readonly callId: string;
  readonly toolCallId: string;
  readonly approvalId: string;
  readonly arguments: JsonObject;
  readonly hidesValues: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly requestedBy: string;
}

/** What was recorded before these questions, for one agent or principal. */
export interface AskedBefore {
  readonly counted: Counted;
  /** The times of the latest denials without an approval by a person in between. */
  readonly deniedAt: readonly string[];
  /** The calls that wait for people, counted up to the limit. */
  readonly pending: number;
  /** The calls of the run that wait for people, by tool; null: too many to compare. */
  readonly waiting: ReadonlyMap<string, readonly WaitingCall[] | null>;
}

/** The quotas of the policy in front of questions. */
export interface QuotaFacts {
  readonly limits: QuotaLimits;
  /** Null: this process cannot count. */
  readonly before: readonly AskedBefore[] | null;
}

/** The quotas in front of one question about a recorded call. */
export interface QuestionFacts extends QuotaFacts {
  readonly question: Question;
}

/** What one quota counts, and the refusal when people may not be asked. */
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
  readonly identical: WaitingCall | null;
  readonly refusal: Refusal | undefined;
}

/** The time of a person's answer is unknown. */
const pendingRetryMs = 60_000;

/**
 * Returns why people may not be asked these questions at the time `at` (epoch milliseconds): all of them together or
 * none. Undefined: they may be asked.
 */
export function overQuota(facts: QuotaFacts | null, questions: readonly Question[], at: number): Refusal | undefined {
  if (facts === null || questions.length === 0) return undefined;
  if (facts.before === null) {
    return { code: 'unavailable', detail: 'this process cannot count what an agent asks of people' };
  }
  const twice = facts.limits.coalesceIdentical ? identicalInRequest(questions) : undefined;
  return twice ?? quotaFindings(facts, questions, at).find(({ refusal }) => refusal !== undefined)?.refusal;
}

/** Returns the verdict of each quota about these questions. Empty where this process cannot count. */
export function quotaFindings(
  { limits, before }: QuotaFacts,
  questions: readonly Question[],
  at: number,
): readonly QuotaFinding[] {
  const { coolDown, coalesceIdentical, pendingPerAgent } = limits;
  return (before ?? []).flatMap((one) => [
    ...(coolDown === null ? [] : [denialsOf(one, coolDown, at)]),
    ...(coalesceIdentical ? [identicalOf(one, questions)] : []),
    ...(pendingPerAgent === null ? [] : [pendingOf(one, questions, pendingPerAgent)]),
  ]);
}

function found(
  { counted }: AskedBefore,
  quota: QuotaFinding['quota'],
  limit: number,
  used: number,
  more: Partial<QuotaFinding> = {},
): QuotaFinding {
  const none = { windowMs: null, untilMs: null, identical: null, refusal: undefined };
  return { quota, counted, limit, used, ...none, ...more };
}

function denialsOf(
  before: AskedBefore,
  { denials, ms: windowMs }: NonNullable<QuotaLimits['coolDown']>,
  at: number,
): QuotaFinding {
  const times = before.deniedAt.map(toEpochMs);
  const last = Math.max(...times);
  const inWindow = times.filter((time) => last - time <= windowMs).length;
  const untilMs = last + windowMs;
  if (inWindow < denials || untilMs <= at) {
    return found(before, 'coolDown', denials, times.filter((time) => at - time <= windowMs).length, { windowMs });
  }
  const detail =
    `${String(inWindow)} calls of ${nameOf(before.counted)} were denied in a row: ` +
    `the policy lets it ask people again at ${toStored(untilMs)}`;
  const refusal: Refusal = { code: 'too-many-requests', detail, extra: { retryAfterMs: untilMs - at } };
  return found(before, 'coolDown', denials, inWindow, { windowMs, untilMs, refusal });
}

function pendingOf(before: AskedBefore, questions: readonly Question[], limit: number): QuotaFinding {
  const { pending } = before;
  if (pending + questions.length <= limit) return found(before, 'pendingPerAgent', limit, pending);
  const detail =
    `the policy allows ${String(limit)} calls of an agent that wait for people. ${capital(nameOf(before.counted))} has ` +
    `${String(pending)}, and this request has ${String(questions.length)}: wait until people have decided`;
  const refusal: Refusal = { code: 'too-many-requests', detail, extra: { retryAfterMs: pendingRetryMs } };
  return found(before, 'pendingPerAgent', limit, pending, { refusal });
}

/** People are asked once about identical calls, so the second one is refused, and told which one waits. */
function identicalOf(before: AskedBefore, questions: readonly Question[]): QuotaFinding {
  for (const question of questions) {
    const waiting = before.waiting.get(question.toolName);
    if (waiting === null) {
      const detail = `too many calls of the tool "${question.toolName}" wait for people in this run to be compared`;
      const refusal: Refusal = { code: 'too-many-requests', detail, extra: { retryAfterMs: pendingRetryMs } };
      return found(before, 'coalesceIdentical', 1, 0, { refusal });
    }
    const identical = waiting?.find((one) => isIdentical(question, one));
    if (identical === undefined) continue;
    return found(before, 'coalesceIdentical', 1, 1, { identical, refusal: waitsAlready(identical) });
  }
  return found(before, 'coalesceIdentical', 1, 0);
}

function isIdentical(question: Question, waiting: WaitingCall): boolean {
  const isOther = question.callId !== waiting.callId;
  const isHere = otherPlace(waiting.labels ?? {}, question.labels ?? {}) === undefined;
  return isOther && isHere && mayCompare(question, waiting) && areEqualJson(question.arguments, waiting.arguments);
}

/** Attack: guesses of another principal's arguments, or of hidden ones. Equality would be knowledge of them. */
function mayCompare(question: Question, waiting: WaitingCall): boolean {
  if (question.requestedBy !== null) return question.requestedBy === waiting.requestedBy;
  return !question.hidesValues && !waiting.hidesValues;
}

function waitsAlready({ callId, toolCallId, approvalId }: WaitingCall): Refusal {
  const detail = `people are asked about the identical call "${toolCallId}" (${callId}) of this run: wait for its result`;
  return { code: 'already-pending', detail, extra: { callId, toolCallId, approvalId } };
}

function identicalInRequest(questions: readonly Question[]): Refusal | undefined {
  const first = new Map<string, string>();
  for (const { toolCallId, identity } of questions) {
    const same = first.get(identity);
    if (same !== undefined) {
      const detail = `the calls "${same}" and "${toolCallId}" of this request are identical: ask once`;
      return { code: 'already-pending', detail };
    }
    first.set(identity, toolCallId);
  }
  return undefined;
}

function nameOf({ agentId, requestedBy }: Counted): string {
  if (agentId === undefined) return `the principal "${requestedBy}"`;
  return agentId === requestedBy ? `the agent "${agentId}"` : `the agent "${agentId}" of "${requestedBy}"`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
