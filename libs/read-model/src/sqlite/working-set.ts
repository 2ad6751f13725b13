import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { isSettled, toolCallEventTypes, weigh } from '@countersign/contracts';
import type { RecordedEvent } from '@countersign/contracts';
import { groupsAsked } from '@countersign/domain';
import type { CallRow } from '../call-row.js';
import { evolve } from '../evolve.js';
import { inTransaction } from './database.js';
import { createRecentRows } from './recent-rows.js';
import type { Entry } from './recent-rows.js';
import { rowColumns, toAsked, toCallRow, toStoredProgress, toStoredRequest } from './stored-row.js';

/** The folded position of the log: the last event, and the one before it. */
export interface Checkpoint {
  readonly position: number;
  readonly previous: number;
  readonly eventId: string;
}

/** The row counts of the file. */
export interface Counts {
  readonly calls: number;
  readonly approvals: number;
  readonly pending: number;
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
  unflushedEvents: 1024,
  unflushedBytes: 4 * 1024 * 1024,
};

/**
 * The changed rows: folded in memory, and written to the file a few hundred events at a time. A crash loses nothing,
 * since they are folded from the log again; and a call that starts and ends in one burst is written once.
 */
export interface WorkingSet {
  readonly checkpoint: () => Checkpoint;
  /** Folds one event. Returns its row when it is a tool call's event. The caller checks `isFull` afterwards. */
  readonly fold: (event: RecordedEvent) => CallRow | undefined;
  readonly isFull: () => boolean;
  /**
   * Writes the changed rows and the checkpoint in one transaction; when that fails, all of it remains to be written.
   */
  readonly flush: () => void;
  /** Reads the file as `flush` would leave it, and leaves it as it is: for a disk that is full. */
  readonly asIfFlushed: <T>(read: () => T) => T;
  readonly find: (callId: string) => CallRow | undefined;
  /** The rows that differ from the file. */
  readonly unflushed: () => ReadonlyMap<string, { readonly row: CallRow }>;
  /** Reads the file: flush first. */
  readonly counts: () => Counts;
}

const types: ReadonlySet<string> = new Set(toolCallEventTypes);

type Prepare = (sql: string) => StatementSync;

/** The working set over an opened file. */
export function createWorkingSet(db: DatabaseSync, prepare: Prepare, bounds: Bounds): WorkingSet {
  const stored = readMeta(prepare);
  let checkpoint: Checkpoint = stored.checkpoint;
  let counts: Counts = stored.counts;
  let storedPosition = checkpoint.position;
  let pendingEvents = 0;
  let pendingBytes = 0;
  const dirty = new Map<string, Entry>();
  const recent = createRecentRows(bounds.recentRows, bounds.recentBytes);

  const load = (callId: string): Entry | undefined => {
    const found = prepare(`SELECT ${rowColumns} FROM calls JOIN requests USING (seq) WHERE call_id = ?`).get(callId);
    if (found === undefined) return undefined;
    const row = toCallRow(found);
    const { request, progress } = found;
    return { row, stored: row.approvals, requestBytes: String(request).length, progressBytes: String(progress).length };
  };

  const foldCall = (callId: string, event: RecordedEvent): CallRow | undefined => {
    // The first event of a stream has nothing to be looked for.
    const entry = event.revision === 0 ? undefined : (dirty.get(callId) ?? recent.take(callId) ?? load(callId));
    const row = evolve(entry?.row, event);
    if (row === undefined) return undefined;
    pendingBytes += weigh(event);
    if (entry === undefined) {
      dirty.set(callId, { row, stored: null, requestBytes: 0, progressBytes: 0 });
      return row;
    }
    // A small event of a large call keeps the whole call in memory until it is written.
    if (!dirty.has(callId)) pendingBytes += entry.requestBytes + entry.progressBytes;
    entry.row = row;
    dirty.set(callId, entry);
    return row;
  };

  return {
    checkpoint: () => checkpoint,
    fold: (event) => {
      const { callId } = event.metadata;
      const row = callId !== null && types.has(event.type) ? foldCall(callId, event) : undefined;
      checkpoint = { position: event.position, previous: checkpoint.position, eventId: event.eventId };
      pendingEvents += 1;
      return row;
    },
    isFull: () => pendingEvents >= bounds.unflushedEvents || pendingBytes >= bounds.unflushedBytes,
    flush: () => {
      if (checkpoint.position === storedPosition) return;
      let after = counts;
      inTransaction(db, () => {
        for (const entry of dirty.values()) after = write(prepare, entry, after);
        writeMeta(prepare, storedPosition, checkpoint, after);
      });
      counts = after;
      storedPosition = checkpoint.position;
      pendingEvents = 0;
      pendingBytes = 0;
      for (const [callId, entry] of dirty) {
        entry.stored = entry.row.approvals;
        // A call that has ended seldom changes again.
        if (!isSettled(entry.row.state)) recent.put(callId, entry);
      }
      dirty.clear();
    },
    asIfFlushed: (read) => {
      const before = counts;
      db.exec('BEGIN IMMEDIATE');
      try {
        for (const entry of dirty.values()) counts = write(prepare, entry, counts);
        return read();
      } finally {
        counts = before;
        if (db.isTransaction) db.exec('ROLLBACK');
      }
    },
    find: (callId) => {
      const kept = dirty.get(callId) ?? recent.get(callId);
      if (kept !== undefined) return kept.row;
      const entry = load(callId);
      if (entry !== undefined) recent.put(callId, entry);
      return entry?.row;
    },
    unflushed: () => dirty,
    counts: () => counts,
  };
}

