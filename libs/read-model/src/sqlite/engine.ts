import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { parseApprovalId } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import { isSequential, queueOf } from '@countersign/domain';
import { isShown } from '../call-row.js';
import type { CallRow } from '../call-row.js';
import type { ApprovalOfCall, ReadModel } from '../read-model.js';
import { denialsInARow, factsOfRun, pendingOf } from './agent-history.js';
import { listApprovals } from './approvals-list.js';
import { listCalls, listRuns } from './calls-list.js';
import { createStatements, isDiskFull } from './database.js';
import { createGrantRows } from './grant-rows.js';
import type { RowSeal } from './database.js';
import { isListedBy } from './listed-columns.js';
import { createDeadlines } from './deadlines.js';
import { createBlockRows } from './block-rows.js';
import { createPlaceRows } from './places.js';
import { bytesOfRun, callsOfBatch, callsOfRun, openCallsInside, openCallsOfRun, placeInRun } from './runs.js';
import { approvalAt, rowColumns, toCallRow } from './stored-row.js';
import type { Columns } from './stored-row.js';
import { firstInQueue, turnsHeld, turnsToTake } from './turns.js';
import { createUnreadableRows } from './unreadable-rows.js';
import { createWorkingSet, readMeta } from './working-set.js';
import type { Bounds, Checkpoint } from './working-set.js';

/** One opened file: all of a read model except its listeners and waiters. */
export interface Engine extends Pick<
  ReadModel,
  | 'toolCall'
  | 'requesterOf'
  | 'approval'
  | 'run'
  | 'runBytes'
  | 'openCallsInside'
  | 'openCallsOfRun'
  | 'callsOfBatch'
  | 'pendingOf'
  | 'denialsInARow'
  | 'factsOfRun'
  | 'placeInRun'
  | 'listApprovals'
  | 'listCalls'
  | 'listRuns'
  | 'grants'
  | 'unreadable'
  | 'due'
  | 'firstInQueueOf'
  | 'turnsToTake'
  | 'turnsHeld'
  | 'nextDueAt'
  | 'stats'
  | 'tenantsAsked'
  | 'tenants'
  | 'pendingSince'
  | 'places'
  | 'blocks'
  | 'flush'
  | 'close'
> {
  readonly checkpoint: () => Checkpoint;
  /** Whether lists find a call and its approvals by the columns that its row gives. */
  readonly isListedBy: (row: CallRow) => boolean;
  /** The calls that were first seen after a position, up to another one. */
  readonly callsBetween: (after: number, upTo: number) => readonly string[];
  /** Folds events that lie after the checkpoint, and collects the ids of the calls that they changed. */
  readonly apply: (events: readonly LogEvent[], changed: Set<string>) => void;
}

type Prepare = (sql: string) => StatementSync;

function queueOfCall(row: CallRow | undefined): string | undefined {
  return row !== undefined && isSequential(row.request) ? queueOf(row.request) : undefined;
}

/** Everything over an opened database, which it closes in the end. */
export function createEngine(db: DatabaseSync, bounds: Bounds, seal?: RowSeal): Engine {
  const prepare = createStatements(db);
  const unreadable = createUnreadableRows(prepare);
  const grants = createGrantRows(prepare, unreadable, seal);
  const stored = readMeta(prepare);
  const places = createPlaceRows(prepare, stored.checkpoint.position, stored.places);
  const blocks = createBlockRows(prepare, stored.checkpoint.position, stored.block);
  const rows = createWorkingSet(db, prepare, bounds, { grants, unreadable, places, blocks }, seal);
  const deadlines = createDeadlines(prepare, rows);

  const flush = (): void => {
    rows.flush();
    deadlines.flushed();
  };
  /** For queries that only the file can answer. On a full disk the file stays at its last flush. */
  const fromFile = <T>(read: () => T): T => {
    try {
      flush();
    } catch (error) {
      if (isDiskFull(error)) return rows.asIfFlushed(read);
      throw error;
    }
    return read();
  };
  const anyCall = (tenant: string, callId: string): CallRow | undefined => {
    const row = rows.find(callId);
    return row?.request.tenant === tenant ? row : undefined;
  };
  const toolCall = (tenant: string, callId: string): CallRow | undefined => {
    const row = anyCall(tenant, callId);
    return row !== undefined && isShown(row) ? row : undefined;
  };

  return {
    checkpoint: rows.checkpoint,
    apply: (events, changed) => {
      let failure: { readonly error: unknown } | undefined;
      for (const event of events) {
        const row = rows.fold(event);
        if (row !== undefined) {
          changed.add(row.request.callId);
          deadlines.changed(row);
        }
        if (failure === undefined && rows.isFull()) failure = attempt(flush);
      }
      // Folding must succeed first, so that reads work; the file can be written later.
      if (failure !== undefined) throw failure.error;
    },
    toolCall,
    requesterOf: (tenant, callId) => anyCall(tenant, callId)?.request.requestedBy,
    approval: (tenant, approvalId) => findApproval(toolCall, tenant, approvalId),
    run: (tenant, runId) => fromFile(() => callsOfRun(prepare, tenant, runId)).filter(isShown),
    runBytes: (tenant, runId) => fromFile(() => bytesOfRun(prepare, tenant, runId)),
    pendingOf: (...of) => fromFile(() => pendingOf(prepare, ...of)),
    denialsInARow: (...of) => fromFile(() => denialsInARow(prepare, ...of)),
    factsOfRun: (...of) => fromFile(() => factsOfRun(prepare, ...of)),
    placeInRun: (tenant, callId) => placeInRun(prepare, toolCall(tenant, callId), rows.newInRun),
    callsOfBatch: (...of) => fromFile(() => callsOfBatch(prepare, ...of)),
    openCallsOfRun: (tenant, runId) => fromFile(() => openCallsOfRun(prepare, tenant, runId)),
    openCallsInside: (tenant, callId) => fromFile(() => openCallsInside(prepare, tenant, callId)),
    listApprovals: (tenant, query) => fromFile(() => listApprovals(prepare, tenant, query, rows.checkpoint().position)),
    listCalls: (tenant, query) => fromFile(() => listCalls(prepare, tenant, query, rows.checkpoint().position)),
    listRuns: (tenant, query) => fromFile(() => listRuns(prepare, tenant, query, rows.checkpoint().position)),
    grants: {
      ...grants,
      list: (...given) => fromFile(() => grants.list(rows.checkpoint().position, ...given)),
    },
    unreadable,
    due: (atMs, limit) => fromFile(() => deadlines.due(atMs, limit)),
    nextDueAt: deadlines.nextDueAt,
    firstInQueueOf: (...of) => {
      const queue = queueOfCall(anyCall(...of));
      return queue === undefined ? undefined : fromFile(() => firstInQueue(prepare, queue));
    },
    ...otherReads(prepare, fromFile),
    stats: () =>
      fromFile(() => {
        const { calls, approvals, pending, unknown } = rows.counts();
        return {
          checkpoint: rows.checkpoint().position,
          calls,
          approvals,
          pendingApprovals: pending,
          unknownOutcomes: unknown,
          oldestPendingAt: oldestPendingAt(prepare),
        };
      }),
    ...tenantReads(prepare, fromFile),
    places: { before: places.before, upTo: places.upTo },
    blocks: { next: blocks.next },
    pendingSince: (atMs) =>
      fromFile(() => {
        const count = `SELECT count(*) AS pending FROM approvals INDEXED BY approvals_pending
          WHERE state = 'pending' AND requested_at <= ?`;
        return Number(prepare(count).get(atMs)?.['pending'] ?? 0);
      }),
    flush,
    close: () => {
      if (!db.isOpen) return;
      flush();
      db.close();
    },
  };
}

