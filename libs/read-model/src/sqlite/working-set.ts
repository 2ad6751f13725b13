import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isReadable, isSettled, toolCallEventTypes, toolCallStream, weigh } from '@countersign/contracts';
import type { LogEvent, RecordedEvent, RunEvent, UnreadableEvent } from '@countersign/contracts';
import type { CallRow } from '../call-row.js';
import { evolve, passedAt, setAside } from '../evolve.js';
import { inTransaction } from './database.js';
import type { GrantRows } from './grant-rows.js';
import type { RowSeal } from './database.js';
import { createRecentRows } from './recent-rows.js';
import type { Entry, RecentRows } from './recent-rows.js';
import { rowColumns, toCallRow } from './stored-row.js';
import type { BlockRows } from './block-rows.js';
import type { PlaceCounts, PlaceRows } from './places.js';
import type { UnreadableRows } from './unreadable-rows.js';
import { writeEntry } from './write-entry.js';
import type { Counts } from './write-entry.js';

/** The folded position of the log: the last event, and the one before it. */
export interface Checkpoint {
  readonly position: number;
  readonly previous: number;
  readonly eventId: string;
}

/** The limits of memory. */
export interface Bounds {
  readonly recentRows: number;
  readonly recentBytes: number;
  /** The folded events that wait for one transaction, and the estimated bytes of JSON that they add. */
  readonly unflushedEvents: number;
  readonly unflushedBytes: number;
}

export const defaultBounds: Bounds = {
  recentRows: 1024,
  recentBytes: 8 * 1024 * 1024,
  unflushedEvents: 2048,
  unflushedBytes: 4 * 1024 * 1024,
};

/**
 * The changed rows: folded in memory, and written to the file a few hundred events at a time. A crash loses nothing,
 * since they are folded from the log again; and a call that starts and ends in one burst is written once.
 */
export interface WorkingSet {
  readonly checkpoint: () => Checkpoint;
  /** Folds one event. Returns its row when it is a tool call's event. The caller checks `isFull` afterwards. */
  readonly fold: (event: LogEvent) => CallRow | undefined;
  readonly isFull: () => boolean;
  /**
   * Writes the changed rows and the checkpoint in one transaction; when that fails, all of it remains to be written.
   */
  readonly flush: () => void;
  /** Reads the file as `flush` would leave it, and leaves it as it is: for a disk that is full. */
  readonly asIfFlushed: <T>(read: () => T) => T;
  readonly find: (callId: string) => CallRow | undefined;
  /** The ids of the calls of a run that the file does not have yet, in the order of their requests. */
  readonly newInRun: (tenant: string, runId: string) => readonly string[];
  /** The rows that differ from the file. */
  readonly unflushed: () => ReadonlyMap<string, { readonly row: CallRow }>;
  /** Reads the file: flush first. */
  readonly counts: () => Counts;
}

/** The principal that ends a run after a denial. */
const byPolicy = 'countersign';
const types: ReadonlySet<string> = new Set(toolCallEventTypes);

type Prepare = (sql: string) => StatementSync;

/** The rows of other tables, which are written in the same transactions. */
interface Others {
  readonly grants: GrantRows;
  readonly unreadable: UnreadableRows;
  readonly places: PlaceRows;
  readonly blocks: BlockRows;
}

/** The working set over an opened file. */
export function createWorkingSet(
  db: DatabaseSync,
  prepare: Prepare,
  bounds: Bounds,
  { grants, unreadable, places, blocks }: Others,
  seal?: RowSeal,
): WorkingSet {
  const others = [grants, unreadable, places, blocks];
  const stored = readMeta(prepare);
  let checkpoint: Checkpoint = stored.checkpoint;
  let counts: Counts = stored.counts;
  let storedPosition = checkpoint.position;
  let [pendingEvents, pendingBytes] = [0, 0];
  const dirty = new Map<string, Entry>();
  const added = createAddedCalls();
  const recent = createRecentRows(bounds.recentRows, bounds.recentBytes);

  const known = (callId: string): Entry | undefined =>
    dirty.get(callId) ?? recent.take(callId) ?? loadEntry(prepare, callId);
  const foldCall = (callId: string, event: RecordedEvent): CallRow | undefined => {
    // The first event of a stream has nothing to be looked for.
    const entry = event.revision === 0 ? undefined : known(callId);
    const row = evolve(entry?.row, event);
    if (row === undefined) return undefined;
    pendingBytes += weigh(event);
    if (entry === undefined) {
      added.add(row);
      dirty.set(callId, { row, stored: null, lastEventAt: event.recordedAt, requestBytes: 0, progressBytes: 0 });
      return row;
    }
    // A small event of a large call keeps the whole call in memory until it is written.
    if (!dirty.has(callId)) pendingBytes += entry.requestBytes + entry.progressBytes;
    dirty.set(callId, Object.assign(entry, { row, lastEventAt: event.recordedAt }));
    return row;
  };

  const find = (callId: string): CallRow | undefined => {
    const entry = dirty.get(callId) ?? recent.get(callId) ?? loadEntry(prepare, callId);
    if (entry !== undefined && !dirty.has(callId)) recent.put(callId, entry);
    return entry?.row;
  };
  /** The row of a call whose stream is set aside: it keeps the state of what could be read. */
  const foldUnreadable = (event: UnreadableEvent): CallRow | undefined => {
    const { callId, tenant } = event.metadata;
    const entry = callId === null ? undefined : known(callId);
    unreadable.add(event, tenant ?? entry?.row.request.tenant ?? null);
    if (callId === null || entry === undefined) return undefined;
    dirty.set(callId, Object.assign(entry, { row: setAside(entry.row, event), lastEventAt: event.recordedAt }));
    return entry.row;
  };
  const foldOne = (event: LogEvent): CallRow | undefined => {
    if (unreadable.isOver(event.stream)) return undefined;
    if (!isReadable(event)) return foldUnreadable(event);
    unreadable.remove(event.stream);
    if (event.type === 'RunCancelled') passEach(event, unreadable, known, dirty);
    grants.fold(event);
    return event.metadata.callId !== null && types.has(event.type) ? foldCall(event.metadata.callId, event) : undefined;
  };

  return {
    checkpoint: () => checkpoint,
    fold: (event) => {
      const row = foldOne(event);
      checkpoint = { position: event.position, previous: checkpoint.position, eventId: event.eventId };
      places.fold(event);
      blocks.fold(event, find);
      pendingEvents += 1;
      return row;
    },
    isFull: () => pendingEvents >= bounds.unflushedEvents || pendingBytes >= bounds.unflushedBytes,
    flush: () => {
      if (checkpoint.position === storedPosition) return;
      let after = counts;
      inTransaction(db, () => {
        for (const entry of dirty.values()) after = writeEntry(prepare, seal, entry, after);
        for (const table of others) table.write();
        writeMeta(prepare, storedPosition, checkpoint, { ...after, ...places.counts(), ...blocks.counts() });
        if (seal !== undefined) prepare('UPDATE seal SET keys_made = ?').run(seal.keysMade());
      });
      counts = after;
      for (const table of others) table.flushed();
      storedPosition = checkpoint.position;
      pendingEvents = 0;
      pendingBytes = 0;
      keepOpen(dirty, recent);
      added.clear();
    },
    asIfFlushed: (read) => {
      const before = counts;
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const entry of dirty.values()) counts = writeEntry(prepare, seal, entry, counts);
        grants.write();
        return read();
      } finally {
        counts = before;
        if (db.isTransaction) db.exec('ROLLBACK');
      }
    },
    find,
    newInRun: added.ofRun,
    unflushed: () => dirty,
    counts: () => counts,
  };
}

