import type { EventData, FieldError, Refusal, Requirement, Verdict } from '@countersign/contracts';
import { areEqualJson } from './json-equality.js';
import { otherPlace } from './place.js';
import { seatsOf } from './requirement.js';
import { firstShort, takes, without } from './seating.js';
import type { AskedBefore, Counted, Question, QuotaFacts, QuotaLimits, WaitingCall } from './quota-facts.js';
import type { StepCall, StepFacts } from './step.facts.js';
import { toEpochMs, toStored } from './time.js';
import type { ToolCallProposal } from './tool-call.commands.js';
import type { PossibleApprover } from './tool-call.response-commands.js';

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

type AskedSchema = Pick<EventData<'ToolCallRequested'>, 'toolSchemaHash' | 'schemaNotes'>;

/**
 * Why a rule that demands a checked schema refuses a call: it has no schema, or a part of it was not checked. Undefined:
 * the rule does not refuse it.
 */
export function uncheckedSchema(
  { requireCheckedSchema }: Requirement,
  { toolSchemaHash, schemaNotes = [] }: AskedSchema,
): string | undefined {
  if (requireCheckedSchema !== true) return undefined;
  if (toolSchemaHash === null) return 'must be there, because the policy demands a schema that is checked whole';
  const [first] = schemaNotes;
  if (first === undefined) return undefined;
  const { pointer, why } = first;
  return `cannot be checked whole, as the policy demands: ${pointer === '' ? 'the schema' : pointer} ${why}`;
}

type Lineage = Pick<ToolCallProposal, 'requestedBy' | 'owner' | 'onBehalfOf' | 'chain'>;

/**
 * The place of the first stage that lacks people because of the names that the agent chose: the person for whom it
 * says that it acts, and the people of the calls around this one. Undefined: every stage can still be satisfied, or it
 * could not be anyway, and each seat for which there were people still has one. Attack: an agent names the strict approvers, so that only the one that it prefers is left.
 */
export function stageWithoutApprovers(
  { stages, fourEyes }: Requirement,
  { requestedBy, owner, onBehalfOf, chain = [] }: Lineage,
  approvers: readonly PossibleApprover[],
): number | undefined {
  const links = chain.flatMap((link) => [link.requestedBy, link.owner, link.onBehalfOf]);
  const chosen = [onBehalfOf, ...links];
  if (!fourEyes || chosen.every((name) => name === undefined)) return undefined;
  const before = without(approvers, [requestedBy, owner]);
  const left = without(approvers, [requestedBy, owner, ...chosen]);
  const seats = stages.flatMap((stage, index) => seatsOf(stage).map((groups) => ({ stage: index, groups })));
  const short = firstShort(seats, left)?.stage;
  if (short !== undefined && short < (firstShort(seats, before)?.stage ?? Infinity)) return short;
  // Attack: the only person of a quorum of two is named, so that no person objects before silence approves.
  const emptied = stages.findIndex((stage) =>
    seatsOf(stage).some((groups) => before.some(takes(groups)) && !left.some(takes(groups))),
  );
  return emptied === -1 ? undefined : emptied;
}

/** Says which stage of a rule lacks approvers. */
export function noApproverDetail(stage: number, { ruleId }: Pick<Verdict, 'ruleId'>): string {
  return `onBehalfOf and parentCallId leave too few approvers for stage ${String(stage + 1)} of "${ruleId}"`;
}

/** Refuses calls about which people would be asked, whose `onBehalfOf` or `parentCallId` excludes all approvers of a stage. */
export function noApproverLeft(
  calls: readonly (Pick<StepCall, 'proposal' | 'judged'> & { readonly isAddition: boolean })[],
  approvers: StepFacts['approvers'],
): Refusal | undefined {
  if (approvers === null) return undefined;
  const errors = calls.flatMap(({ proposal, judged, isAddition }, index): FieldError[] => {
    if (!isAddition || judged.verdict.outcome !== 'require') return [];
    const stage = stageWithoutApprovers(judged.requirement, proposal, approvers);
    return stage === undefined
      ? []
      : [{ path: `calls.${String(index)}`, message: noApproverDetail(stage, judged.verdict) }];
  });
  const [error] = errors;
  return error && { code: 'no-approver-left', detail: `${error.path}: ${error.message}`, errors };
}
