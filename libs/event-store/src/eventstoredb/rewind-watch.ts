import type { LogEvent } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { EventStoreRewoundError } from '../event-store.js';
import type { Reads } from './reads.js';

/** An event that was read or written, by its place in the log. */
export type SeenEvent = Pick<LogEvent, 'position' | 'eventId'>;

/** What is known of the log: its end, and the last event of it that was seen. */
export interface KnownLog {
  readonly end: number;
  readonly last: SeenEvent | undefined;
}

/** Notices a log that was put back to an older state under a running process, whose replica is ahead of it from then on. */
export interface RewindWatch {
  readonly saw: (event: SeenEvent) => void;
  /** The log does not have the event any more that was read at this position: nothing is written from now on. */
  readonly lost: (position: number) => void;
  readonly known: () => KnownLog;
  /**
   * Returns undefined if the log still has what was known of it, else why nothing may be granted. Ask it where an append was recorded
   * before an event that was seen earlier: that is a repeat, or the log was put back since.
   */
  readonly doubtOf: (known: KnownLog) => Promise<string | undefined>;
  /** @throws EventStoreRewoundError once it was noticed. */
  readonly check: () => void;
  /** Why nothing may be written; undefined: nothing is wrong. */
  readonly why: () => string | undefined;
}

/** One look may meet a server in the middle of a restore. It is repeated after this time. */
const confirmAfterMs = 500;

/** Looks every now and then whether the log still has what was seen of it, until it was found that it has not. */
export function watchForRewind(ports: {
  readonly clock: Clock;
  readonly log: Log;
  readonly closing: AbortSignal;
  readonly everyMs: number;
  readonly reads: Pick<Reads, 'head' | 'idAt'>;
}): RewindWatch {
  const { clock, log, closing, everyMs, reads } = ports;
  let known: KnownLog = { end: 0, last: undefined };
  let why: string | undefined;
  const notice = (what: string, fields: Readonly<Record<string, number>>): void => {
    if (why !== undefined) return;
    why =
      `the log of the event store was put back to an older state: ${what}. Nothing is written; ` +
      'docs/operations.md says how to go on';
    log.error(fields, why);
  };
  const lost = (seen: number): void => {
    notice(`the event at position ${String(seen)} was seen, and is not there any more`, { seen });
  };
  /** Looks once. Returns what is missing, as the call that notices it. */
  const missing = async ({ end: seen, last }: KnownLog): Promise<(() => void) | undefined> => {
    const end = await reads.head();
    known = { ...known, end: Math.max(known.end, end) };
    if (end < seen) {
      return () => {
        notice(`it ends at position ${String(end)}, and position ${String(seen)} was seen`, { end, seen });
      };
    }
    // Attack: it has grown past what was seen, so that its end does not tell it.
    if (last === undefined || (await reads.idAt(last.position)) === last.eventId) return undefined;
    return () => {
      lost(last.position);
    };
  };
  /** Looks twice. @throws as a read */
  const lookBack = async (seen: KnownLog): Promise<void> => {
    if ((await missing(seen)) === undefined) return;
    await sleep(clock, confirmAfterMs, closing);
    (await missing(seen))?.();
  };
  const run = async (): Promise<void> => {
    while (why === undefined) {
      await sleep(clock, everyMs, closing);
      if (closing.aborted) return;
      await lookBack(known).catch(() => undefined);
    }
  };
  void run();
  return {
    saw: ({ position, eventId }) => {
      if (position <= (known.last?.position ?? 0)) return;
      known = { end: Math.max(known.end, position), last: { position, eventId } };
    },
    lost,
    known: () => known,
    doubtOf: async (seen) => {
      try {
        await lookBack(seen);
        return why;
      } catch {
        return 'an event was recorded before others that were seen earlier, and the event store cannot be read to tell why';
      }
    },
    check: () => {
      if (why !== undefined) throw new EventStoreRewoundError(why);
    },
    why: () => why,
  };
}
