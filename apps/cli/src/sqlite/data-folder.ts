import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { readText, tenantOf } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import type { Damage, LogSource, SourceEvent } from '../audit/log-source.js';
import { damageFree, openLog } from './log-head.js';
import type { Head } from './log-head.js';
import { acknowledgedIn, openReadOnly } from './read-only.js';
import type { KeptStamp } from '../audit/timestamps.js';
import { keyChangesOf, leavesOf, notesOf, stampsOf } from './kept-beside.js';
import { chainAfter, firstChain, leafOf } from './stored-chain.js';
import { tableDamage } from './log-tables.js';
import type { LogRow } from './stored-chain.js';

/** A page is kept until its events are used: at most this many rows, and about this many characters of them. */
const [rowsMax, lengthMax] = [500, 1024 * 1024];

/** The log of a data folder. */
export interface DataFolder extends LogSource {
  /** The events after a position. */
  readonly eventsAfter: (position: number) => Iterable<SourceEvent>;
  readonly keyChanges: (tenant: string) => readonly string[];
  /** The hash of the chain at its end. */
  readonly chain: Uint8Array;
  /** The last position that is known: that of the log, or a later one that was acknowledged. */
  readonly known: number;
  readonly timestamps: (tenant: string) => readonly KeptStamp[];
  /** The tenants that have events. */
  readonly tenants: () => readonly string[];
}

/** The log of a data folder, also of a running server. @throws CliError when it cannot be read. */
export function openDataFolder(folder: string): DataFolder {
  const kept = optional(join(folder, 'checkpoints.db'));
  const tree = optional(join(folder, 'log-tree.db'));
  // Before the head: a running server adds to both, and what is acknowledged is in the log.
  const acknowledged = acknowledgedIn(folder);
  const { log, head } = openLog(folder, acknowledged);
  const readPage = pageReader(log);
  return {
    tenant: async () => {
      const [row] = readPage(0, 1).rows;
      return Promise.resolve(row === undefined ? undefined : tenantOf(readRow(row).stored));
    },
    events: () => withTables(log, eventsOf(readPage, head)),
    eventsAfter: (position) => {
      const [before] = position === 0 ? [] : readPage(position - 1, position).rows;
      return eventsOf(readPage, head, { position, chain: before?.[9] ?? firstChain });
    },
    tenants: () => tenantsOf(log, tree),
    total: head.position,
    chain: head.chain,
    known: Math.max(head.position, head.acknowledged),
    checks: ['store'],
    keptNotes: (tenant) => (kept === undefined ? [] : notesOf(kept, tenant)),
    keyChanges: (tenant) => (kept === undefined ? [] : keyChangesOf(kept, tenant)),
    timestamps: (tenant) => (kept === undefined ? [] : stampsOf(kept, tenant)),
    leaves: (tenant) => (tree === undefined ? undefined : leavesOf(tree, tenant)),
    close: () => {
      for (const database of [log, kept, tree]) database?.close();
    },
  };
}

/** The checkpoints in a `checkpoints.db`: the newest of each epoch of a tenant. */
export function notesIn(file: string, tenant: string): readonly string[] {
  const kept = openReadOnly(file);
  try {
    return notesOf(kept, tenant);
  } finally {
    kept.close();
  }
}

function optional(file: string): DatabaseSync | undefined {
  return existsSync(file) ? openReadOnly(file) : undefined;
}

/** Rows after a position, and the position that they reach: `to`, or an earlier one where they are long. */
interface LogPage {
  readonly rows: readonly LogRow[];
  readonly reached: number;
}

type ReadPage = (after: number, to: number) => LogPage;

function pageReader(log: DatabaseSync): ReadPage {
  const page = log.prepare(
    `SELECT e.position, ifnull(s.name, ''), e.revision, e.event_id, e.type, e.recorded_at, e.metadata, e.data, e.leaf, e.chain
     FROM events e LEFT JOIN streams s ON s.id = e.stream WHERE e.position > ? AND e.position <= ? ORDER BY e.position`,
  );
  page.setReturnArrays(true);
  return (after, to) => {
    const rows: LogRow[] = [];
    let length = 0;
    for (const row of page.iterate(after, to) as unknown as Iterable<LogRow>) {
      rows.push(row);
      length += lengthOf(row[6]) + lengthOf(row[7]);
      if (length >= lengthMax) return { rows, reached: row[0] };
    }
    return { rows, reached: to };
  };
}

/** A forged row may have a value of any type. */
function lengthOf(value: unknown): number {
  return typeof value === 'string' || value instanceof Uint8Array ? value.length : 0;
}

