import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { catchUp } from './catch-up.js';
import { discard, schemaVersion } from './database.js';
import type { RowSeal } from './database.js';
import { asTarget, openScratch } from './rebuild.js';
import type { RebuildOptions } from './rebuild.js';
import type { Columns } from './stored-row.js';

/** A place where the file is not what the log gives. */
export interface Difference {
  readonly table: string;
  /** The row's key; null when it is not about a row. */
  readonly seq: number | null;
  readonly what: 'missing' | 'unexpected' | 'different' | 'damaged';
  /** The columns that differ, or the damage. Never the values: they may be sensitive. */
  readonly detail: readonly string[];
}

/** The result of a verification. */
export interface Verification {
  readonly same: boolean;
  /** The number of compared rows, and of the events that they come from. */
  readonly rows: number;
  readonly events: number;
  /** The position that both were compared at. */
  readonly position: number;
  /** The first few. */
  readonly differences: readonly Difference[];
}

const differencesMax = 20;
const rowsPerTurn = 500;
const compared = ['meta', 'calls', 'requests', 'nested', 'batches', 'approvals', 'runs', 'grants', 'places', 'blocks'];

/**
 * Replays the log up to the checkpoint of a read model's file and compares every row. The file may be in use: a
 * snapshot of it is read, without the changes that its process has not flushed.
 * @throws LogRewoundError when the log ends before the checkpoint.
 */
export async function verifyReadModel({ file, source, onProgress, seal }: RebuildOptions): Promise<Verification> {
  const scratch = `${file}.verify-${String(process.pid)}`;
  const live = new DatabaseSync(file, { readOnly: true });
  try {
    // One read transaction: a snapshot that no write changes.
    live.exec('BEGIN');
    const version = live.prepare('PRAGMA user_version').get()?.['user_version'];
    if (version !== schemaVersion)
      throw new Error(`${file} has schema version ${String(version)}, not ${String(schemaVersion)}`);
    const position = Number(live.prepare('SELECT position FROM meta').get()?.['position']);
    const engine = openScratch(scratch, seal);
    let events: number;
    try {
      events = await catchUp(asTarget(engine), source, position, onProgress);
    } finally {
      engine.close();
    }
    return { events, position, ...(await compareFiles(live, scratch, seal)) };
  } finally {
    live.close();
    discard(scratch);
  }
}

async function compareFiles(
  live: DatabaseSync,
  scratch: string,
  seal: RowSeal | undefined,
): Promise<Pick<Verification, 'same' | 'rows' | 'differences'>> {
  const replayed = new DatabaseSync(scratch, { readOnly: true });
  try {
    const differences = damages(live);
    let rows = 0;
    for (const table of compared) {
      for (const [found, expected] of inParallel(live, replayed, table)) {
        rows += 1;
        if (rows % rowsPerTurn === 0) await setImmediate();
        const difference = compareRow(table, textsOf(found, seal), textsOf(expected, seal));
        if (difference !== undefined) differences.push(difference);
        if (differences.length >= differencesMax) return { same: false, rows, differences };
      }
    }
    return { same: differences.length === 0, rows, differences };
  } finally {
    replayed.close();
  }
}

/** SQLite's own check: an index that differs from its table would give wrong lists. */
function damages(live: DatabaseSync): Difference[] {
  return live
    .prepare('PRAGMA integrity_check(5)')
    .all()
    .map((columns) => String(columns['integrity_check']))
    .filter((message) => message !== 'ok')
    .map((message) => ({ table: 'file', seq: null, what: 'damaged', detail: [message] }));
}

function keyOf(row: Columns | undefined): number {
  return row === undefined ? Infinity : Number(row['seq'] ?? row['id']);
}

/** The rows of one table in both files, side by side by key. */
function* inParallel(
  live: DatabaseSync,
  replayed: DatabaseSync,
  table: string,
): Generator<readonly [Columns | undefined, Columns | undefined]> {
  const key = table === 'meta' ? 'id' : 'seq';
  const [left, right] = [live, replayed].map((db) => db.prepare(`SELECT * FROM ${table} ORDER BY ${key}`).iterate());
  let found = next(left);
  let expected = next(right);
  while (found !== undefined || expected !== undefined) {
    const [one, other] = [keyOf(found), keyOf(expected)];
    yield [one <= other ? found : undefined, other <= one ? expected : undefined];
    if (one <= other) found = next(left);
    if (other <= one) expected = next(right);
  }
}

function next(rows: Iterator<Columns> | undefined): Columns | undefined {
  const result = rows?.next();
  return result === undefined || result.done === true ? undefined : result.value;
}

/** A row with its sealed columns opened: the same text is encrypted differently each time. */
function textsOf(row: Columns | undefined, seal: RowSeal | undefined): Columns | undefined {
  if (row === undefined || seal === undefined) return row;
  const open = (value: unknown): unknown => (value instanceof Uint8Array ? seal.open(value) : value);
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, open(value)]));
}

function compareRow(table: string, found: Columns | undefined, expected: Columns | undefined): Difference | undefined {
  if (found === undefined) return { table, seq: keyOf(expected), what: 'missing', detail: [] };
  if (expected === undefined) return { table, seq: keyOf(found), what: 'unexpected', detail: [] };
  const detail = Object.keys(expected).filter((column) => !isSameValue(found[column], expected[column]));
  return detail.length === 0 ? undefined : { table, seq: keyOf(found), what: 'different', detail };
}

/** The order of a JSON object's members is no difference. */
function isSameValue(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'string' || typeof other !== 'string') return false;
  try {
    return isDeepStrictEqual(JSON.parse(one), JSON.parse(other));
  } catch {
    return false;
  }
}
