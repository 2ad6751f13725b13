import type { RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * Sequential calls of one principal, one run and one parent take their turn in the order in which the log has them: a call
 * is allowed, or people are asked, only when every call that was queued before it is settled.
 */
export const turns: CreateChecker = (site, fail) => {
  /** By queue, the calls that wait or have their turn, in order. */
  const queues = new Map<string, string[]>();
  const queueOf = (callId: string): string[] => {
    const [requested] = eventsOf(site, callId);
    if (requested === undefined) throw new Error(`${callId} has no request`);
    const chain = at(requested, 'chain') as readonly { readonly callId: string }[] | undefined;
    const key = JSON.stringify([at(requested, 'requestedBy'), at(requested, 'runId'), chain?.at(-1)?.callId]);
    const queue = queues.get(key) ?? [];
    queues.set(key, queue);
    return queue;
  };
  const isSequential = (callId: string): boolean => {
    const [requested] = eventsOf(site, callId);
    return requested !== undefined && at(requested, 'batchMode') === 'sequential';
  };
  return {
    onRecorded: (event) => {
      const { callId } = event.metadata;
      if (callId === null || !isSequential(callId)) return;
      const queue = queueOf(callId);
      if (event.type === 'ToolCallQueued' && !queue.includes(callId)) queue.push(callId);
      if (turn.has(event.type) && queue[0] !== callId) {
        fail(`${callId} has its turn by ${event.type} before ${String(queue[0])} is settled`);
      }
      if (settles(event, eventsOf(site, callId)))
        queue.splice(0, queue.length, ...queue.filter((one) => one !== callId));
    },
    atEnd: () => {
      for (const [queue, calls] of queues) if (calls.length > 0) fail(`${calls.join(' ')} still wait in ${queue}`);
    },
  };
};

const turn = new Set(['ToolCallAllowed', 'ApprovalRequested']);
const ends = new Set([
  ...['ToolCallBlocked', 'ToolCallCancelled', 'ApprovalExpired', 'ApprovalLapsed'],
  ...['ExecutionSucceeded', 'ExecutionFailed', 'ExecutionOutcomeUnknown'],
]);

function settles(event: RecordedEvent, events: readonly RecordedEvent[]): boolean {
  if (event.type !== 'ApprovalResponded') return ends.has(event.type);
  const resolution = at(event, 'resolution');
  return resolution === 'denied' || (resolution === 'approved' && isAboutAnswer(event, events));
}

/** A vote for an answer that another person gave ends the call as that answer does: no tool runs. */
function isAboutAnswer(response: RecordedEvent, events: readonly RecordedEvent[]): boolean {
  return events.some(
    (event) =>
      event.type === 'ApprovalResponded' &&
      at(event, 'approvalId') === at(response, 'approvalId') &&
      at(event, 'proposal') === at(response, 'proposal') &&
      (at(event, 'decision') as { readonly type: string }).type === 'answer',
  );
}
