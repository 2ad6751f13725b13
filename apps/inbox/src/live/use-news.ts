import { useEffect } from 'react';
import { callEventTypes } from '../api/call-events.js';
import { followEvents } from '../api/event-stream.js';

/**
 * Calls `onNews` at everything that is recorded about a call or a run; and once when the stream opens, so that nothing is
 * missed between the first look and then.
 */
export function useNews({ callId, runId }: { callId?: string; runId?: string }, onNews: () => void): void {
  useEffect(() => {
    const of = { ...(callId !== undefined && { callId }), ...(runId !== undefined && { runId }) };
    const onConnection = (connection: string): void => {
      if (connection === 'live') onNews();
    };
    return followEvents(
      { after: 'now', types: callEventTypes, ...of },
      { onEvent: onNews, onUnreadable: onNews, onConnection },
    );
  }, [callId, runId, onNews]);
}
