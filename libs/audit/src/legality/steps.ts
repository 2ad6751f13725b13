import { firstVerdictOf } from '../policy/binding.js';
import type { PolicyRecord } from '../policy/policy-record.js';
import type { CallState, FirstVerdict } from './call-state.js';
import { illegal, isOfVersion1 } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams, StreamState } from './streams.js';

/** The steps of calls: the calls of one request. */
export interface Steps {
  /** The state after an event, with the first verdict about a call. */
  readonly placed: (event: JudgedEvent, before: StreamState | undefined, after: StreamState) => StreamState;
  /** Judges the first verdict about a call beside the calls of its step. */
  readonly judge: (event: JudgedEvent, before: StreamState | undefined, after: StreamState) => Judgement;
}

/** The bound call that names another one as of its step, which is not requested yet. No event has a stream of that name. */
const namedPrefix = '\u0000named ';

const legal: Judgement = { illegal: [], unproven: [] };

/**
 * Compares the calls of a step. Attacks: nobody is asked about a call of a step although a rule asks about all of its calls; or one
 * call runs although people denied another one, and a rule lets all of them run or none.
 *
 * Calls are of one decision where each names the other and both were requested at the same time. Otherwise a part of a step was
 * recorded before the rest, such as before a crash, and the rest was judged by the rules in force then.
 * @param isWhole false where the other calls of a step may not be shown.
 */
export function createSteps(streams: KnownStreams, policies: PolicyRecord, isWhole: boolean): Steps {
  const stateOf = (callId: string): StreamState | undefined => streams.get(`toolCall-${callId}`)?.state;
  const gather = (call: CallState, first: FirstVerdict): Step => {
    const { callId, batchCallIds } = call.request;
    const others = batchCallIds.filter((id) => id !== callId);
    const states = others.map(stateOf);
    const namer = streams.get(namedPrefix + callId)?.state;
    const mates = states.filter((state) => state?.kind === 'call');
    return {
      ...{ call, first, others, mates },
      together: mates.filter((mate) => isTogether(call, mate)),
      namedBy: namer?.kind === 'call' ? namer : undefined,
      isLost: states.some((state) => state?.kind === 'set-aside'),
    };
  };
  const nameOthers = ({ call, others }: Step): void => {
    if (!isBound(call) && !isAllOrNothing(call)) return;
    for (const id of others.filter((other) => stateOf(other) === undefined)) {
      streams.set(namedPrefix + id, { next: 0, state: call });
    }
  };
  return {
    placed: (event, before, after) => {
      if (!isFirst(before) || after.kind !== 'call') return after;
      const first = firstVerdictOf(event, after.request, policies);
      return first === undefined ? after : { ...after, first };
    },
    judge: (event, before, after) => {
      const first = isFirst(before) && after.kind === 'call' ? after.first : undefined;
      if (after.kind !== 'call' || first === undefined || isOfVersion1(event)) return legal;
      const step = gather(after, first);
      nameOthers(step);
      const found =
        takesNoTurns(after) ?? otherStep(step) ?? step.together.map((mate) => between(after, mate)).find(isFound);
      const isApart = isWhole ? isSplit(step) : step.others.length > 0;
      return judgement(found, isApart);
    },
  };
}

/** A call beside those that its request names. */
interface Step {
  readonly call: CallState;
  readonly first: FirstVerdict;
  readonly others: readonly string[];
  readonly mates: readonly CallState[];
  /** Those of the same decision. */
  readonly together: readonly CallState[];
  /** The last call that named this one before it was requested, and that a rule or its request bound with its step. */
  readonly namedBy: CallState | undefined;
  readonly isLost: boolean;
}

function judgement(found: Illegal | undefined, isApart: boolean): Judgement {
  return { illegal: found === undefined ? [] : [found], unproven: isApart ? ['step-apart'] : [] };
}

function isFirst(before: StreamState | undefined): boolean {
  return before?.kind === 'call' && !before.isJudged && before.queued === null;
}

function isFound(word: Illegal | undefined): boolean {
  return word !== undefined;
}

function isTogether({ request: one }: CallState, { request: other }: CallState): boolean {
  const isMutual = one.batchCallIds.includes(other.callId) && other.batchCallIds.includes(one.callId);
  return isMutual && isOfMoment(one, other);
}

