import { join } from 'node:path';
import type { LogEvent, NewEvent, RecordedEvent } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import { checkAppend } from '../append-checks.js';
import type { EventStore } from '../event-store.js';
import { EventStoreDamagedError, EventStoreUnavailableError } from '../event-store.js';
import { createOwnStoreClock, setBackWords } from '../store-clock.js';
import { createSubscriptions } from '../subscriptions.js';
import { openAcknowledged } from './acknowledged.js';
import type { Acknowledged } from './acknowledged.js';
import { createAppender } from './appender.js';
import type { EncodedEvent } from './appender.js';
import { createCheckpoints } from './checkpoints.js';
import { createCommit } from './commit.js';
import type { CommitMetrics, CommitStats } from './commit.js';
import { createVerifier } from './continuous.js';
import type { Verifier } from './continuous.js';
import { closeUnchanged, openDatabase } from './database.js';
import type { OpenedDatabase } from './database.js';
import type { FolderLock } from './folder-lock.js';
import { lockFolder } from './folder-lock.js';
import { createGroupCommit } from './group-commit.js';
import { checkLogEnd } from './log-end.js';
import { createLogFile } from './log-file.js';
import type { Head, LogFile } from './log-file.js';
import { createLogReader, reading } from './log-reader.js';
import { createRecentEvents } from './recent-events.js';
import { createLeafHash } from './stored-event.js';
import { createVerification } from './verification.js';
import type { Verification } from './verification.js';
import { createWriteGuard } from './write-guard.js';

/** The dependencies of an embedded event store. */
export interface EmbeddedEventStoreOptions {
  /** The data folder, which one process owns at a time. */
  readonly folder: string;
  readonly log: Log;
  readonly clock: Clock;
  readonly metrics?: CommitMetrics;
  /** The largest size of `events.db`; beyond it the store is as full as a full disk makes it. Default: no limit. */
  readonly bytesMax?: number;
  /** Opens a log that ends at this position although later events were acknowledged. Default: such a log is refused. */
  readonly acceptedEnd?: number;
}

/** Counters since the store was opened. */
export interface EmbeddedStats extends CommitStats {
  readonly checkpoints: number;
}

/** The embedded event store: the port, and what a local file allows beyond it. */
export interface EmbeddedEventStore extends EventStore, Omit<Verifier, 'watched'> {
  readonly stats: () => EmbeddedStats;
  /** The last position that was acknowledged before the store was opened; 0: none is known. It may be beyond an accepted end. */
  readonly acknowledgedAtOpen: number;
  /** The names of all streams that begin so. */
  readonly streamsWith: (prefix: string) => readonly string[];
}

/** How many events are verified at each opening; `keepVerifying` does the rest. */
const verifiedAtOpen = 10_000;

/**
 * Opens or creates the event store of a folder: one SQLite file, `events.db`.
 *
 * A commit is flushed to the disk before it is acknowledged; concurrent appends share a flush. Opening verifies the end
 * of the log, so it takes well under a second for any length.
 *
 * @throws EventStoreUnavailableError when another process has the folder.
 * @throws EventStoreDamagedError when acknowledged events are damaged or missing.
 */
export async function openEmbeddedEventStore(options: EmbeddedEventStoreOptions): Promise<EmbeddedEventStore> {
  const lock = lockFolder(options.folder);
  try {
    return open(options, lock);
  } catch (error) {
    lock.release();
    throw error;
  }
}

interface Opened extends OpenedDatabase {
  readonly acknowledged: Acknowledged;
}

function open(options: EmbeddedEventStoreOptions, lock: FolderLock): EmbeddedEventStore {
  const { folder, log, bytesMax } = options;
  const { database, ...found } = openDatabase(join(folder, 'events.db'), bytesMax);
  const { file, wal } = found;
  let acknowledged: Acknowledged | undefined;
  try {
    const opened = openAcknowledged(join(folder, 'events.acknowledged'), log);
    acknowledged = opened;
    const store = assemble(options, { ...found, database, acknowledged }, () => {
      database.close();
      opened.close();
      lock.release();
    });
    const fields = { file, ...wal, acknowledged: acknowledged.found };
    if (wal.tornAt === undefined) log.info(fields, 'the event store is open');
    else log.warn(fields, 'the event store is open; a torn write after the last known acknowledgement is dropped');
    return store;
  } catch (error) {
    closeUnchanged(database, file);
    acknowledged?.close();
    throw error;
  }
}

/** Verifies the end of the log, and that nothing is missing after it. */
function proveEnd(
  { file, walBytes, acknowledged }: Opened,
  logFile: LogFile,
  verifyTail: Verification['verifyTail'],
  acceptedEnd: number | undefined,
): Head {
  const head = verifyTail(verifiedAtOpen);
  const isMarkedInUse = logFile.isMarkedInUse();
  checkLogEnd({ file, walBytes, acceptedEnd, isMarkedInUse, head: head.position, acknowledged: acknowledged.found });
  acknowledged.note(head.position);
  return head;
}

function newestRecordedAt(last: readonly LogEvent[]): number {
  return Math.max(...last.map(({ recordedAt }) => Date.parse(recordedAt)));
}

