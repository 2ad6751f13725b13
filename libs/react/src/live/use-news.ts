import { useEffect } from 'react';
import { callEventTypes } from '../client/event-types.js';
import { repeatWhileVisible } from './repeat.js';
import { useClient } from './use-client.js';

const everyMs = 4000;

/**
 * Calls `onNews` at everything that is recorded about a call or a run; and once when the stream opens, so that nothing is
 * missed between the first look and then. Without a stream it calls it every few seconds, until `isOver`.
 */
export function useNews(
  { callId, runId, isOver = false }: { callId?: string; runId?: string; isOver?: boolean },
  onNews: () => void,
): void {
  const { events } = useClient();
  const isAsking = events === undefined && !isOver;
  useEffect(() => (isAsking ? repeatWhileVisible(everyMs, onNews) : undefined), [isAsking, onNews]);
  useEffect(() => {
    const of = { ...(callId !== undefined && { callId }), ...(runId !== undefined && { runId }) };
    const onConnection = (connection: string): void => {
      if (connection === 'live') onNews();
    };
    return events?.follow(
      { after: 'now', types: callEventTypes, ...of },
      { onEvent: onNews, onUnreadable: onNews, onConnection },
    );
  }, [events, callId, runId, onNews]);
}