/** Its rule binds all calls of the step. */
function isBound({ first }: CallState): boolean {
  return first?.binds === 'all-or-nothing' || first?.binds === 'any-asks-all';
}

function isAllOrNothing({ request }: Pick<CallState, 'request'>): boolean {
  return request.batchMode === 'all-or-nothing';
}

/**
 * A call whose own rule makes its step sequential takes turns, also where it is the only one, and where a grant covers it.
 * Attack: a single call is called an all-or-nothing batch.
 */
function takesNoTurns({ first, request }: CallState): Illegal | undefined {
  const isAlone = request.batchStream === null && request.recordedAt >= batchesOfOneTakeTurnsSince;
  const takesNone = request.batchMode === 'independent' || (isAllOrNothing({ request }) && isAlone);
  return first?.binds === 'sequential' && takesNone
    ? illegal('verdict', 'its rule makes the calls of its step sequential, and it takes no turns')
    : undefined;
}

/** Since then a batch of one call takes its turn. */
const batchesOfOneTakeTurnsSince = '2026-11-30T03:20:00.000Z';

/**
 * Attack: two calls of one step name different steps, so that one of them runs although people denied the other. Those of one
 * moment were requested together, and name the same calls.
 */
function otherStep(step: Step): Illegal | undefined {
  const { request } = step.call;
  const other = inOtherSteps(step).find((one) => isOfMoment(request, one.request));
  return (
    other &&
    illegal(
      'request',
      `${request.callId} and ${other.request.callId} were requested together, and name different steps`,
    )
  );
}

/** The calls that this one names, or that named it, where both run with their step or not at all, and name different ones. */
function inOtherSteps({ call, mates, namedBy }: Step): readonly CallState[] {
  const all = namedBy === undefined ? mates : [...mates, namedBy];
  return all.filter(({ request: { batchStream } }) => {
    const own = call.request.batchStream;
    return own !== null && batchStream !== null && own !== batchStream;
  });
}

function isOfMoment(one: CallState['request'], other: CallState['request']): boolean {
  return one.runId === other.runId && one.requestedBy === other.requestedBy && one.requestedAt === other.requestedAt;
}

/** What is wrong with two calls of one decision. */
function between(one: CallState, other: CallState): Illegal | undefined {
  const both = [one, other];
  const ids = both.map(({ request }) => request.callId).join(' and ');
  if (both.some(isBound) && !both.every(isAllOrNothing)) {
    return illegal('batch', `a rule lets ${ids} run together or not at all, and they were requested as independent`);
  }
  const isInTurn = both.some(({ first }) => first?.binds === 'sequential');
  if (isInTurn && both.some(({ request }) => request.batchMode === 'independent')) {
    return illegal('batch', `a rule lets ${ids} take turns, and one of them takes none`);
  }
  return isUnasked(one, other) || isUnasked(other, one)
    ? illegal('batch', `a rule asks about ${ids} together, and it asked nobody about one of them`)
    : undefined;
}

/** People are asked about one call by a rule that asks about all, and about the other one nobody is, or only as its worker wants. */
function isUnasked({ first: asked }: CallState, { first: other }: CallState): boolean {
  if (asked?.outcome !== 'require' || asked.binds !== 'any-asks-all' || other === undefined) return false;
  return other.outcome === 'allow' || (other.outcome === 'require' && other.isByWorker);
}

/** Returns whether a rule that binds a step, or asks about it, may have passed over a call that was recorded apart. */
function isSplit(step: Step): boolean {
  const { call, others, mates, together, isLost } = step;
  if (isLost || inOtherSteps(step).length > 0) return true;
  if ((isBound(call) && others.length > 0 && !isAllOrNothing(call)) || isFreeOfStep(step)) return true;
  const apart = mates.filter((mate) => !together.includes(mate));
  return apart.some((mate) => isUnasked(call, mate) || isUnasked(mate, call));
}

/** A call that a bound one names as of its step runs by itself. */
function isFreeOfStep({ call, first, together, namedBy }: Step): boolean {
  const isFree = first.outcome === 'allow' || !isAllOrNothing(call);
  return isFree && namedBy !== undefined && isBound(namedBy) && !together.some(isBound);
}
