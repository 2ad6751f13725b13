import type { StatementSync } from 'node:sqlite';
import type { Approval } from '@countersign/domain';
import type { Counted, RunFacts } from '../read-model.js';
import { askingAtTurn } from './turns.js';
import { approvalAt, rowColumns, toCallRow } from './stored-row.js';
import type { Columns } from './stored-row.js';

type Prepare = (sql: string) => StatementSync;

/** How many of the latest decisions are looked at: silence that approved is none by a person. */
const lookedAtMax = 100;

/** The index that finds the approvals of a principal, or of one agent of it, its columns, and the names. */
function sourceOf({ requestedBy, agentId }: Counted): {
  readonly from: string;
  readonly isOf: string;
  readonly names: readonly string[];
} {
  return agentId === undefined
    ? {
        from: 'FROM approvals AS a INDEXED BY approvals_by_principal',
        isOf: 'a.requested_by = ?',
        names: [requestedBy],
      }
    : {
        from: 'FROM approvals AS a INDEXED BY approvals_by_agent',
        isOf: 'a.requested_by = ? AND a.agent_id = ?',
        names: [requestedBy, agentId],
      };
}

/** The number of calls of an agent or a principal that wait for people, counted up to `atMost`. */
export function pendingOf(prepare: Prepare, tenant: string, of: Counted, atMost: number): number {
  const { from, isOf, names } = sourceOf(of);
  const found = `SELECT 1 ${from} WHERE a.tenant = ? AND ${isOf} AND a.state = 'pending' LIMIT ?`;
  const counted = prepare(`SELECT count(*) AS pending FROM (${found})`).get(tenant, ...names, atMost);
  return Math.min(atMost, Number(counted?.['pending']) + askingAtTurn(prepare, tenant, of, atMost));
}

/** The times of the latest denials, by request the latest first, up to the last approval by a person. */
export function denialsInARow(prepare: Prepare, tenant: string, of: Counted, atMost: number): readonly string[] {
  const { from, isOf, names } = sourceOf(of);
  const ended = prepare(
    `SELECT a.seq AS approval_seq, ${rowColumns} ${from}
     CROSS JOIN calls ON calls.seq = a.call_seq CROSS JOIN requests ON requests.seq = a.call_seq
     WHERE a.tenant = ? AND ${isOf} AND a.state = ? AND a.seq > ? ORDER BY a.seq DESC LIMIT ?`,
  );
  const latestOf = (state: string, after: number, limit: number): readonly Decided[] =>
    ended.all(tenant, ...names, state, after, limit).flatMap(toDecided);
  const approved = latestOf('approved', 0, lookedAtMax).find(({ approval }) => isByPerson(approval));
  return latestOf('denied', approved?.seq ?? 0, atMost).map(({ at }) => at);
}

interface Decided {
  readonly seq: number;
  readonly approval: Approval;
  readonly at: string;
}

function toDecided(columns: Columns): Decided[] {
  const seq = Number(columns['approval_seq']);
  const approval = approvalAt(toCallRow(columns), seq);
  return approval === undefined || approval.resolution.status === 'pending'
    ? []
    : [{ seq, approval, at: approval.resolution.at }];
}

function isByPerson({ votes }: Approval): boolean {
  return votes.some(({ automatic, status }) => status === 'counted' && !automatic);
}

const countedMax = 65_536;

/** Returns the facts about a run. Only its first 65,536 calls are counted. */
export function factsOfRun(prepare: Prepare, tenant: string, runId: string, callId?: string): RunFacts {
  const calls = `SELECT seq, state, requested_at FROM calls WHERE tenant = ? AND run_id = ? LIMIT ${String(countedMax)}`;
  const before = callId === undefined ? '' : 'FILTER (WHERE seq < (SELECT seq FROM calls WHERE call_id = ?))';
  const found = prepare(
    `SELECT count(*) ${before} AS calls, sum(state = 'denied') AS denied, min(requested_at) AS started FROM (${calls})`,
  ).get(...(callId === undefined ? [] : [callId]), tenant, runId);
  const started = found?.['started'] ?? null;
  return {
    calls: Number(found?.['calls'] ?? 0),
    denied: Number(found?.['denied'] ?? 0),
    startedAt: started === null ? null : new Date(Number(started)).toISOString(),
  };
}