/** Page by page, each a read of its own: a server that writes meanwhile can shorten its write-ahead log. */
function* eventsOf(
  readPage: ReadPage,
  head: Head,
  after: Pick<Head, 'position' | 'chain'> = { position: 0, chain: firstChain },
): Iterable<SourceEvent> {
  let { position } = after;
  // Unknown after an event that cannot be read.
  let chain: Uint8Array | undefined = after.chain;
  while (position < head.position) {
    const to = Math.min(position + rowsMax, head.position);
    for (const row of readSound(readPage, position, to)) {
      if ('unreadable' in row) {
        const { unreadable, why } = row;
        [position, chain] = [unreadable, undefined];
        yield { stored: undefined, damage: [broken(why)], done: position };
        continue;
      }
      if (row[0] > position + 1) {
        yield lost(position + 1, row[0] - 1);
        chain = undefined;
      }
      const { stored, isAmbiguous } = readRow(row);
      const damage = [...rowDamage(row, chain), ...(isAmbiguous ? [ambiguous] : [])];
      [position, chain] = [row[0], row[9]];
      yield { stored, damage, done: position };
    }
    if (position < to) {
      yield lost(position + 1, to);
      [position, chain] = [to, undefined];
    }
  }
  const end = endDamage(head, chain);
  if (end.length > 0) yield { stored: undefined, damage: end, done: head.position };
}

/** The events, and at their end what is wrong with the tables that they are in. */
function* withTables(log: DatabaseSync, events: Iterable<SourceEvent>): Iterable<SourceEvent> {
  let [done, isWhole] = [0, true];
  for (const event of events) {
    done = event.done;
    isWhole &&= event.damage.length === 0;
    yield event;
  }
  // A row that is missing is named already.
  const damage = isWhole ? tableDamage(log) : [];
  if (damage.length > 0) yield { stored: undefined, damage: damage.map(broken), done };
}

interface Unreadable {
  /** Its position. */
  readonly unreadable: number;
  readonly why: string;
}

/** The rows that can be read. A damaged page of the database hides those that are on it, and not the others. */
function* readSound(readPage: ReadPage, after: number, to: number): Iterable<LogRow | Unreadable> {
  let position = after;
  while (position < to) {
    const from = position;
    const page = damageFree(() => readPage(from, to));
    if (typeof page !== 'string') {
      yield* page.rows;
      position = page.reached;
    } else if (to - from > 1) {
      position = from + Math.floor((to - from) / 2);
      yield* readSound(readPage, from, position);
    } else {
      position = to;
      yield { unreadable: to, why: `position ${String(to)} cannot be read: ${page}` };
    }
  }
}

/** The faults in a row: it is not what was recorded, or not in its place. */
function rowDamage(row: LogRow, chain: Uint8Array | undefined): readonly Damage[] {
  const [leaf, storedChain] = [row[8], row[9]];
  const damage: string[] = [];
  try {
    if (leafOf(row) !== Buffer.from(leaf).toString('hex')) damage.push('it is not what was recorded');
    if (chain !== undefined && Buffer.compare(chainAfter(chain, leaf), storedChain) !== 0)
      damage.push('it does not continue the chain of hashes');
  } catch {
    damage.push('it has values of another type than the log');
  }
  return damage.map(broken);
}

/** Attack: another program shows another value of the same text than the one that is judged. */
const ambiguous: Damage = { check: 'read', detail: 'its text has a member twice, or a number of too many digits' };

/** Attack: an event is put before the first position or after the head, where only its stream leads to it. */
function endDamage(
  { position, acknowledged, chain, first, last }: Head,
  reached: Uint8Array | undefined,
): readonly Damage[] {
  const damage = [
    ...(first < 1 ? [`there are events before the first position, from position ${String(first)} on`] : []),
    ...(last > position ? [`there are events after the head of the log, up to position ${String(last)}`] : []),
    ...(reached === undefined || Buffer.compare(chain, reached) === 0
      ? []
      : ['the last event is not the one that the head of the log names']),
    // Attack: the write-ahead log is removed or damaged, so that the log is a sound one that ended earlier.
    ...(acknowledged <= position
      ? []
      : [
          `the log ends at position ${String(position)}, and events up to position ${String(acknowledged)} were acknowledged`,
        ]),
  ];
  return damage.map(broken);
}

function broken(detail: string): Damage {
  return { check: 'store', detail };
}

function lost(from: number, to: number): SourceEvent {
  const detail =
    from === to ? `position ${String(from)} is missing` : `positions ${String(from)} to ${String(to)} are missing`;
  return { stored: undefined, damage: [broken(detail)], done: to };
}

/** The event of a row, and whether one of its texts is ambiguous. */
function readRow([position, stream, revision, eventId, type, recordedAt, metadata, data]: LogRow) {
  const [readMetadata, readData] = [readText(metadata), readText(data)];
  const place = { position, stream, revision, eventId, type, recordedAt };
  return {
    stored: { ...place, metadata: readMetadata.value, data: readData.value } satisfies StoredEvent,
    isAmbiguous: readMetadata.isAmbiguous || readData.isAmbiguous,
  };
}

/** From the tree that is kept with the log, because the log itself has no index of them. */
function tenantsOf(log: DatabaseSync, tree: DatabaseSync | undefined): readonly string[] {
  const sql =
    tree === undefined
      ? "SELECT DISTINCT json_extract(metadata, '$.tenant') AS tenant FROM events WHERE json_valid(metadata)"
      : 'SELECT tenant FROM trees';
  return (tree ?? log)
    .prepare(sql)
    .all()
    .flatMap(({ tenant }) => (typeof tenant === 'string' ? [tenant] : []));
}
