import type { StatementSync } from 'node:sqlite';
import type { CallRow } from '../call-row.js';
import type { DueCall } from '../read-model.js';
import type { WorkingSet } from './working-set.js';

/** The deadlines of all calls. */
export interface Deadlines {
  /** Receives every change of a row, so that `nextDueAt` seldom has to query. */
  readonly changed: (row: CallRow) => void;
  /** Called when rows were written to the file. */
  readonly flushed: () => void;
  readonly nextDueAt: () => number | null;
  /** Reads the file: flush first. */
  readonly due: (atMs: number, limit: number) => readonly DueCall[];
}

interface Earliest {
  readonly seq: number;
  readonly dueAt: number;
}

/** The deadlines of the file and of the rows that are not in it yet. */
export function createDeadlines(
  prepare: (sql: string) => StatementSync,
  rows: Pick<WorkingSet, 'unflushed'>,
): Deadlines {
  /** Undefined: unknown, query it. */
  let earliest: Earliest | null | undefined;
  /** No row of the file that is due earlier still holds: those before it have changed since. */
  let from = 0;

  const inMemory = (): Earliest | null => {
    let first: Earliest | null = null;
    for (const { row } of rows.unflushed().values()) {
      if (row.dueAt !== null && (first === null || row.dueAt < first.dueAt)) first = { seq: row.seq, dueAt: row.dueAt };
    }
    return first;
  };
  const look = (): Earliest | null => {
    const first = inMemory();
    const query = prepare(
      'SELECT seq, call_id, due_at FROM calls WHERE due_at IS NOT NULL AND due_at >= ? ORDER BY due_at',
    );
    for (const columns of query.iterate(from)) {
      const inFile = { seq: Number(columns['seq']), dueAt: Number(columns['due_at']) };
      from = inFile.dueAt;
      if (rows.unflushed().has(String(columns['call_id']))) continue;
      return first === null || inFile.dueAt < first.dueAt ? inFile : first;
    }
    from = Number.MAX_SAFE_INTEGER;
    return first;
  };
  return {
    changed: ({ seq, dueAt }) => {
      if (earliest === undefined) return;
      if (dueAt !== null && (earliest === null || dueAt <= earliest.dueAt)) earliest = { seq, dueAt };
      else if (earliest?.seq === seq) earliest = undefined;
    },
    flushed: () => {
      from = 0;
    },
    nextDueAt: () => {
      if (earliest === undefined) earliest = look();
      return earliest?.dueAt ?? null;
    },
    due: (atMs, limit) =>
      prepare(
        'SELECT tenant, call_id, due_at FROM calls WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY due_at, seq LIMIT ?',
      )
        .all(atMs, limit)
        .map((columns) => ({
          tenant: String(columns['tenant']),
          callId: String(columns['call_id']),
          dueAt: Number(columns['due_at']),
        })),
  };
}
