import type { LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { Applied } from '@countersign/read-model';

/** The target of a stream: the few socket operations that it needs. */
export interface EventSink {
  /** False: the buffer is full; `onDrain` reports when it is empty again. */
  readonly write: (text: string) => boolean;
  readonly onDrain: (listener: () => void) => void;
  readonly onClose: (listener: () => void) => void;
  readonly end: () => void;
}

/** Shared by all readers: how far the read model is, and the last events that were sent. */
export interface News {
  /** The position that every read shows. */
  head: number;
  /** The events after `from`, up to `head`. */
  last: { readonly from: number; readonly applied: Applied } | undefined;
}

/** The dependencies of one reader. */
export interface EventReaderOptions {
  readonly store: Pick<EventStore, 'readAll'>;
  readonly news: Readonly<News>;
  readonly sink: EventSink;
  /** The last event that it has seen, or any place before the next one. */
  readonly position: number;
  /** Where the store is read from: 0 or the position of an event, and not after `position`. */
  readonly readFrom: number;
  /**
   * Everything recorded that this reader can want, at least up to `news.head`, in order: so that it need not look through
   * the whole log for it. Undefined: it does look.
   */
  readonly readWanted?: (() => Promise<readonly LogEvent[]>) | undefined;
  /** The text of an event, or null when this reader does not want it. */
  readonly frameOf: (event: LogEvent) => string | null;
  readonly monotonic: () => number;
  /** Does a piece of the work of catching up when it is this reader's turn. */
  readonly inTurn: (work: () => Promise<void>) => Promise<void>;
  /** Returns a promise when other requests should run before the next event. All readers share it. */
  readonly breathe: () => Promise<void> | undefined;
}

/** One reader of the log, written to as fast as its client reads. */
export interface EventReader {
  /** Writes until it is closed. @throws the store's error. */
  readonly run: () => Promise<void>;
  /** There is news. */
  readonly wake: () => void;
  /** How long its socket has been full, in ms; 0 while it is not. */
  readonly fullMs: () => number;
  readonly close: () => void;
}

/** Pages grow while the socket accepts them whole: the first page of a log of large events must be fast. */
const [pageSizeMin, pageSizeMax] = [10, 100];
/** Sends a comment that marks the end of the history; what follows is live. Other clients ignore comments. */
const caughtUp = ': caught up\n\n';

/**
 * A reader that is up to date shares the just applied events with all others. One that lags, or whose socket is full,
 * keeps only its position and reads the store later.
 */
export function createEventReader(options: EventReaderOptions): EventReader {
  const { store, news, sink, monotonic, breathe } = options;
  let { position, readFrom } = options;
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
   * Writes the events that this reader has not received, up to `end`. It stops when the socket is full and reads the
   * rest again later, so that a slow reader keeps no page of large events in memory.
   */
  const writeAll = async (events: readonly LogEvent[], end: number): Promise<number> => {
    let taken = 0;
    for (const event of events) {
      if (event.position <= position) {
        readFrom = Math.max(readFrom, event.position);
        continue;
      }
      const breath = breathe();
      if (breath !== undefined) await breath;
      if (closed()) return taken;
      const text = options.frameOf(event);
      position = readFrom = event.position;
      taken += 1;
      if (text !== null && !write(text)) return taken;
    }
    position = Math.max(position, end);
    readFrom = Math.max(readFrom, end);
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
    const page = await store.readAll(readFrom, pageSize);
    // Events that reads do not show yet are not sent.
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