function readMeta(prepare: Prepare): { checkpoint: Checkpoint; counts: Counts } {
  const meta = prepare('SELECT * FROM meta').get() ?? {};
  return {
    checkpoint: {
      position: Number(meta['position']),
      previous: Number(meta['previous']),
      eventId: String(meta['event_id']),
    },
    counts: { calls: Number(meta['calls']), approvals: Number(meta['approvals']), pending: Number(meta['pending']) },
  };
}

function writeMeta(
  prepare: Prepare,
  before: number,
  { position, previous, eventId }: Checkpoint,
  counts: Counts,
): void {
  const { changes } = prepare(
    'UPDATE meta SET position = ?, previous = ?, event_id = ?, calls = ?, approvals = ?, pending = ? WHERE position = ?',
  ).run(position, previous, eventId, counts.calls, counts.approvals, counts.pending, before);
  // Two writers would each fold from rows that the other has changed.
  if (changes !== 1) throw new Error('another process writes this read model; each needs a file of its own');
}

function write(prepare: Prepare, entry: Entry, counts: Counts): Counts {
  const { row, stored } = entry;
  const progress = toStoredProgress(row);
  entry.progressBytes = progress.length;
  const isOpen = isSettled(row.state) ? 0 : 1;
  if (stored === null) {
    const request = toStoredRequest(row);
    entry.requestBytes = request.length;
    const { callId, tenant, runId } = row.request;
    prepare('INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?)').run(
      row.seq,
      callId,
      tenant,
      runId,
      isOpen,
      row.dueAt,
      progress,
    );
    prepare('INSERT INTO requests VALUES (?, ?)').run(row.seq, request);
  } else {
    prepare('UPDATE calls SET is_open = ?, due_at = ?, progress = ? WHERE seq = ?').run(
      isOpen,
      row.dueAt,
      progress,
      row.seq,
    );
  }
  const approvals = writeApprovals(prepare, row, stored ?? []);
  return {
    calls: counts.calls + (stored === null ? 1 : 0),
    approvals: counts.approvals + approvals.added,
    pending: counts.pending + approvals.pending,
  };
}

/** Writes the approvals that differ from the stored ones; an unchanged approval is the same object. */
function writeApprovals(
  prepare: Prepare,
  row: CallRow,
  stored: CallRow['approvals'],
): { added: number; pending: number } {
  let pending = 0;
  row.approvals.forEach((approval, index) => {
    const before = stored[index];
    if (before === approval) return;
    const state = approval.resolution.status;
    const seq = row.approvalSeqs[index] ?? 0;
    const asked = toAsked(groupsAsked(approval));
    pending += (state === 'pending' ? 1 : 0) - (before?.resolution.status === 'pending' ? 1 : 0);
    if (before === undefined) {
      const { tenant, toolName, runId, agentId } = row.request;
      prepare('INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?)').run(
        ...[seq, row.seq, tenant, state, toolName, runId, agentId, asked],
      );
    } else {
      prepare('UPDATE approvals SET state = ?, asked = ? WHERE seq = ?').run(state, asked, seq);
    }
  });
  return { added: row.approvals.length - stored.length, pending };
}
