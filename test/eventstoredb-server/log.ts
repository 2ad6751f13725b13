import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { firstRetained } from './retention.ts';

/** An event as a client proposes it. */
export interface ProposedEvent {
  readonly id: string;
  readonly type: string;
  readonly contentType: string;
  readonly data: Uint8Array;
  readonly metadata: Uint8Array;
}

/** An event as the log has it. */
export interface StoredEvent extends ProposedEvent {
  readonly stream: string;
  readonly revision: number;
  readonly position: number;
  readonly createdMs: number;
}

/** The revision that a writer expects, in the server's terms. */
export type Expected = number | 'no-stream' | 'stream-exists' | 'any';

/** The log's result of an append. */
export type Written =
  | { readonly status: 'written'; readonly revision: number; readonly position: number }
  | { readonly status: 'wrong-expected-version'; readonly current: number };

/** The server's log: one file, or memory. A returned write is on the disk. */
export interface ServerLog {
  readonly append: (stream: string, expected: Expected, events: readonly ProposedEvent[], at: WriteOptions) => Written;
  /** The last revision of a stream; -1 when there is none. */
  readonly revisionOf: (stream: string) => number;
  readonly readStream: (stream: string, from: number, direction: Direction, count: number) => readonly StoredEvent[];
  /** From a position, inclusive forwards and exclusive backwards, as positions lie before their event. */
  readonly readAll: (from: number, direction: Direction, count: number) => readonly StoredEvent[];
  /** Whether an event begins at this position. */
  readonly isPlace: (position: number) => boolean;
  /** The position of the last event; 0 for an empty log. */
  readonly end: () => number;
  /** Writes the end of a stream: the server accepts nothing more in it, and returns nothing of it. */
  readonly tombstone: (stream: string, createdMs: number) => void;
  readonly isTombstoned: (stream: string) => boolean;
  /** Whether a read finds the stream: it has events, and they were not all deleted. */
  readonly isFound: (stream: string) => boolean;
  /** Forgets everything after a position, as a backup that is put back does. */
  readonly rewind: (position: number) => void;
  readonly close: () => void;
}

export type Direction = 'forwards' | 'backwards';

interface WriteOptions {
  readonly createdMs: number;
  /** False: the server recognises no repeat. */
  readonly recognisesRepeats: boolean;
}

const schema = `
  PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
  CREATE TABLE IF NOT EXISTS events (
    position INTEGER PRIMARY KEY, stream TEXT NOT NULL, revision INTEGER NOT NULL, id TEXT NOT NULL, type TEXT NOT NULL,
    contentType TEXT NOT NULL, data BLOB NOT NULL, metadata BLOB NOT NULL, createdMs INTEGER NOT NULL,
    UNIQUE (stream, revision)) STRICT;`;
/** After so many appends the server writes an event of its own, which lies between those of its users. */
const appendsPerSystemEvent = 3;
/** The revision of a tombstone, which the wire has as the largest 64-bit number. */
export const tombstoneRevision = Number.MAX_SAFE_INTEGER;
/** The real server keeps ids of last writes in 8 MB, and loses them with the process: all that guards an inexact append. */
const lastIdsMax = 10_000;

