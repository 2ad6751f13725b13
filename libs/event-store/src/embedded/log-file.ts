import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { noStream } from '../event-store.js';
import type { StoredRow } from './stored-event.js';

/** The end of a stream. `id` is its key in the file. */
export interface StreamEnd {
  readonly id: number;
  readonly revision: number;
}

/** The end of the log. */
export interface Head {
  readonly position: number;
  readonly chain: Uint8Array;
}

/** The values of an event row. */
export interface NewRow {
  readonly position: number;
  readonly streamId: number;
  readonly revision: number;
  readonly eventId: string;
  readonly type: string;
  readonly recordedAt: string;
  readonly metadata: string;
  readonly data: string;
  readonly leaf: Uint8Array;
  readonly chain: Uint8Array;
}

/** The prepared statements of the log. They do not verify what they read. */
export interface LogFile {
  readonly begin: () => void;
  readonly commit: () => void;
  /** Does nothing when SQLite has already rolled back. */
  readonly rollback: () => void;
  /** Undefined: the name exists. */
  readonly insertStream: (name: string) => number | undefined;
  readonly insertEvent: (row: NewRow) => void;
  readonly setHead: (head: Head) => void;
  readonly head: () => Head | undefined;
  /** Writes into the main file, durably, that a process has it in use. */
  readonly markInUse: () => void;
  /** Clears that mark; the next complete checkpoint writes it to the main file. */
  readonly markClosed: () => void;
  readonly isMarkedInUse: () => boolean;
  readonly streamEnd: (name: string) => StreamEnd | undefined;
  /** The names of all streams that begin so. */
  readonly streamsWith: (prefix: string) => readonly string[];
  /** From a revision to a revision, both included. */
  readonly readStream: (name: string, from: number, to: number) => readonly StoredRow[];
  /** After a position, up to a position (inclusive), one row at a time. */
  readonly readAll: (after: number, to: number) => Iterable<StoredRow>;
  /** Like `readAll`, with the chains. */
  readonly readChained: (after: number, to: number) => Iterable<StoredRow>;
  readonly lastPosition: () => number;
  /** Below 1: somebody added an event before the first one. */
  readonly firstPosition: () => number;
  readonly chainAt: (position: number) => Uint8Array | undefined;
  /** The position that the indexes lead to. */
  readonly positionOf: (stream: string, revision: number) => number | undefined;
  readonly checkpoint: (mode: 'PASSIVE' | 'TRUNCATE') => void;
  /** The number of frames in the write-ahead log. */
  readonly walFrames: () => number;
}

// In the order of a StoredRow, around the stream's name.
const [before, after] = ['e.position', 'e.revision, e.event_id, e.type, e.recorded_at, e.metadata, e.data, e.leaf'];
// A missing stream reads as an empty name, which no leaf agrees with.
const columns = `${before}, ifnull(s.name, ''), ${after}`;

/** The row of `head` that is there while a process has the log in use. */
const inUseRow = 2;

/** Prepares every statement on an opened log. */
export function createLogFile(database: DatabaseSync): LogFile {
  const prepare = (sql: string): StatementSync => {
    const statement = database.prepare(sql);
    statement.setReturnArrays(true);
    return statement;
  };
  const [begin, commit] = [prepare('BEGIN IMMEDIATE'), prepare('COMMIT')];
  const insertStream = prepare('INSERT INTO streams (name) VALUES (?) ON CONFLICT (name) DO NOTHING');
  const insertEvent = prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  const setHead = prepare('UPDATE head SET position = ?, chain = ? WHERE id = 1');
  return {
    begin: () => void begin.run(),
    commit: () => void commit.run(),
    rollback: () => {
      if (database.isTransaction) database.exec('ROLLBACK');
    },
    insertStream: (name) => {
      const { changes, lastInsertRowid } = insertStream.run(name);
      return changes === 1 ? Number(lastInsertRowid) : undefined;
    },
    insertEvent: (row) =>
      void insertEvent.run(
        row.position,
        row.streamId,
        row.revision,
        row.eventId,
        row.type,
        row.recordedAt,
        row.metadata,
        row.data,
        row.leaf,
        row.chain,
      ),
    markInUse: () => {
      // A second row of `head`, so that this transaction, too, begins with the page of the head (see wal-scan.ts).
      database.exec(`INSERT OR IGNORE INTO head VALUES (${inUseRow}, 0, x'')`);
      database.exec('PRAGMA wal_checkpoint(PASSIVE)');
    },
    markClosed: () => {
      database.exec(`DELETE FROM head WHERE id = ${inUseRow}`);
    },
    setHead: ({ position, chain }) => void setHead.run(position, chain),
    checkpoint: (mode) => {
      database.exec(`PRAGMA wal_checkpoint(${mode})`);
    },
    ...createReads(prepare),
  };
}

