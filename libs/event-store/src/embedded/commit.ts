import type { RecordedEvent } from '@countersign/contracts';
import type { Clock } from '@countersign/runtime';
import { crashPoint } from '@countersign/runtime';
import { EventStoreDamagedError, EventStoreUnavailableError } from '../event-store.js';
import type { AppendResult } from '../event-store.js';
import type { Appender, AppendRequest, WrittenGroup } from './appender.js';
import type { LogFile } from './log-file.js';
import { isSqliteError, messageOf, sqliteCodes } from './sqlite-errors.js';
import type { WriteGuard } from './write-guard.js';

/** One commit: one flush of the write-ahead log. `bytes` is the length of the written JSON texts. */
export interface CommitMeasure {
  readonly appends: number;
  readonly events: number;
  readonly durationMs: number;
  readonly bytes: number;
}

/** The receiver of measurements. */
export interface CommitMetrics {
  /** Called inside the commit: MUST be quick and not throw. */
  readonly onCommit: (measure: CommitMeasure) => void;
}

/** Counters of what was committed. */
export interface CommitStats {
  /** Transactions, each flushed once. */
  readonly commits: number;
  readonly appends: number;
  readonly events: number;
  readonly bytes: number;
}

/** The dependencies of committing a group. */
export interface CommitPorts {
  readonly log: LogFile;
  readonly appender: Appender;
  readonly guard: WriteGuard;
  /** Keeps the position of the last acknowledged event. MUST not throw. */
  readonly acknowledge: (position: number) => void;
  readonly clock: Clock;
  readonly metrics: CommitMetrics | undefined;
  /** Passes committed events to the readers in this process, before their writers are acknowledged. */
  readonly publish: (events: readonly RecordedEvent[], bytes: number) => void;
}

/** Commits groups of appends. */
export interface Commit {
  /**
   * Writes, flushes, publishes, and acknowledges each append of a group.
   * @throws EventStoreUnavailableError when nothing of the group was written.
   */
  readonly commit: (group: readonly AppendRequest[]) => readonly AppendResult[];
  readonly stats: () => CommitStats;
}

/** The write path of the embedded store: one group, one transaction, one flush. */
export function createCommit(ports: CommitPorts): Commit {
  const { appender, guard, clock, metrics, publish } = ports;
  const write = createWrite(ports);
  let stats: CommitStats = { commits: 0, appends: 0, events: 0, bytes: 0 };
  return {
    stats: () => stats,
    commit: (group) => {
      const start = clock.monotonic();
      const written = write(group);
      const { results, recorded, bytes } = written;
      if (recorded.length === 0) {
        ports.log.rollback();
        return results;
      }
      const failure = flush(ports);
      if (failure !== undefined) return results.map(() => failure);
      appender.keep();
      ports.acknowledge(appender.head().position);
      guard.succeeded();
      const [appends, events] = [group.length, recorded.length];
      stats = {
        commits: stats.commits + 1,
        appends: stats.appends + appends,
        events: stats.events + events,
        bytes: stats.bytes + bytes,
      };
      metrics?.onCommit({ appends, events, bytes, durationMs: clock.monotonic() - start });
      publish(recorded, bytes);
      crashPoint('append.before-answer');
      return results;
    },
  };
}

/** Writes groups into an open transaction. @throws EventStoreUnavailableError, and nothing is left of it. */
function createWrite({ log, appender, guard, clock }: CommitPorts): (group: readonly AppendRequest[]) => WrittenGroup {
  let isMarked = false;
  return (group) => {
    try {
      // Before the first commit: from here on, the main file without its write-ahead log is known to be incomplete.
      if (!isMarked) log.markInUse();
      isMarked = true;
      log.begin();
      return appender.write(group, new Date(clock.now()).toISOString());
    } catch (error) {
      throw undo({ log, appender, guard }, error);
    }
  };
}

/** Commits the open transaction. Returns results only when it is unknown whether the commit succeeded. */
function flush({ log, appender, guard }: CommitPorts): Extract<AppendResult, { status: 'unknown' }> | undefined {
  try {
    crashPoint('append.before-commit');
    log.commit();
    crashPoint('append.after-commit');
    return undefined;
  } catch (error) {
    if (isSqliteError(error, sqliteCodes.full, sqliteCodes.busy)) throw undo({ log, appender, guard }, error);
    // The flush failed. The kernel may have dropped the pages and would call a second flush a success, so it is never
    // retried: only reopening the log shows what is on the disk.
    guard.broken(`a write to the log failed and its outcome is unknown (${messageOf(error)}): restart the process`);
    undo({ log, appender, guard }, error);
    return { status: 'unknown', cause: error };
  }
}

/** Rolls a group back whose transaction was not committed, and returns the reason. */
function undo({ log, appender, guard }: Pick<CommitPorts, 'log' | 'appender' | 'guard'>, error: unknown): Error {
  appender.forget();
  try {
    log.rollback();
  } catch (rollbackError) {
    guard.broken(`the log cannot be rolled back (${messageOf(rollbackError)}): restart the process`);
  }
  if (isSqliteError(error, sqliteCodes.full)) {
    const why = 'the disk is full: nothing was written; free some space, and the next append will find it';
    guard.full(why);
    return new EventStoreUnavailableError(why, { cause: error });
  }
  if (isSqliteError(error, sqliteCodes.busy)) {
    return new EventStoreUnavailableError('another program writes to the log file: nothing was written', {
      cause: error,
    });
  }
  if (error instanceof EventStoreDamagedError || isSqliteError(error, sqliteCodes.corrupt)) {
    guard.damaged(messageOf(error));
  } else {
    guard.broken(`the log cannot be written (${messageOf(error)}): restart the process`);
  }
  return new EventStoreUnavailableError(`nothing was written: ${messageOf(error)}`, { cause: error });
}
