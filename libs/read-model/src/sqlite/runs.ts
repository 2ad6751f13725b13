import type { StatementSync } from 'node:sqlite';
import { isSettled, toolCallStates } from '@countersign/contracts';
import type { PlaceInRun } from '@countersign/contracts';
import type { CallRow } from '../call-row.js';
import type { BatchOfRun, OpenCall, OpenCallsOfRun } from '../read-model.js';
import { rowBytes, rowColumns, toCallRow } from './stored-row.js';

type Prepare = (sql: string) => StatementSync;

const inOrder = 'FROM calls JOIN requests USING (seq) WHERE tenant = ? AND run_id = ?';
const countedMax = 65_536;
/** The calls of a run, and those up to one of them: null where the file does not have that one. */
const countedOfRun = `SELECT count(*) AS calls, sum(seq <= (SELECT seq FROM calls WHERE call_id = ?)) AS place
  FROM (SELECT seq FROM calls WHERE tenant = ? AND run_id = ? LIMIT ${String(countedMax + 1)})`;
const openStates = toolCallStates
  .filter((state) => !isSettled(state))
  .map((state) => `'${state}'`)
  .join(', ');

/** The calls of a run, in the order of their requests. */
export function callsOfRun(prepare: Prepare, tenant: string, runId: string): readonly CallRow[] {
  return prepare(`SELECT ${rowColumns} ${inOrder} ORDER BY calls.seq`).all(tenant, runId).map(toCallRow);
}

/** The stored size of the calls of a run, in bytes. */
export function bytesOfRun(prepare: Prepare, tenant: string, runId: string): number {
  const counted = `SELECT ${rowBytes} AS bytes ${inOrder} LIMIT ${String(countedMax)}`;
  const found = prepare(`SELECT coalesce(sum(bytes), 0) AS bytes FROM (${counted})`).get(tenant, runId);
  return Number(found?.['bytes']);
}

/**
 * The place of a call in its run. Each claim asks, so nothing is written for it: `newInRun` has the calls of the run that the
 * file does not have yet, in order.
 */
export function placeInRun(
  prepare: Prepare,
  call: CallRow | undefined,
  newInRun: (tenant: string, runId: string) => readonly string[],
): PlaceInRun | undefined {
  if (call === undefined) return undefined;
  const { tenant, runId, callId } = call.request;
  const added = newInRun(tenant, runId);
  const stored = prepare(countedOfRun).get(callId, tenant, runId);
  const calls = Number(stored?.['calls']);
  const of = calls + added.length;
  if (of > countedMax) return undefined;
  const place = added.indexOf(callId);
  return { n: place >= 0 ? calls + place + 1 : Number(stored?.['place']), of };
}

/** The calls of an all-or-nothing batch by its id, the oldest first, `atMost` of them. */
export function callsOfBatch(prepare: Prepare, tenant: string, batch: BatchOfRun, atMost: number): readonly string[] {
  const isOf = 'b.tenant = ? AND b.requested_by = ? AND b.run_id = ? AND b.batch_id = ?';
  const from = 'FROM batches AS b INDEXED BY batches_by_id CROSS JOIN calls ON calls.seq = b.seq';
  return prepare(`SELECT call_id ${from} WHERE ${isOf} ORDER BY b.seq LIMIT ?`)
    .all(tenant, batch.requestedBy, batch.runId, batch.batchId, atMost)
    .map((columns) => String(columns['call_id']));
}

/** The columns of an open call; the first parameter is the tenant. */
const openCall = `SELECT call_id, requested_by,
  call_id IN (SELECT call_id FROM turns WHERE waits = 1 AND tenant = ?) AS waits FROM calls`;

/** The open calls of a run and of those that run inside it, and every principal that has a call in the run. */
export function openCallsOfRun(prepare: Prepare, tenant: string, runId: string): OpenCallsOfRun {
  const inside = 'SELECT seq FROM nested WHERE tenant = ? AND outer_run = ?';
  const own = 'SELECT seq FROM calls WHERE tenant = ? AND run_id = ?';
  const sql = `${openCall} WHERE seq IN (${own} UNION ${inside}) AND state IN (${openStates}) ORDER BY seq`;
  const calls = prepare(sql).all(tenant, tenant, runId, tenant, runId).map(toOpenCall);
  const requesters = prepare('SELECT DISTINCT requested_by FROM runs WHERE tenant = ? AND run_id = ?')
    .all(tenant, runId)
    .map((columns) => String(columns['requested_by']));
  return { calls, requesters };
}

/** The open calls that run inside a call of the same principal. */
export function openCallsInside(prepare: Prepare, tenant: string, callId: string): readonly OpenCall[] {
  const inside = 'SELECT seq FROM nested WHERE tenant = ? AND outer_call = ?';
  const sql = `${openCall} WHERE seq IN (${inside}) AND state IN (${openStates}) ORDER BY seq`;
  return prepare(sql).all(tenant, tenant, callId).map(toOpenCall);
}

function toOpenCall(columns: Readonly<Record<string, unknown>>): OpenCall {
  const { call_id: callId, requested_by: requestedBy, waits } = columns;
  const turn = waits === 1 ? { waitsForTurn: true as const } : {};
  return { callId: String(callId), requestedBy: String(requestedBy), ...turn };
}