function warnIfSetBack(recordedMs: number, nowMs: number, log: Log): void {
  const words = setBackWords(recordedMs, nowMs);
  if (words !== undefined) log.warn({ behindMs: recordedMs - nowMs }, words);
}

function assemble(options: EmbeddedEventStoreOptions, opened: Opened, release: () => void): EmbeddedEventStore {
  const { log, clock, metrics, acceptedEnd } = options;
  const leafHash = createLeafHash();
  const logFile = reading(() => createLogFile(opened.database));
  const verification = createVerification(logFile, leafHash, clock);
  const reader = createLogReader(logFile, leafHash);
  const head = reading(() => proveEnd(opened, logFile, verification.verifyTail, acceptedEnd));
  const recordedMs = newestRecordedAt(head.position === 0 ? [] : reader.readAll(head.position - 1, 1));
  warnIfSetBack(recordedMs, clock.now(), log);
  const appender = createAppender(logFile, reader, leafHash, head);
  const guard = createWriteGuard(clock.monotonic);
  const checkpoints = createCheckpoints({ logFile, guard, clock, log });
  const recent = createRecentEvents();
  const readAll = (after: number, limit: number): readonly LogEvent[] =>
    recent.readAll(after, limit) ?? reader.readAll(after, limit);
  const subscriptions = createSubscriptions({ head: () => appender.head().position, readAll });
  const publish = (events: readonly RecordedEvent[], bytes: number): void => {
    recent.add(events, bytes);
    subscriptions.publish(events);
  };
  const acknowledge = opened.acknowledged.note;
  const { commit, stats } = createCommit({ log: logFile, appender, guard, acknowledge, clock, metrics, publish });
  const group = createGroupCommit({ commit, afterCommit: checkpoints.afterCommit, monotonic: clock.monotonic });
  const closing = new AbortController();
  // The getter of a controller's signal is as slow as a small query.
  const { signal } = closing;
  const { watched, verify, keepVerifying, verified } = createVerifier({
    verification,
    guard,
    clock,
    log,
    closing: signal,
  });
  const whileOpen = <T>(read: () => T): T => {
    if (signal.aborted) throw new EventStoreUnavailableError('the event store is closed');
    return watched(read);
  };
  return {
    append: async (stream, expectedRevision, events) => {
      checkAppend(stream, expectedRevision, events);
      guard.admit();
      return group.append({ stream, expectedRevision, events: events.map(encode) });
    },
    readStream: async (stream, fromRevision = 0) =>
      whileOpen(() => placed(reader.readStream(stream, fromRevision), appender.head())),
    readAll: async (after, limit) => whileOpen(() => readAll(after, limit)),
    sound: {
      readStream: async (stream, fromRevision = 0) =>
        pastDamage(
          () => whileOpen(() => placed(reader.readStream(stream, fromRevision), appender.head())),
          () => reader.sound.readStream(stream, fromRevision).filter(({ position }) => isIn(appender.head(), position)),
        ),
      readAll: async (after, limit) =>
        pastDamage(
          () => whileOpen(() => readAll(after, limit)),
          () => reader.sound.readAll(after, limit),
        ),
    },
    subscribe: (after, handler) => whileOpen(() => subscriptions.subscribe(after, handler)),
    streamsWith: (prefix) => whileOpen(() => reading(() => logFile.streamsWith(prefix))),
    head: async () => whileOpen(() => appender.head().position),
    health: guard.health,
    clock: createOwnStoreClock(clock, { recordedMs, closing: signal }),
    stats: () => ({ ...stats(), checkpoints: checkpoints.count() }),
    acknowledgedAtOpen: opened.acknowledged.found ?? 0,
    verify,
    keepVerifying,
    verified,
    close: async () => {
      if (signal.aborted) return;
      group.flush();
      closing.abort();
      subscriptions.close();
      checkpoints.last();
      guard.broken('the event store is closed');
      release();
    },
  };
}

/**
 * The events of a stream, each in its place of the log. Attack: the owner of the file adds an event before the first position
 * or after the head. Its stream leads to it, and no check of the log meets it.
 */
/** Reads again past damage, once it is noted. */
function pastDamage<T>(read: () => T, readSound: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof EventStoreDamagedError) return readSound();
    throw error;
  }
}

function isIn({ position: last }: Head, position: number): boolean {
  return position >= 1 && position <= last;
}

function placed(events: readonly LogEvent[], head: Head): readonly LogEvent[] {
  const outside = events.find(({ position }) => !isIn(head, position));
  if (outside === undefined) return events;
  const { position, stream } = outside;
  throw new EventStoreDamagedError(
    `the event at position ${position} (stream "${stream}") is outside of the log, which ends at ${head.position}: restore the store from a backup`,
    { position, stream },
  );
}

/**
 * Serialises at once: a value that cannot be stored fails only its own append, and a later change of the object has no
 * effect.
 */
function encode(event: NewEvent): EncodedEvent {
  return { event, metadata: JSON.stringify(event.metadata), data: JSON.stringify(event.data) };
}
