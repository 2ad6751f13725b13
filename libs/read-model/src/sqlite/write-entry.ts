import type { StatementSync } from 'node:sqlite';
import { isSettled } from '@countersign/contracts';
import type { CallRow } from '../call-row.js';
import { toStoredText } from './database.js';
import type { RowSeal } from './database.js';
import { approvalColumns, callColumns, changingColumns } from './listed-columns.js';
import type { Entry } from './recent-rows.js';
import { writeEndedRun, writeTurn } from './turns.js';
import { toStoredProgress, toStoredRequest } from './stored-row.js';

type Prepare = (sql: string) => StatementSync;

/** The row counts of the file. */
export interface Counts {
  readonly calls: number;
  readonly approvals: number;
  readonly pending: number;
  /** Calls whose outcome is unknown. */
  readonly unknown: number;
}

/** Writes a changed row with its approvals and its run. Returns the counts after it. */
export function writeEntry(prepare: Prepare, seal: RowSeal | undefined, entry: Entry, counts: Counts): Counts {
  const { row, stored } = entry;
  writeCall(prepare, seal, entry);
  const approvals = writeApprovals(prepare, row, stored?.approvals ?? []);
  writeRun(prepare, entry, approvals.pending);
  writeTurn(prepare, row, stored);
  writeEndedRun(prepare, row, stored);
  const isUnknown = (one: CallRow | null): number => Number(one?.state === 'unknown');
  return {
    calls: counts.calls + (stored === null ? 1 : 0),
    approvals: counts.approvals + approvals.added,
    pending: counts.pending + approvals.pending,
    unknown: counts.unknown + isUnknown(row) - isUnknown(stored),
  };
}

function writeCall(prepare: Prepare, seal: RowSeal | undefined, entry: Entry): void {
  const { row, stored } = entry;
  const progress = toStoredText(seal, row.sealKey, toStoredProgress(row));
  entry.progressBytes = progress.length;
  if (stored !== null) {
    const sql = 'UPDATE calls SET state = ?, due_at = ?, progress = ? WHERE seq = ?';
    prepare(sql).run(row.state, row.dueAt, progress, row.seq);
    return;
  }
  const request = toStoredText(seal, row.sealKey, toStoredRequest(row));
  entry.requestBytes = request.length;
  const { tenant, runId, requestedBy } = row.request;
  prepare('INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(...callColumns(row), progress);
  prepare('INSERT INTO requests VALUES (?, ?)').run(row.seq, request);
  for (const outer of outerCalls(row.request))
    prepare('INSERT INTO nested VALUES (?, ?, ?, ?)').run(row.seq, tenant, outer.runId, outer.callId);
  const { batchId, batchMode } = row.request;
  if (batchMode === 'all-or-nothing' && batchId !== null)
    prepare('INSERT INTO batches VALUES (?, ?, ?, ?, ?)').run(row.seq, tenant, requestedBy, runId, batchId);
}

/**
 * The calls of the same principal inside which a call runs. Attack: an agent says that its call runs inside that of
 * another principal, so that it is cancelled, or listed, along with it.
 */
function outerCalls({ requestedBy, chain = [] }: CallRow['request']) {
  return chain.filter((link) => link.requestedBy === requestedBy);
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
    pending += (state === 'pending' ? 1 : 0) - (before?.resolution.status === 'pending' ? 1 : 0);
    if (before === undefined) {
      const sql = 'INSERT INTO approvals VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)';
      prepare(sql).run(...approvalColumns(row, approval, seq));
    } else {
      prepare(
        'UPDATE approvals SET state = ?, asked = ?, risk = ?, expires_at = ?, responded_by = ? WHERE seq = ?',
      ).run(state, ...changingColumns(approval), seq);
    }
  });
  return { added: row.approvals.length - stored.length, pending };
}

/** Adds what changed to the run. Its `seq` is that of its first call, which is always written first. */
function writeRun(prepare: Prepare, { row, stored, lastEventAt }: Entry, pending: number): void {
  const { tenant, runId, agentId, requestedBy } = row.request;
  const isOpen = (one: CallRow | null): number => Number(one !== null && !isSettled(one.state));
  prepare(
    `INSERT INTO runs VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
       open_calls = open_calls + excluded.open_calls, pending = pending + excluded.pending,
       last_event_at = max(last_event_at, excluded.last_event_at)`,
  ).run(...[tenant, runId, agentId, requestedBy, row.seq, isOpen(row) - isOpen(stored), pending, lastEventAt]);
}