/** Opens the log in a folder, or one in memory. */
export function openServerLog(folder?: string): ServerLog {
  const database = new DatabaseSync(folder === undefined ? ':memory:' : join(folder, 'eventstoredb.db'));
  database.exec(schema);
  const queries = prepare(database);
  const lastIds = new Map<string, { readonly stream: string; readonly revision: number }>();
  const revisionOf = (stream: string): number => queries.revisionOf.get(stream)?.['revision'] as number;
  const end = (): number => (queries.head.get()?.['position'] as number | null) ?? 0;
  const firstOf = (stream: string): number =>
    firstRetained({
      metadata: queries.streamBackwards.get(`$$${stream}`, tombstoneRevision, 0, 1) as unknown as
        StoredEvent | undefined,
      lastRevision: revisionOf(stream),
      firstAfter: (position) => {
        const found = queries.firstAfter.get(stream, position)?.['revision'] as number | null | undefined;
        return found ?? undefined;
      },
    });
  const at = (stream: string, revision: number): StoredEvent | undefined =>
    queries.streamForwards.get(stream, revision, 1) as unknown as StoredEvent | undefined;

  const repeatAt = (stream: string, from: number, events: readonly ProposedEvent[]): Written | undefined => {
    const found = events.map((event, index) => ({ event, stored: at(stream, from + index) }));
    const last = found.at(-1)?.stored;
    if (last === undefined || found.some(({ event, stored }) => stored?.id !== event.id)) return undefined;
    return { status: 'written', revision: last.revision, position: last.position };
  };
  /** The rules of the real server's index writer. */
  const judge = (stream: string, expected: Expected, events: readonly ProposedEvent[]): Written | undefined => {
    const current = revisionOf(stream);
    // As on a real server, the revision of an append of nothing is not checked.
    if (events.length === 0)
      return { status: 'written', revision: typeof expected === 'number' ? expected : current, position: 0 };
    if (expected === 'any' || expected === 'stream-exists') {
      const known = lastIds.get(events[0]?.id ?? '');
      const repeat = known?.stream === stream ? repeatAt(stream, known.revision, events) : undefined;
      if (repeat !== undefined || expected === 'any' || current >= 0) return repeat;
      return { status: 'wrong-expected-version', current };
    }
    const exact = expected === 'no-stream' ? -1 : expected;
    if (exact === current) return undefined;
    const repeat = exact < current ? repeatAt(stream, exact + 1, events) : undefined;
    // A stream that was deleted softly may be begun again, and goes on counting.
    if (repeat === undefined && exact === -1 && firstOf(stream) === Infinity) return undefined;
    return repeat ?? { status: 'wrong-expected-version', current };
  };
  const write = (stream: string, events: readonly ProposedEvent[], createdMs: number): Written => {
    let revision = revisionOf(stream);
    let position = end();
    database.exec('BEGIN');
    for (const event of events) {
      revision += 1;
      // Positions are byte offsets, so they have gaps, the same as in the real log.
      position += 120 + event.data.length + event.metadata.length;
      const { id, type, contentType, data, metadata } = event;
      queries.insert.run(position, stream, revision, id, type, contentType, data, metadata, createdMs);
      lastIds.set(id, { stream, revision });
      if (lastIds.size > lastIdsMax) lastIds.delete(lastIds.keys().next().value ?? '');
    }
    database.exec('COMMIT');
    return { status: 'written', revision, position };
  };
  let appends = 0;
  const writeSystemEvent = (createdMs: number): void => {
    appends += 1;
    if (appends % appendsPerSystemEvent !== 0) return;
    const data = Buffer.from('{"sys-freeMem":1}');
    const [id, type, contentType] = [randomUUID(), '$statsCollected', 'application/json'];
    write('$stats-127.0.0.1:2113', [{ id, type, contentType, data, metadata: new Uint8Array() }], createdMs);
  };
  return {
    append: (stream, expected, events, { createdMs, recognisesRepeats }) => {
      const judged = judge(stream, expected, events);
      if (judged?.status === 'written' && !recognisesRepeats) {
        return { status: 'wrong-expected-version', current: revisionOf(stream) };
      }
      if (judged !== undefined) return judged;
      const written = write(stream, events, createdMs);
      writeSystemEvent(createdMs);
      return written;
    },
    revisionOf,
    readStream: (stream, from, direction, count) => {
      const first = firstOf(stream);
      if (first === Infinity) return [];
      if (direction === 'backwards')
        return queries.streamBackwards.all(stream, from, first, count) as unknown as StoredEvent[];
      return queries.streamForwards.all(stream, Math.max(from, first), count) as unknown as StoredEvent[];
    },
    isPlace: (position) => queries.at.get(position) !== undefined,
    end,
    isFound: (stream) => revisionOf(stream) >= 0 && firstOf(stream) !== Infinity,
    isTombstoned: (stream) => revisionOf(stream) === tombstoneRevision,
    tombstone: (stream, createdMs) => {
      const none = new Uint8Array();
      const position = end() + 200;
      const { insert } = queries;
      insert.run(
        position,
        stream,
        tombstoneRevision,
        randomUUID(),
        '$streamDeleted',
        'application/octet-stream',
        none,
        none,
        createdMs,
      );
    },
    readAll: (from, direction, count) => {
      const query = direction === 'forwards' ? queries.allForwards : queries.allBackwards;
      return query.all(from, count) as unknown as StoredEvent[];
    },
    rewind: (position) => void queries.rewind.run(position),
    close: () => {
      database.close();
    },
  };
}

function prepare(database: DatabaseSync) {
  return {
    revisionOf: database.prepare('SELECT coalesce(max(revision), -1) AS revision FROM events WHERE stream = ?'),
    head: database.prepare('SELECT max(position) AS position FROM events'),
    insert: database.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)'),
    at: database.prepare('SELECT 1 FROM events WHERE position = ?'),
    firstAfter: database.prepare('SELECT min(revision) AS revision FROM events WHERE stream = ? AND position > ?'),
    rewind: database.prepare('DELETE FROM events WHERE position > ?'),
    streamForwards: database.prepare(
      'SELECT * FROM events WHERE stream = ? AND revision >= ? ORDER BY revision LIMIT ?',
    ),
    streamBackwards: database.prepare(
      'SELECT * FROM events WHERE stream = ? AND revision <= ? AND revision >= ? ORDER BY revision DESC LIMIT ?',
    ),
    allForwards: database.prepare('SELECT * FROM events WHERE position >= ? ORDER BY position LIMIT ?'),
    allBackwards: database.prepare('SELECT * FROM events WHERE position < ? ORDER BY position DESC LIMIT ?'),
  };
}
