import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { JudgedEvent, Judgement } from './judged-event.js';

/** The sequential calls of a tenant that are not settled, by the run, the principal and the call around them. */
export interface Queues {
  /** Judges the turn of a call, which comes when each call before it in its queue was settled. `call`: before the event. */
  readonly judge: (event: JudgedEvent, call: CallState) => Judgement;
  /** Takes a call after an event. */
  readonly take: (call: CallState) => void;
  /** An event of a stream cannot be read: nothing waits for its call any more. */
  readonly lose: (stream: string) => void;
}

/** Queues with no call yet. `isWhole`: false where the calls before one may not be shown. */
export function createQueues(isWhole: boolean): Queues {
  const queues = new Map<string, Set<string>>();
  const leave = (queue: string, callId: string): void => {
    const calls = queues.get(queue);
    calls?.delete(callId);
    if (calls?.size === 0) queues.delete(queue);
  };
  return {
    judge: ({ type }, { queued, request }) => {
      const isTurn = queued !== null && (type === 'ToolCallAllowed' || type === 'ApprovalRequested');
      if (!isTurn) return nothing;
      if (!isWhole) return { illegal: [], unproven: ['turn-order'] };
      const [first = request.callId] = queues.get(queueOf(request)) ?? [];
      if (first === request.callId) return nothing;
      return { illegal: [illegal('turn', `the call ${first} before it in its queue was not settled`)], unproven: [] };
    },
    take: ({ request, queued, permission, execution }) => {
      if (request.batchMode !== 'sequential') return;
      const queue = queueOf(request);
      // What was settled once holds no turn again, also where a person lets it run once more.
      if (isSettled({ permission, execution })) leave(queue, request.callId);
      else if (queued !== null) queues.set(queue, (queues.get(queue) ?? new Set()).add(request.callId));
    },
    lose: (stream) => {
      for (const queue of queues.keys()) leave(queue, stream.slice('toolCall-'.length));
    },
  };
}

const nothing: Judgement = { illegal: [], unproven: [] };

function queueOf({ requestedBy, runId, parent }: CallState['request']): string {
  return JSON.stringify([requestedBy, runId, parent]);
}

/** It ended without a run, or its run ended, or nobody knows how that ended. */
function isSettled({ permission, execution: { status } }: Pick<CallState, 'permission' | 'execution'>): boolean {
  const mayRun = permission === 'allowed' || permission === 'approved';
  return mayRun ? status === 'ended' || status === 'unknown' : permission !== 'awaiting';
}
