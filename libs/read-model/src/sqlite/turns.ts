import type { StatementSync } from 'node:sqlite';
import { isSettled } from '@countersign/contracts';
import { queuedIn, queueOf } from '@countersign/domain';
import type { CallRow } from '../call-row.js';
import type { CallInTurn, Counted, HeldTurn } from '../read-model.js';

type Prepare = (sql: string) => StatementSync;

/** Keeps the row of a sequential call in the queue of its run until the call is settled. */
export function writeTurn(prepare: Prepare, row: CallRow, stored: CallRow | null): void {
  if (row.place === null) return;
  const queue = queueOf(row.request);
  if (stored !== null && stored.place !== null) {
    prepare('DELETE FROM turns WHERE queue = ? AND place = ?').run(queue, stored.place);
  }
  if (isSettled(row.state)) return;
  const { tenant, callId, requestedBy, runId, agentId } = row.request;
  const queued = queuedIn(row);
  // Nothing is known of a call that cannot be read: it may be running.
  const waits = Number(queued !== undefined && row.unreadable === null);
  const asks = Number(queued !== undefined && queued.question !== null);
  prepare('INSERT INTO turns VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').run(
    ...[queue, row.place, tenant, callId, requestedBy, runId, agentId, asks, waits, roundOf(row)],
    ...[Number(row.unreadable !== null), row.unreadable?.passedAt ?? null],
  );
}

/** The round of a question about a call at its place. */
function roundOf({ approvals }: CallRow): number {
  return (approvals.at(-1)?.round ?? 0) + 1;
}

/** Keeps the latest denial with which a rule ended the run of a principal. */
export function writeEndedRun(prepare: Prepare, { request, endedRunAt }: CallRow, stored: CallRow | null): void {
  if (endedRunAt === null || endedRunAt === stored?.endedRunAt) return;
  const { tenant, requestedBy, runId, callId } = request;
  prepare(
    `INSERT INTO ended_runs VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET seq = excluded.seq, call_id = excluded.call_id WHERE excluded.seq > seq`,
  ).run(tenant, requestedBy, runId, endedRunAt, callId);
}

/** A call in its queue, and the call whose denial ended the run after that one began to wait. */
const inTurn = `SELECT turns.tenant, turns.call_id, place, waits, round, ended.call_id AS ended_by
  FROM turns LEFT JOIN ended_runs AS ended ON ended.tenant = turns.tenant AND ended.requested_by = turns.requested_by
  AND ended.run_id = turns.run_id AND ended.seq > turns.place`;

/** True of a call for which a later one does not wait, if that is queued after `passed_at`. */
const isPassed = 'turns.passed_at IS NOT NULL';
/** False of a call that waits for one that cannot be read. */
const isFree = `NOT EXISTS (SELECT 1 FROM turns AS other
  WHERE other.held = 1 AND other.queue = turns.queue AND other.passed_at > turns.place)`;

/** The first call of a queue that is not settled; undefined: there is none. */
export function firstInQueue(prepare: Prepare, queue: string): CallInTurn | undefined {
  const first = prepare(`${inTurn} WHERE queue = ? AND NOT ${isPassed} ORDER BY place LIMIT 1`).get(queue);
  const isFirst = first !== undefined && prepare(`${inTurn} WHERE queue = ? AND place = ? AND ${isFree}`);
  const found = isFirst ? isFirst.get(queue, Number(first['place'])) : undefined;
  const held = found ?? prepare(`${inTurn} WHERE queue = ? ORDER BY place LIMIT 1`).get(queue);
  return held && toCallInTurn(held);
}

/** The calls that are the first of their queues, and wait although nothing is before them. */
export function turnsToTake(prepare: Prepare): readonly CallInTurn[] {
  const first = `SELECT place FROM turns AS other WHERE other.queue = turns.queue AND other.passed_at IS NULL
    ORDER BY place LIMIT 1`;
  return prepare(`${inTurn} WHERE waits = 1 AND place = (${first}) AND ${isFree}`).all().map(toCallInTurn);
}

/** The calls that cannot be read and for which others wait. */
export function turnsHeld(prepare: Prepare): readonly HeldTurn[] {
  const behind = `SELECT 1 FROM turns AS other WHERE other.queue = turns.queue AND other.place > turns.place
    AND (turns.passed_at IS NULL OR other.place < turns.passed_at)`;
  const sql = `SELECT tenant, call_id, run_id FROM turns WHERE held = 1 AND EXISTS (${behind}) ORDER BY place`;
  return prepare(sql)
    .all()
    .map(({ tenant, call_id: callId, run_id: runId }) => ({
      ...{ tenant: String(tenant), callId: String(callId), runId: String(runId) },
    }));
}

/** The number of calls about which people will be asked at their turn, counted up to `atMost`. */
export function askingAtTurn(
  prepare: Prepare,
  tenant: string,
  { requestedBy, agentId }: Counted,
  atMost: number,
): number {
  const isOf = agentId === undefined ? '' : 'AND agent_id = ?';
  const found = `SELECT 1 FROM turns WHERE asks = 1 AND tenant = ? AND requested_by = ? ${isOf} LIMIT ?`;
  const names = agentId === undefined ? [requestedBy] : [requestedBy, agentId];
  const counted = prepare(`SELECT count(*) AS asking FROM (${found})`).get(tenant, ...names, atMost);
  return Number(counted?.['asking']);
}

function toCallInTurn(columns: Readonly<Record<string, unknown>>): CallInTurn {
  const { tenant, call_id: callId, waits, round, ended_by: endedBy } = columns;
  const ended = typeof endedBy === 'string' ? { endedBy } : {};
  return { tenant: String(tenant), callId: String(callId), waits: waits === 1, round: Number(round), ...ended };
}
