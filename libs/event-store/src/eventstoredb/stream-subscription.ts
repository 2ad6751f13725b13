import type { ClientEvent, ClientItem, ClientPosition, ClientSubscription } from './client.js';

/** The used part of a readable stream of objects. */
export interface ObjectStream {
  readonly readableLength: number;
  readonly read: () => unknown;
  readonly on: (event: string | symbol, listener: (...args: unknown[]) => void) => unknown;
}

/** The parts of a vendor's subscription. */
export interface StreamSubscriptionParts {
  /** Events, one object each; it emits `caughtUp`. */
  readonly stream: ObjectStream;
  /** The event in one object of the stream; undefined for a link to a deleted event. */
  readonly toEvent: (read: unknown) => ClientEvent | undefined;
  readonly cancel: () => Promise<void>;
}

/** A subscription, and the way in for its checkpoints. */
export interface StreamSubscription extends ClientSubscription {
  readonly checkpointReached: (position: ClientPosition) => void;
}

/** A subscription over the object stream that both generations of the vendor's client make. */
export function createStreamSubscription(open: () => StreamSubscriptionParts): StreamSubscription {
  const parts = open();
  const { stream } = parts;
  let taken = 0;
  let ended: { readonly cause: unknown } | undefined;
  let arrived: (() => void) | undefined;
  // Signals overtake the events in the stream's buffer, so each signal is held until those are read. Otherwise a
  // checkpoint would be a gap after the next reconnection, and "caught up" would be false.
  const marks: { readonly at: number; readonly item: ClientItem }[] = [];

  const wake = (): void => {
    const call = arrived;
    arrived = undefined;
    call?.();
  };
  const mark = (item: ClientItem): void => {
    marks.push({ at: taken + stream.readableLength, item });
    wake();
  };
  const end = (cause: unknown): void => {
    ended ??= { cause };
    wake();
  };
  // Stays registered: an unhandled error event ends the process, and one may come after the stop.
  stream.on('error', end);
  stream.on('end', () => {
    end(new Error('the server ended the subscription'));
  });
  stream.on('close', () => {
    end(new Error('the subscription was closed'));
  });
  stream.on('readable', wake);
  stream.on('caughtUp', () => {
    mark({ kind: 'caught-up' });
  });

  const hasMore = (): boolean => stream.readableLength > 0 || marks.length > 0;
  const next = (): ClientItem | undefined => {
    for (;;) {
      if ((marks[0]?.at ?? Infinity) <= taken) return marks.shift()?.item;
      const read: unknown = stream.read();
      if (read === null) return undefined;
      taken += 1;
      const event = parts.toEvent(read);
      if (event !== undefined) return { kind: 'event', event };
    }
  };
  return {
    take: (max) => {
      const items: ClientItem[] = [];
      for (let item = next(); item !== undefined; item = next()) {
        items.push(item);
        if (items.length === max) break;
      }
      if (items.length === 0 && ended !== undefined) throw ended.cause;
      return items;
    },
    hasMore,
    onArrival: (call) => {
      arrived = call;
      if (hasMore() || ended !== undefined) wake();
      return () => {
        if (arrived === call) arrived = undefined;
      };
    },
    checkpointReached: (position) => {
      mark({ kind: 'checkpoint', position });
    },
    stop: () => {
      // It waits for a connection that may never come. Its result is ignored.
      parts.cancel().catch(() => undefined);
    },
  };
}
