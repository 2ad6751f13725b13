import { setImmediate } from 'node:timers/promises';
import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { Applied } from '@countersign/read-model';

/** Where a stream of events is written to: a socket, seen as little as possible. */
export interface EventSink {
  /** False: it is full; `onDrain` says when it is not. */
  readonly write: (text: string) => boolean;
  readonly onDrain: (listener: () => void) => void;
  readonly onClose: (listener: () => void) => void;
  readonly end: () => void;
}

/** What every reader knows of the log: how far the views show it, and what they were told last. */
export interface News {
  /** The position that every read shows. */
  head: number;
  /** The events after `from`, up to `head`. */
  last: { readonly from: number; readonly applied: Applied } | undefined;
}

/** What one reader needs. */
export interface EventReaderOptions {
  readonly store: Pick<EventStore, 'readAll'>;
  readonly news: Readonly<News>;
  readonly sink: EventSink;
  /** The last event that it has seen. */
  readonly position: number;
  /**
   * Everything recorded that this reader can want, at least up to `news.head`, in order: so that it need not look through
   * the whole log for it. Undefined: it does look.
   */
  readonly readWanted?: (() => Promise<readonly RecordedEvent[]>) | undefined;
  /** The text of an event, or null when this reader does not want it. */
  readonly frameOf: (event: RecordedEvent) => string | null;
  readonly monotonic: () => number;
}

/** One reader of the log, which is written to as fast as it reads. */
export interface EventReader {
  /** Writes until it is closed. @throws whatever the store throws. */
  readonly run: () => Promise<void>;
  /** There is news. */
  readonly wake: () => void;
  /** How long its socket has been full; 0 while it is not. */
  readonly fullMs: () => number;
  readonly close: () => void;
}

const pageSize = 100;
/** Tells a reader that it has all that was recorded when it came; what follows is live. Other readers pass over comments. */
const caughtUp = ': caught up\n\n';

/**
 * A reader that is up to date shares the events that were just applied with all others; one that is behind, or whose
 * socket is full, holds nothing but its position and reads the store when its turn comes.
 */
export function createEventReader(options: EventReaderOptions): EventReader {
  const { news, sink, monotonic } = options;
  let { position } = options;
  let isClosed = false;
  let hasCaughtUp = false;
  let fullSince: number | null = null;
  let resume: () => void = () => undefined;

  const nextEvents = async (): Promise<readonly RecordedEvent[]> => {
    const { head, last } = news;
    const seen = position;
    if (last !== undefined && seen >= last.from) {
      position = head;
      return last.applied.events.filter((event) => event.position > seen);
    }
    if (options.readWanted !== undefined) {
      const wanted = await options.readWanted();
      position = head;
      return wanted.filter((event) => event.position > seen && event.position <= head);
    }
    const page = await options.store.readAll(seen, pageSize);
    // Many pages may hold nothing for this reader: others get their turn in between.
    await setImmediate();
    // What reads do not show yet is not told either.
    const shown = page.filter((event) => event.position <= head);
    const isEnd = page.length < pageSize || shown.length < page.length;
    position = isEnd ? head : (page.at(-1)?.position ?? head);
    return shown;
  };
  const untilResumed = (): Promise<void> =>
    new Promise((resolve) => {
      resume = resolve;
    });
  const write = async (text: string): Promise<void> => {
    if (sink.write(text)) return;
    fullSince = monotonic();
    sink.onDrain(() => {
      fullSince = null;
      resume();
    });
    await untilResumed();
  };

  return {
    run: async () => {
      while (!closed()) {
        if (position >= news.head) {
          if (!hasCaughtUp) {
            hasCaughtUp = true;
            await write(caughtUp);
          } else await untilResumed();
          continue;
        }
        for (const event of await nextEvents()) {
          const text = options.frameOf(event);
          if (text !== null) await write(text);
          if (closed()) return;
        }
      }
    },
    wake: () => {
      // News is not for a reader whose socket is full.
      if (fullSince === null) resume();
    },
    fullMs: () => (fullSince === null ? 0 : monotonic() - fullSince),
    close: () => {
      isClosed = true;
      resume();
      sink.end();
    },
  };

  function closed(): boolean {
    return isClosed;
  }
}
