import type { EventData } from '@countersign/contracts';
import type { CallState, QueuedState } from './call-state.js';
import { lessThan } from '../policy/compare-requirement.js';
import { digestOf } from './digests.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent } from './judged-event.js';
import { notNext } from './questions.js';
import { textDigest } from './shown-card.js';

type Place = EventData<'ToolCallQueued'>;
type Asked = Pick<
  EventData<'ApprovalRequested'>,
  'verdict' | 'approvalId' | 'round' | 'requirement' | 'requestedBy' | 'reason' | 'description'
>;

/** A sequential call waits for its turn before it is allowed, or people are asked. */
export function queued(event: JudgedEvent, call: CallState): Illegal | CallState {
  const { verdict, question: asked } = event.data as Place;
  if (call.request.batchMode !== 'sequential') return illegal('turn', 'the call takes no turns');
  if (verdict.outcome !== (asked === null ? 'allow' : 'require')) {
    return illegal('verdict', 'its verdict does not fit what comes at its turn');
  }
  const next = asked === null ? toBeAllowed(verdict) : toBeAsked({ ...asked, verdict });
  const misnumbered = asked === null ? undefined : notNext(asked, call);
  return notToWait(call, next) ?? misnumbered ?? { ...call, queued: next, permission: 'awaiting' };
}

function notToWait(call: CallState, next: QueuedState): Illegal | undefined {
  if (!mayWait(call, next)) return illegal('turn', `a call that is ${call.permission} waits for its turn`);
  return call.queued?.next === 'require' && !addsWords(call.queued, next)
    ? illegal('turn', 'it changes more than the words that the question of its place lacks')
    : undefined;
}

/** A call waits from its request on, or when it is asked about again. Once people are to be asked, only their words change. */
function mayWait({ isJudged, queued: before, permission, execution }: CallState, { next }: QueuedState): boolean {
  if (before !== null) return next === 'require';
  if (!isJudged) return true;
  const isAgain = permission === 'expired' || permission === 'lapsed';
  return isAgain && next === 'require' && execution.status === 'none';
}

function addsWords(before: QueuedState, after: QueuedState): boolean {
  const keeps = (known: string | null, words: string | null): boolean => known === null || known === words;
  return (
    before.bound === after.bound &&
    keeps(before.words.reason, after.words.reason) &&
    keeps(before.words.description, after.words.description)
  );
}

/** Attack: a call is allowed at its turn by another verdict than the one that was recorded with its place. */
export function notAllowedAtTurn(call: CallState, verdict: Asked['verdict']): Illegal | undefined {
  return notAtTurn(call, toBeAllowed(verdict));
}

/** Attack: fewer people are asked at the turn of a call, or other words are shown to them, than was recorded with its place. */
export function notAskedAtTurn(call: CallState, asked: Asked): Illegal | undefined {
  return notAtTurn(call, toBeAsked(asked));
}

/**
 * Before its turn nothing happens to a sequential call, and at its turn what was recorded with its place, or what asks more: the policy
 * in force at the turn judges it again.
 */
function notAtTurn(call: CallState, now: QueuedState): Illegal | undefined {
  const { queued: waits, isJudged } = call;
  if (call.request.batchMode !== 'sequential' || (waits === null && isJudged)) return undefined;
  if (waits === null) return illegal('turn', 'the call had no place in the queue of its run');
  return isAsRecorded(waits, now) || asksMore(waits, now, call)
    ? undefined
    : illegal('turn', 'it is less than what was recorded with its place in the queue, or something else');
}

function isAsRecorded(waits: QueuedState, now: QueuedState): boolean {
  return waits.next === now.next && waits.bound === now.bound && hasSameWords(waits, now);
}

/** Which round a question has is looked at with it. */
function asksMore(waits: QueuedState, now: QueuedState, { request, approval }: CallState): boolean {
  if (now.requirement === null) return false;
  if (waits.requirement === null) {
    const round = (approval?.round ?? 0) + 1;
    const approvalId = `apr_${request.callId.slice('tc_'.length)}_${String(round)}`;
    return now.question === digestOf({ approvalId, round, requestedBy: request.requestedBy });
  }
  const isSame = digestOf(waits.requirement) === digestOf(now.requirement);
  const isOfPlace = waits.question === now.question && hasSameWords(waits, now);
  const isLess = lessThan(now.requirement, { requirement: waits.requirement, isExpirySet: true }) !== undefined;
  return !isSame && isOfPlace && !isLess;
}

function hasSameWords({ words: one }: QueuedState, { words: other }: QueuedState): boolean {
  return one.reason === other.reason && one.description === other.description;
}

function toBeAllowed(verdict: Asked['verdict']): QueuedState {
  const words = { reason: null, description: null };
  return { next: 'allow', bound: digestOf(verdict), question: '', requirement: null, words };
}

function toBeAsked({ verdict, approvalId, round, requirement, requestedBy, reason, description }: Asked): QueuedState {
  return {
    next: 'require',
    bound: digestOf({ verdict, approvalId, round, requirement, requestedBy }),
    question: digestOf({ approvalId, round, requestedBy }),
    requirement,
    words: { reason: textDigest(reason), description: textDigest(description) },
  };
}