/** A person ends what the sequential calls of a run wait for. That a denial ended the run says nothing about a call that cannot be read. */
function passEach(
  { data, position }: RecordedEvent,
  unreadable: UnreadableRows,
  known: (callId: string) => Entry | undefined,
  dirty: Map<string, Entry>,
): void {
  const { callIds, cancelledBy } = data as RunEvent['data'];
  if (cancelledBy === byPolicy) return;
  for (const callId of callIds) {
    const entry = unreadable.find(toolCallStream(callId)) === undefined ? undefined : known(callId);
    if (entry === undefined) continue;
    dirty.set(callId, Object.assign(entry, { row: passedAt(entry.row, position) }));
  }
}

/** Moves the rows that were written to the recent ones, but those of calls that have ended: they seldom change again. */
function keepOpen(written: Map<string, Entry>, recent: RecentRows): void {
  for (const [callId, entry] of written) {
    entry.stored = entry.row;
    if (!isSettled(entry.row.state)) recent.put(callId, entry);
  }
  written.clear();
}

/** The calls that the file does not have yet, by run. */
function createAddedCalls() {
  const byRun = new Map<string, string[]>();
  const keyOf = (tenant: string, runId: string): string => JSON.stringify([tenant, runId]);
  return {
    add: ({ request: { tenant, runId, callId } }: CallRow): void => {
      const key = keyOf(tenant, runId);
      const calls = byRun.get(key);
      if (calls === undefined) byRun.set(key, [callId]);
      else calls.push(callId);
    },
    ofRun: (tenant: string, runId: string): readonly string[] => byRun.get(keyOf(tenant, runId)) ?? [],
    clear: (): void => {
      byRun.clear();
    },
  };
}

function loadEntry(prepare: Prepare, callId: string): Entry | undefined {
  const found = prepare(`SELECT ${rowColumns} FROM calls JOIN requests USING (seq) WHERE call_id = ?`).get(callId);
  if (found === undefined) return undefined;
  const row = toCallRow(found);
  const { request, progress } = found;
  const [requestBytes, progressBytes] = [String(request).length, String(progress).length];
  return { row, stored: row, lastEventAt: '', requestBytes, progressBytes };
}

/** The checkpoint of the file, and its counts. */
export function readMeta(prepare: Prepare): {
  checkpoint: Checkpoint;
  counts: Counts;
  places: PlaceCounts;
  block: string;
} {
  const meta = prepare('SELECT * FROM meta').get() ?? {};
  return {
    checkpoint: {
      position: Number(meta['position']),
      previous: Number(meta['previous']),
      eventId: String(meta['event_id']),
    },
    counts: {
      calls: Number(meta['calls']),
      approvals: Number(meta['approvals']),
      pending: Number(meta['pending']),
      unknown: Number(meta['unknown']),
    },
    places: { events: Number(meta['events']), latest: String(meta['latest']) },
    block: String(meta['block']),
  };
}

function writeMeta(
  prepare: Prepare,
  before: number,
  { position, previous, eventId }: Checkpoint,
  { calls, approvals, pending, unknown, events, latest, block }: Counts & PlaceCounts & { readonly block: string },
): void {
  const { changes } = prepare(
    `UPDATE meta SET position = ?, previous = ?, event_id = ?, calls = ?, approvals = ?, pending = ?, unknown = ?,
       events = ?, latest = ?, block = ? WHERE position = ?`,
  ).run(position, previous, eventId, calls, approvals, pending, unknown, events, latest, block, before);
  // Two writers would each fold from rows that the other has changed.
  if (changes !== 1) throw new Error('another process writes this read model; each needs a file of its own');
}