function otherReads(
  prepare: Prepare,
  fromFile: <T>(read: () => T) => T,
): Pick<Engine, 'turnsToTake' | 'turnsHeld' | 'isListedBy' | 'callsBetween'> {
  return {
    turnsToTake: () => fromFile(() => turnsToTake(prepare)),
    turnsHeld: () => fromFile(() => turnsHeld(prepare)),
    isListedBy: (row) => fromFile(() => isListedBy(prepare, row)),
    callsBetween: (...between) => fromFile(() => callsBetween(prepare, ...between)),
  };
}

function tenantReads(prepare: Prepare, fromFile: <T>(read: () => T) => T): Pick<Engine, 'tenantsAsked' | 'tenants'> {
  return {
    tenantsAsked: () => fromFile(() => tenantsAsked(prepare)),
    tenants: () => fromFile(() => tenantsOfCalls(prepare)),
  };
}

/** The error of the work, if any. */
function attempt(work: () => void): { readonly error: unknown } | undefined {
  try {
    work();
    return undefined;
  } catch (error) {
    return { error };
  }
}

/** An approval's id carries that of its call, so no index of approvals is needed. */
function findApproval(toolCall: Engine['toolCall'], tenant: string, approvalId: string): ApprovalOfCall | undefined {
  const parsed = parseApprovalId(approvalId);
  const call = parsed === undefined ? undefined : toolCall(tenant, parsed.callId);
  const approval = call?.approvals.find((one) => one.approvalId === approvalId);
  return call === undefined || approval === undefined ? undefined : { call, approval };
}

function callsBetween(prepare: Prepare, after: number, upTo: number): readonly string[] {
  const found = prepare('SELECT call_id FROM calls WHERE seq > ? AND seq <= ?').all(after, upTo);
  return found.map((columns) => String(columns['call_id']));
}

function tenantsAsked(prepare: Prepare): readonly string[] {
  const tenants = `SELECT DISTINCT tenant FROM approvals INDEXED BY approvals_pending WHERE state = 'pending'`;
  return prepare(tenants)
    .all()
    .map(({ tenant }) => String(tenant));
}

/** Steps along the index, once per tenant. */
function tenantsOfCalls(prepare: Prepare): readonly string[] {
  const next = prepare('SELECT tenant FROM calls INDEXED BY calls_by_state WHERE tenant > ? ORDER BY tenant LIMIT 1');
  const tenants: string[] = [];
  for (let found = next.get(''); found !== undefined; found = next.get(tenants.at(-1) ?? '')) {
    tenants.push(String(found['tenant']));
  }
  return tenants;
}

/** When the oldest pending approval was requested. It steps along the index, once per tenant. */
function oldestPendingAt(prepare: Prepare): string | null {
  const next = prepare(
    `SELECT tenant, seq, call_seq FROM approvals INDEXED BY approvals_pending
     WHERE state = 'pending' AND tenant > ? ORDER BY tenant, seq LIMIT 1`,
  );
  let oldest: Columns | undefined;
  let found = next.get('');
  while (found !== undefined) {
    if (oldest === undefined || Number(found['seq']) < Number(oldest['seq'])) oldest = found;
    found = next.get(String(found['tenant']));
  }
  return oldest === undefined ? null : requestedAtOf(prepare, oldest);
}

function requestedAtOf(prepare: Prepare, approval: Columns): string | null {
  const call = prepare(`SELECT ${rowColumns} FROM calls JOIN requests USING (seq) WHERE seq = ?`).get(
    Number(approval['call_seq']),
  );
  if (call === undefined) return null;
  return approvalAt(toCallRow(call), Number(approval['seq']))?.requestedAt ?? null;
}
