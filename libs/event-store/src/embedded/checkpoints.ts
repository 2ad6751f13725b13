import { setImmediate } from 'node:timers';
import type { Clock, Log } from '@countersign/runtime';
import type { LogFile } from './log-file.js';
import { isSqliteError, messageOf, sqliteCodes } from './sqlite-errors.js';
import type { WriteGuard } from './write-guard.js';

/** Moves the write-ahead log into the main file, now and then. */
export interface Checkpoints {
  readonly afterCommit: () => void;
  /** Marks the log as closed and empties the write-ahead log, before the file is closed. */
  readonly last: () => void;
  readonly count: () => number;
}

/** 8 MB. Larger, a checkpoint holds the event loop for too long; smaller, its two or three flushes count. */
const walFramesMax = 2048;
const retryMs = 2000;

/** Checkpoints on an opened log. */
export function createCheckpoints(ports: {
  readonly logFile: LogFile;
  readonly guard: WriteGuard;
  readonly clock: Clock;
  readonly log: Log;
}): Checkpoints {
  const { logFile, guard, clock, log } = ports;
  let [count, notBefore] = [0, 0];
  let isScheduled = false;

  const failed = (error: unknown): void => {
    notBefore = clock.monotonic() + retryMs;
    if (isSqliteError(error, sqliteCodes.full, sqliteCodes.busy)) {
      log.warn({ error }, 'the write-ahead log could not be moved into the main file, and grows');
      return;
    }
    // A failed flush is not retried, the same as with a commit.
    guard.broken(`a write to the log failed (${messageOf(error)}): restart the process`);
    log.error({ error }, 'the event store is unavailable: a checkpoint failed');
  };
  const isDue = (): boolean => {
    if (isScheduled || clock.monotonic() < notBefore || guard.health().status === 'unavailable') return false;
    try {
      return logFile.walFrames() >= walFramesMax;
    } catch (error) {
      failed(error);
      return false;
    }
  };
  const run = (): void => {
    isScheduled = false;
    if (guard.health().status === 'unavailable') return;
    try {
      logFile.checkpoint('PASSIVE');
      count += 1;
    } catch (error) {
      failed(error);
    }
  };
  return {
    count: () => count,
    afterCommit: () => {
      if (!isDue()) return;
      isScheduled = true;
      // In its own turn of the event loop: acknowledged writers do not wait for it.
      setImmediate(run);
    },
    last: () => {
      if (guard.health().status === 'unavailable') return;
      try {
        logFile.markClosed();
        logFile.checkpoint('TRUNCATE');
      } catch (error) {
        // Nothing is lost: committed data is in the write-ahead log, and the next opening finds it there.
        log.warn({ why: messageOf(error) }, 'the write-ahead log could not be emptied');
      }
    },
  };
}
