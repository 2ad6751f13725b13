import type { EventView, LogEventView } from '@countersign/contracts';

/** The state of the event stream. */
export type Connection = 'connecting' | 'live' | 'lost';

/** Selects the events, and where to start. */
export interface StreamOptions {
  readonly after: number | 'now';
  readonly types: readonly string[];
  readonly callId?: string;
  readonly runId?: string;
}

/** The callbacks of a stream. */
export interface StreamListener {
  readonly onEvent: (event: EventView) => void;
  /** An event that the server cannot read, of any type: its data are null. */
  readonly onUnreadable?: (event: LogEventView) => void;
  readonly onConnection?: (connection: Connection) => void;
  /** The server refuses the stream: the session has ended, or the server was replaced. */
  readonly onRefused?: () => void;
}

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
    source = new EventSource(`/v1/events?${query.toString()}`);
    source.onopen = () => listener.onConnection?.('live');
    source.onerror = () => {
      listener.onConnection?.('lost');
      // The browser reconnects after a broken connection, but not after a response that is not a stream.
      if (source?.readyState !== EventSource.CLOSED) return;
      listener.onRefused?.();
      clearTimeout(retry);
      retry = setTimeout(open, retryMs);
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
