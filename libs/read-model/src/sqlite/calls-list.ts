import type { StatementSync } from 'node:sqlite';
import { toolCallStates } from '@countersign/contracts';
import { isShown } from '../call-row.js';
import type { CallRow } from '../call-row.js';
import type { CallsQuery, OpenRun, Page, RunsQuery } from '../read-model.js';
import { inLogOrder, pageOf, pageSizeDefault, pageStart } from './page.js';
import { rowBytes, rowColumns, toCallRow } from './stored-row.js';
import type { Columns } from './stored-row.js';

type Prepare = (sql: string) => StatementSync;

/** Absent filters are null, so that there is one statement for all of them. */
const filters = `
  AND (:toolName IS NULL OR tool_name = :toolName) AND (:runId IS NULL OR run_id = :runId)
  AND (:agentId IS NULL OR agent_id = :agentId) AND (:requestedBy IS NULL OR requested_by = :requestedBy)
  AND (:sinceMs IS NULL OR requested_at >= :sinceMs)`;

/** Reads one page of calls. The index has the calls of each state in order; SQLite merges the states lazily. */
export function listCalls(prepare: Prepare, tenant: string, query: CallsQuery, position: number): Page<CallRow> {
  const { toolName = null, runId = null, agentId = null, requestedBy = null, sinceMs = null } = query;
  const limit = query.limit ?? pageSizeDefault;
  const states = [...new Set(query.states ?? toolCallStates)];
  const start = pageStart('calls', query.order ?? 'newest', query.cursor);
  if (start === undefined) return { status: 'invalid-cursor' };
  const { after, beyond, direction } = start;
  const ofOneState = (index: number): string =>
    `SELECT seq FROM calls INDEXED BY calls_by_state
     WHERE tenant = :tenant AND state = :state${String(index)} AND seq ${beyond} :after ${filters}`;
  const statement = prepare(
    `SELECT calls.seq AS page_seq, ${rowBytes} AS bytes, ${rowColumns}
     FROM (${states.map((_, index) => ofOneState(index)).join(' UNION ALL ')} ORDER BY seq ${direction} LIMIT :count) AS found
     CROSS JOIN calls ON calls.seq = found.seq CROSS JOIN requests ON requests.seq = found.seq
     ORDER BY found.seq ${direction}`,
  );
  const named = Object.fromEntries(states.map((state, index) => [`state${String(index)}`, state]));
  const found = statement.iterate({
    ...{ ...named, tenant, after, count: limit + 1 },
    ...{ toolName, runId, agentId, requestedBy, sinceMs },
  });
  return pageOf(inLogOrder(start), found, { limit, scanned: limit }, position, toShownCall);
}

function toShownCall(columns: Columns): CallRow | undefined {
  const row = toCallRow(columns);
  return isShown(row) ? row : undefined;
}

/** Reads one page of the runs that have open calls, those begun last first. */
export function listRuns(prepare: Prepare, tenant: string, query: RunsQuery, position: number): Page<OpenRun> {
  const { agentId = null, requestedBy = null, limit = pageSizeDefault } = query;
  const start = pageStart('runs', 'newest', query.cursor);
  if (start === undefined) return { status: 'invalid-cursor' };
  const found = prepare(
    `SELECT found.seq AS page_seq, 0 AS bytes, runs.*
     FROM (
       SELECT seq, tenant, run_id, agent_id, requested_by FROM runs INDEXED BY runs_open
       WHERE tenant = :tenant AND open_calls > 0 AND seq < :after
         AND (:agentId IS NULL OR agent_id = :agentId) AND (:requestedBy IS NULL OR requested_by = :requestedBy)
       ORDER BY seq DESC LIMIT :count
     ) AS found CROSS JOIN runs USING (tenant, run_id, agent_id, requested_by)
     ORDER BY found.seq DESC`,
  ).iterate({ tenant, after: start.after, agentId, requestedBy, count: limit + 1 });
  return pageOf(inLogOrder(start), found, { limit, scanned: limit }, position, toOpenRun);
}

function toOpenRun(columns: Columns): OpenRun {
  return {
    runId: String(columns['run_id']),
    agentId: String(columns['agent_id']),
    requestedBy: String(columns['requested_by']),
    openCalls: Number(columns['open_calls']),
    pendingApprovals: Number(columns['pending']),
    lastEventAt: String(columns['last_event_at']),
  };
}