type Writes =
  | 'begin'
  | 'commit'
  | 'rollback'
  | 'insertStream'
  | 'insertEvent'
  | 'setHead'
  | 'markInUse'
  | 'markClosed'
  | 'checkpoint';

function createReads(prepare: (sql: string) => StatementSync): Omit<LogFile, Writes> {
  const head = prepare('SELECT position, chain FROM head WHERE id = 1');
  const inUse = prepare(`SELECT 1 FROM head WHERE id = ${inUseRow}`);
  const streamEnd = prepare(
    'SELECT s.id, (SELECT max(e.revision) FROM events e WHERE e.stream = s.id) FROM streams s WHERE s.name = ?',
  );
  const streamId = prepare('SELECT id FROM streams WHERE name = ?');
  // A range of the index of names. No text sorts after the last byte.
  const streamsWith = prepare("SELECT name FROM streams WHERE name >= ? AND name < ? || x'ff' ORDER BY name");
  // Ranges instead of LIMIT: SQLite recompiles a statement whenever a bound LIMIT changes.
  const readStream = prepare(
    `SELECT ${before}, ?, ${after} FROM events e WHERE e.stream = ? AND e.revision BETWEEN ? AND ? ORDER BY e.revision`,
  );
  const [readAll, readChained] = [columns, `${columns}, e.chain`].map((selected) =>
    prepare(
      `SELECT ${selected} FROM events e LEFT JOIN streams s ON s.id = e.stream
       WHERE e.position > ? AND e.position <= ? ORDER BY e.position`,
    ),
  ) as [StatementSync, StatementSync];
  const lastPosition = prepare('SELECT max(position) FROM events');
  const firstPosition = prepare('SELECT min(position) FROM events');
  const chainAt = prepare('SELECT chain FROM events WHERE position = ?');
  const positionOf = prepare(
    'SELECT e.position FROM streams s JOIN events e ON e.stream = s.id WHERE s.name = ? AND e.revision = ?',
  );
  const walFrames = prepare('PRAGMA wal_checkpoint(NOOP)');
  return {
    head: () => {
      const row = get(head) as readonly [number, Uint8Array] | undefined;
      return row === undefined ? undefined : { position: row[0], chain: row[1] };
    },
    isMarkedInUse: () => get(inUse) !== undefined,
    streamEnd: (name) => {
      const row = get(streamEnd, name) as readonly [number, number | null] | undefined;
      return row === undefined ? undefined : { id: row[0], revision: row[1] ?? noStream };
    },
    streamsWith: (prefix) => (streamsWith.all(prefix, prefix) as unknown as readonly [string][]).map(([name]) => name),
    readStream: (name, from, to) => {
      // Most streams that are looked for are new: to find no name costs a third of joining it with its events.
      const found = get(streamId, name) as readonly [number] | undefined;
      return found === undefined ? [] : all(readStream, name, found[0], from, to);
    },
    readAll: (after, to) => each(readAll, after, to),
    readChained: (after, to) => each(readChained, after, to),
    lastPosition: () => (get(lastPosition) as readonly [number | null] | undefined)?.[0] ?? 0,
    firstPosition: () => (get(firstPosition) as readonly [number | null] | undefined)?.[0] ?? 1,
    chainAt: (position) => (get(chainAt, position) as readonly [Uint8Array] | undefined)?.[0],
    positionOf: (stream, revision) => (get(positionOf, stream, revision) as readonly [number] | undefined)?.[0],
    walFrames: () => (get(walFrames) as readonly [number, number, number] | undefined)?.[1] ?? 0,
  };
}

// SQLite itself vouches for the types of the columns: the tables are STRICT. A damaged file can still lie; those who
// read events check them.
function get(statement: StatementSync, ...values: readonly (string | number)[]): unknown {
  return statement.get(...values);
}

function each(statement: StatementSync, after: number, to: number): Iterable<StoredRow> {
  return statement.iterate(after, to) as Iterable<unknown> as Iterable<StoredRow>;
}

function all(statement: StatementSync, ...values: readonly (string | number)[]): readonly StoredRow[] {
  return statement.all(...values) as unknown as readonly StoredRow[];
}
