import type { RequestToolCalls } from '@countersign/contracts';
import type { HeardEvent } from './heard-event.js';

/** The recording of a request, as the events topic tells it. */
export interface Recording {
  /** Returns whether the verdict about each call was heard, so that a look at the ledger finds them all. */
  readonly hear: (event: HeardEvent) => boolean;
}

/** A sequential call has its verdict when it is queued, and perhaps its turn only after this request has ended. */
const verdictTypes = new Set(['ToolCallAllowed', 'ToolCallBlocked', 'ToolCallQueued', 'ApprovalRequested']);

/** Hears the events about the calls of one request. A forged one causes a look at the ledger, and nothing else. */
export function createRecording(body: RequestToolCalls): Recording {
  const missing = new Set(body.calls.map(({ toolCallId }) => toolCallId));
  return {
    hear: ({ type, toolCallId }) => {
      if (verdictTypes.has(type)) missing.delete(toolCallId);
      return missing.size === 0;
    },
  };
}
