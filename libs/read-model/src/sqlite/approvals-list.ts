import type { StatementSync } from 'node:sqlite';
import type { ApprovalState } from '@countersign/contracts';
import type { ApprovalOfCall, ApprovalsPage, ApprovalsQuery } from '../read-model.js';
import { pageOf, pageSizeDefault, pageStart } from './page.js';
import { approvalAt, rowBytes, rowColumns, toAsked, toCallRow } from './stored-row.js';
import type { Columns } from './stored-row.js';

type Filter = readonly [condition: string, value: string];

function filtersOf(query: ApprovalsQuery): readonly Filter[] {
  const filters: Filter[] = [];
  if (query.runId !== undefined) filters.push(['a.run_id = ?', query.runId]);
  if (query.toolName !== undefined) filters.push(['a.tool_name = ?', query.toolName]);
  if (query.agentId !== undefined) filters.push(['a.agent_id = ?', query.agentId]);
  if (query.requestedBy !== undefined) filters.push(['a.requested_by = ?', query.requestedBy]);
  if (query.group !== undefined)
    filters.push(['(a.asked IS NULL OR instr(a.asked, ?) > 0)', String(toAsked([query.group]))]);
  return filters;
}

/** Named, so that no guess of the planner makes a page as slow as the whole table. */
function indexFor(state: ApprovalState): string {
  return state === 'pending' ? 'approvals_pending' : 'approvals_ended';
}

function toApprovalOfCall(columns: Columns): ApprovalOfCall | undefined {
  const call = toCallRow(columns);
  const approval = approvalAt(call, Number(columns['page_seq']));
  return approval === undefined ? undefined : { call, approval };
}

/** Reads one page by keyset, so that concurrent inserts and resolutions neither repeat nor hide another row. */
export function listApprovals(
  prepare: (sql: string) => StatementSync,
  tenant: string,
  query: ApprovalsQuery,
  position: number,
): ApprovalsPage {
  const { state = 'pending', limit = pageSizeDefault } = query;
  const start = pageStart('approvals', query.order ?? 'oldest', query.cursor);
  if (start === undefined) return { status: 'invalid-cursor' };
  const { after, beyond, direction } = start;
  const filters = filtersOf(query);
  const statement = prepare(
    `SELECT a.seq AS page_seq, ${rowBytes} AS bytes, ${rowColumns}
     FROM approvals AS a INDEXED BY ${indexFor(state)}
     CROSS JOIN calls ON calls.seq = a.call_seq CROSS JOIN requests ON requests.seq = a.call_seq
     WHERE a.tenant = ? AND a.state = '${state}'${state === 'pending' ? '' : " AND a.state <> 'pending'"} AND a.seq ${beyond} ? ${filters.map(([condition]) => `AND ${condition}`).join(' ')}
     ORDER BY a.seq ${direction} LIMIT ?`,
  );
  const found = statement.iterate(tenant, after, ...filters.map(([, value]) => value), limit + 1);
  return pageOf(start, found, limit, position, toApprovalOfCall);
}
