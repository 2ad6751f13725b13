import type { EventView, LogEventView } from '@countersign/contracts';
import type { StreamListener, StreamOptions } from '@countersign/react/parts';
import { ourHeaders } from './http.js';

const retryMs = 1500;

/**
 * Follows the recorded events. Reconnects and continues after the last received event, without gaps or duplicates.
 * Returns a function that ends it.
 */
export function followEvents(options: StreamOptions, listener: StreamListener): () => void {
  let source: EventSource | undefined;
  let retry: ReturnType<typeof setTimeout> | undefined;
  let after = options.after;
  let isOver = false;
  let isRestored = false;
  const types = [...options.types, 'unreadable'];

  const open = (): void => {
    if (isOver) return;
    source?.close();
    const { callId, runId } = options;
    const query = new URLSearchParams({
      after: String(after),
      types: types.join(),
      ...(callId !== undefined && { callId }),
      ...(runId !== undefined && { runId }),
    });
    const url = `/v1/events?${query.toString()}`;
    // An `EventSource` does not tell why it was refused. A position of the future is one of a log that was put back.
    const reopen = async (): Promise<void> => {
      const asked = await fetch(url, { method: 'HEAD', headers: ourHeaders() }).catch(() => undefined);
      if (asked?.status === 409) {
        after = 'now';
        isRestored = true;
      }
      open();
    };
    source = new EventSource(url);
    source.onopen = () => {
      listener.onConnection?.('live');
      if (isRestored) listener.onRestored?.();
      isRestored = false;
    };
    source.onerror = () => {
      listener.onConnection?.('lost');
      // The browser reconnects after a broken connection, but not after a response that is not a stream.
      if (source?.readyState !== EventSource.CLOSED) return;
      listener.onRefused?.();
      clearTimeout(retry);
      retry = setTimeout(() => void reopen(), retryMs);
    };
    for (const type of types) {
      source.addEventListener(type, ({ data }: MessageEvent<string>) => {
        const event = JSON.parse(data) as LogEventView;
        after = event.position;
        if (event.data) listener.onEvent(event as EventView);
        else listener.onUnreadable?.(event);
      });
    }
  };
  const onOffline = (): void => {
    listener.onConnection?.('lost');
    // A connection through a network that is gone may seem alive for minutes.
    source?.close();
  };
  window.addEventListener('offline', onOffline);
  window.addEventListener('online', open);
  open();
  return () => {
    isOver = true;
    clearTimeout(retry);
    window.removeEventListener('offline', onOffline);
    window.removeEventListener('online', open);
    source?.close();
  };
}
