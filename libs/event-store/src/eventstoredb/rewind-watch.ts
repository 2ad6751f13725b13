import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { EventStoreRewoundError } from '../event-store.js';

/** Notices a log that was put back to an older state under a running process, whose replica is ahead of it from then on. */
export interface RewindWatch {
  /** An event at this position was read or written. */
  readonly saw: (position: number) => void;
  /** The last position that was seen. */
  readonly newest: () => number;
  /**
   * Returns undefined if the log still ends at `seen` or after it, else why nothing may be granted. Ask it where an append was recorded
   * before an event that was seen earlier: that is a repeat, or the log was put back since.
   */
  readonly doubtOf: (seen: number) => Promise<string | undefined>;
  /** @throws EventStoreRewoundError once it was noticed. */
  readonly check: () => void;
  /** Why nothing may be written; undefined: nothing is wrong. */
  readonly why: () => string | undefined;
}

/** One look may meet a server in the middle of a restore. It is repeated after this time. */
const confirmAfterMs = 500;

/** Compares the end of the log with what was seen of it, every now and then, until it was found to end before. */
export function watchForRewind(ports: {
  readonly clock: Clock;
  readonly log: Log;
  readonly closing: AbortSignal;
  readonly everyMs: number;
  readonly head: () => Promise<number>;
}): RewindWatch {
  const { clock, log, closing, everyMs, head } = ports;
  let newest = 0;
  let why: string | undefined;
  /** The end of the log; undefined: it cannot be read now. */
  const endNow = async (): Promise<number | undefined> => {
    const end = await head().catch(() => undefined);
    newest = Math.max(newest, end ?? 0);
    return end;
  };
  /** Looks twice whether the log ends before an end that was seen earlier. Returns undefined where that is not known. */
  const lookBack = async (seen: number): Promise<'behind' | 'sound' | undefined> => {
    const first = await endNow();
    if (first === undefined || first >= seen) return first === undefined ? undefined : 'sound';
    await sleep(clock, confirmAfterMs, closing);
    const end = await endNow();
    if (end === undefined || end >= seen) return end === undefined ? undefined : 'sound';
    if (why !== undefined) return 'behind';
    why =
      `the log of the event store was put back to an older state: it ends at position ${String(end)}, and position ` +
      `${String(seen)} was seen. Nothing is written; docs/operations.md says how to go on`;
    log.error({ end, seen }, why);
    return 'behind';
  };
  const run = async (): Promise<void> => {
    while (why === undefined) {
      await sleep(clock, everyMs, closing);
      if (closing.aborted) return;
      await lookBack(newest);
    }
  };
  void run();
  return {
    saw: (position) => {
      newest = Math.max(newest, position);
    },
    newest: () => newest,
    doubtOf: async (seen) => {
      if ((await lookBack(seen)) === 'sound') return undefined;
      return why ?? 'an event was recorded before others that were seen earlier, and the end of the log cannot be read';
    },
    check: () => {
      if (why !== undefined) throw new EventStoreRewoundError(why);
    },
    why: () => why,
  };
}
