import type { RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from './checker.ts';
import type { CreateChecker } from './checker.ts';

/**
 * In an all-or-nothing batch, either members run, or members end without a run, never both. Its stream has one event.
 * The checker reads the streams of the calls, independent of the stream of the batch.
 */
export const batchFate: CreateChecker = (site, fail) => {
  const siblingsOf = (callId: string): readonly string[] => {
    const [requested] = eventsOf(site, callId);
    if (requested === undefined || at(requested, 'batchMode') !== 'all-or-nothing') return [];
    return (at(requested, 'batchCallIds') as string[]).filter((one) => one !== callId);
  };
  const member = (event: RecordedEvent, callId: string): void => {
    if (begins(event)) {
      for (const sibling of siblingsOf(callId)) {
        const end = endOf(eventsOf(site, sibling));
        if (end !== undefined) fail(`${callId} runs although its sibling ${sibling} has ended by ${end.type}`);
      }
    }
    if (ends(event)) {
      for (const sibling of siblingsOf(callId)) {
        if (eventsOf(site, sibling).some(begins)) {
          fail(`${callId} ends by ${event.type} although its sibling ${sibling} has begun`);
        }
      }
    }
  };
  return {
    onRecorded: (event) => {
      const { callId } = event.metadata;
      if (callId !== null) member(event, callId);
      else if (event.stream.startsWith('batch-') && event.revision > 0) {
        fail(`${event.stream} holds a second word, ${event.type}`);
      }
    },
  };
};

function begins(event: RecordedEvent): boolean {
  const isOutput = event.type === 'ExecutionSucceeded' || event.type === 'ExecutionFailed';
  return event.type === 'ExecutionClaimed' || (isOutput && at(event, 'executedBy') === 'client');
}

const endings = new Set(['ToolCallBlocked', 'ApprovalExpired', 'ApprovalLapsed', 'ToolCallCancelled']);

function ends(event: RecordedEvent): boolean {
  return endings.has(event.type) || (event.type === 'ApprovalResponded' && at(event, 'resolution') === 'denied');
}

/** The end of a call; none when people were asked again afterwards. */
function endOf(events: readonly RecordedEvent[]): RecordedEvent | undefined {
  const last = events.findLast((event) => ends(event) || event.type === 'ApprovalRequested');
  return last !== undefined && ends(last) ? last : undefined;
}
