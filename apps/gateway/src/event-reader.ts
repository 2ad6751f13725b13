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
  /** Does a piece of the work of catching up when it is this reader's turn. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
  /** A promise when other requests should be answered before the next event; shared by all readers. */
  readonly breathe: () => Promise<void> | undefined;
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

/** Pages grow as long as the socket takes them whole: the first of a log of large events must not take long. */
const [pageSizeMin, pageSizeMax] = [10, 100];
/** Tells a reader that it has all that was recorded when it came; what follows is live. Other readers pass over comments. */
const caughtUp = ': caught up\n\n';

/**
 * A reader that is up to date shares the events that were just applied with all others; one that is behind, or whose
 * socket is full, holds nothing but its position and reads the store when its turn comes.
 */
export function createEventReader(options: EventReaderOptions): EventReader {
  const { store, news, sink, monotonic, breathe } = options;
  let { position } = options;
  let isClosed = false;
  let hasCaughtUp = false;
  let fullSince: number | null = null;
  let resume: () => void = () => undefined;
  let pageSize = pageSizeMin;

  const untilResumed = (): Promise<void> =>
    new Promise((resolve) => {
      resume = resolve;
    });
  /** False: the socket is full now. */
  const write = (text: string): boolean => {
    if (sink.write(text)) return true;
    fullSince = monotonic();
    sink.onDrain(() => {
      fullSince = null;
      resume();
    });
    return false;
  };
  /**
   * Writes those that this reader has not seen, and is then at `end`. When the socket is full it stops, and the rest is read
   * again later: a reader that takes nothing must not keep a page of large events in memory.
   */
  const writeAll = async (events: readonly RecordedEvent[], end: number): Promise<number> => {
    let taken = 0;
    for (const event of events) {
      if (event.position <= position) continue;
      const breath = breathe();
      if (breath !== undefined) await breath;
      if (closed()) return taken;
      const text = options.frameOf(event);
      position = event.position;
      taken += 1;
      if (text !== null && !write(text)) return taken;
    }
    position = Math.max(position, end);
    return taken;
  };
  const writePage = async (): Promise<void> => {
    const { head } = news;
    if (closed()) return;
    if (options.readWanted !== undefined) {
      const wanted = await options.readWanted();
      await writeAll(
        wanted.filter((event) => event.position <= head),
        head,
      );
      return;
    }
    const page = await store.readAll(position, pageSize);
    // What reads do not show yet is not told either.
    const shown = page.filter((event) => event.position <= head);
    const isEnd = page.length === 0 || shown.length < page.length;
    const taken = await writeAll(shown, isEnd ? head : (page.at(-1)?.position ?? head));
    pageSize = fullSince === null ? Math.min(pageSizeMax, pageSize * 2) : Math.max(1, taken);
  };
  const writeNext = async (): Promise<void> => {
    const { head, last } = news;
    if (last !== undefined && position >= last.from) await writeAll(last.applied.events, head);
    else await options.inTurn(writePage);
  };

  return {
    run: async () => {
      while (!closed()) {
        if (fullSince !== null) await untilResumed();
        else if (position < news.head) await writeNext();
        else if (hasCaughtUp) await untilResumed();
        else {
          hasCaughtUp = true;
          write(caughtUp);
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
