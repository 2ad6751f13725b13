import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams } from './streams.js';

/** The sequential calls of a tenant that are not settled, by the run, the principal and the call around them. */
export interface Queues {
  /** Judges the turn of a call, which comes when each call before it in its queue was settled. `call`: before the event. */
  readonly judge: (event: JudgedEvent, call: CallState) => Judgement;
  /** Judges the place of a call, which is that of its request. `call`: after the event. */
  readonly judgePlace: (event: JudgedEvent, call: CallState) => Judgement;
  /** Takes a call after an event. */
  readonly take: (call: CallState) => void;
  /** An event of a stream cannot be read: nothing waits for its call any more. */
  readonly lose: (stream: string) => void;
}

/** Queues with no call yet. `isWhole`: false where the calls before one may not be shown. */
export function createQueues(streams: KnownStreams, isWhole: boolean): Queues {
  const queues = createLines();
  /** Those that were requested, and are neither queued nor blocked yet. */
  const arriving = createLines();
  return {
    judge: ({ type }, { queued, request }) => {
      const isTurn = queued !== null && (type === 'ToolCallAllowed' || type === 'ApprovalRequested');
      if (!isTurn) return nothing;
      if (!isWhole) return { illegal: [], unproven: ['turn-order'] };
      const first = queues.firstOf(queueOf(request)) ?? request.callId;
      return first === request.callId ? nothing : found(`the call ${first} before it in its queue was not settled`);
    },
    judgePlace: ({ type }, { request }) => {
      if (request.batchMode !== 'sequential') return nothing;
      if (type === 'ToolCallRequested') return judgeOrder(request, streams);
      const first = type === 'ToolCallQueued' ? arriving.firstOf(queueOf(request)) : undefined;
      const isBehind =
        first !== undefined && first !== request.callId && arriving.has(queueOf(request), request.callId);
      return isBehind ? found(`the call ${first} was requested before it, and had no place yet`) : nothing;
    },
    take: ({ request, queued, isJudged, permission, execution }) => {
      if (request.batchMode !== 'sequential') return;
      const [queue, { callId }] = [queueOf(request), request];
      if (queued === null && !isJudged) arriving.add(queue, callId);
      else arriving.leave(queue, callId);
      // What was settled once holds no turn again, also where a person lets it run once more.
      if (isSettled({ permission, execution })) queues.leave(queue, callId);
      else if (queued !== null) queues.add(queue, callId);
    },
    lose: (stream) => {
      for (const lines of [queues, arriving]) lines.loseCall(stream.slice('toolCall-'.length));
    },
  };
}

/** Calls that stand in line, by the name of their queue. */
function createLines() {
  const lines = new Map<string, Set<string>>();
  const leave = (queue: string, callId: string): void => {
    const calls = lines.get(queue);
    calls?.delete(callId);
    if (calls?.size === 0) lines.delete(queue);
  };
  return {
    leave,
    add: (queue: string, callId: string) => lines.set(queue, (lines.get(queue) ?? new Set()).add(callId)),
    has: (queue: string, callId: string) => lines.get(queue)?.has(callId) === true,
    firstOf: (queue: string): string | undefined => lines.get(queue)?.values().next().value,
    loseCall: (callId: string) => {
      for (const queue of lines.keys()) leave(queue, callId);
    },
  };
}

/**
 * Attack: the calls of a request are recorded in another order than the request has them, so that a later one runs first. Calls that
 * say another time may be the rest of a step, which came again.
 */
function judgeOrder(request: CallState['request'], streams: KnownStreams): Judgement {
  const { batchCallIds, callId, requestedAt } = request;
  const behind = batchCallIds.slice(batchCallIds.indexOf(callId) + 1).flatMap((id) => {
    const state = streams.get(`toolCall-${id}`)?.state;
    return state?.kind === 'call' && isOfStep(request, state.request) ? [state.request] : [];
  });
  const before = behind.find((other) => other.requestedAt === requestedAt);
  if (before !== undefined) {
    return found(`its request names it before ${before.callId}, which was recorded before it`);
  }
  return behind.length === 0 ? nothing : { illegal: [], unproven: ['step-apart'] };
}

function isOfStep(one: CallState['request'], other: CallState['request']): boolean {
  return queueOf(one) === queueOf(other) && one.batchCallIds.join() === other.batchCallIds.join();
}

const nothing: Judgement = { illegal: [], unproven: [] };

function found(detail: string): Judgement {
  return { illegal: [illegal('turn', detail)], unproven: [] };
}

function queueOf({ requestedBy, runId, parent }: CallState['request']): string {
  return JSON.stringify([requestedBy, runId, parent]);
}

/** It ended without a run, or its run ended, or nobody knows how that ended. */
function isSettled({ permission, execution: { status } }: Pick<CallState, 'permission' | 'execution'>): boolean {
  const mayRun = permission === 'allowed' || permission === 'approved';
  return mayRun ? status === 'ended' || status === 'unknown' : permission !== 'awaiting';
}
