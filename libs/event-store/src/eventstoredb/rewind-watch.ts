import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { EventStoreRewoundError } from '../event-store.js';

/** Notices a log that was put back to an older state under a running process, whose replica is ahead of it from then on. */
export interface RewindWatch {
  /** An event at this position was read. */
  readonly saw: (position: number) => void;
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
  /** The end of the log if it lies before an end that was seen earlier. */
  const endBefore = async (seen: number): Promise<number | undefined> => {
    const end = await head().catch(() => undefined);
    if (end === undefined) return undefined;
    newest = Math.max(newest, end);
    return end < seen ? end : undefined;
  };
  const run = async (): Promise<void> => {
    for (;;) {
      await sleep(clock, everyMs, closing);
      if (closing.aborted) return;
      const seen = newest;
      if ((await endBefore(seen)) === undefined) continue;
      await sleep(clock, confirmAfterMs, closing);
      const end = await endBefore(seen);
      if (end === undefined) continue;
      why =
        `the log of the event store was put back to an older state: it ends at position ${String(end)}, and position ` +
        `${String(seen)} was seen. Nothing is written; docs/operations.md says how to go on`;
      log.error({ end, seen }, why);
      return;
    }
  };
  void run();
  return {
    saw: (position) => {
      newest = Math.max(newest, position);
    },
    check: () => {
      if (why !== undefined) throw new EventStoreRewoundError(why);
    },
    why: () => why,
  };
}
