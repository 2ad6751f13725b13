import { toolCallEventTypes } from '@countersign/contracts';
import type { LogEvent, RecordedEvent } from '@countersign/contracts';

/** The streams of calls and grants that may be open at the end of what was taken. */
export interface OpenStreams {
  readonly take: (event: RecordedEvent) => void;
  readonly callIds: () => readonly string[];
  readonly grantStreams: () => readonly string[];
}

const ofCalls: ReadonlySet<string> = new Set(toolCallEventTypes);
const ends: ReadonlySet<string> = new Set([
  ...['ToolCallBlocked', 'ToolCallCancelled', 'ApprovalExpired', 'ApprovalLapsed'],
  ...['ExecutionSucceeded', 'ExecutionFailed'],
]);
/** Events that begin or continue what had ended. */
const begins: ReadonlySet<string> = new Set([
  ...['ToolCallRequested', 'ToolCallQueued', 'ApprovalRequested', 'ResponseWithdrawn'],
]);

/**
 * Keeps what may be open, so that only their streams are read again. A stream that has ended may be among them; one that is
 * open always is.
 */
export function createOpenStreams(): OpenStreams {
  const calls = new Set<string>();
  const grants = new Set<string>();
  return {
    take: (event) => {
      const { type, stream } = event;
      if (type.startsWith('Grant') && type !== 'GrantUsed') {
        if (type === 'GrantRevoked') grants.delete(stream);
        else grants.add(stream);
      }
      const { callId } = event.metadata;
      if (callId === null || !ofCalls.has(type)) return;
      if (ends.has(type) || isDenial(event)) calls.delete(callId);
      else if (begins.has(type)) calls.add(callId);
    },
    callIds: () => [...calls],
    grantStreams: () => [...grants],
  };
}

function isDenial({ type, data }: LogEvent & RecordedEvent): boolean {
  return type === 'ApprovalResponded' && (data as { readonly resolution?: unknown }).resolution === 'denied';
}
