import type { StatementSync } from 'node:sqlite';
import type { ApprovalState } from '@countersign/contracts';
import { fromCursor, toCursor } from '../cursor.js';
import type { ApprovalOfCall, ApprovalsPage, ApprovalsQuery } from '../read-model.js';
import { approvalAt, rowBytes, rowColumns, toAsked, toCallRow } from './stored-row.js';
import type { Columns } from './stored-row.js';

const defaultLimit = 100;
/** Attack: many pending calls with large arguments, read as one page. A page ends beyond this many bytes of rows. */
const pageBytesMax = 8 * 1024 * 1024;

/** The same index is walked from either end. */
const orders = {
  oldest: { start: 0, beyond: '>', direction: 'ASC' },
  newest: { start: Number.MAX_SAFE_INTEGER, beyond: '<', direction: 'DESC' },
} as const;

type Filter = readonly [condition: string, value: string];

function filtersOf(query: ApprovalsQuery): readonly Filter[] {
  const filters: Filter[] = [];
  if (query.runId !== undefined) filters.push(['a.run_id = ?', query.runId]);
  if (query.toolName !== undefined) filters.push(['a.tool_name = ?', query.toolName]);
  if (query.agentId !== undefined) filters.push(['a.agent_id = ?', query.agentId]);
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
  const approval = approvalAt(call, Number(columns['approval_seq']));
  return approval === undefined ? undefined : { call, approval };
}

/** Reads one page by keyset, so that concurrent inserts and resolutions neither repeat nor hide another row. */
export function listApprovals(
  prepare: (sql: string) => StatementSync,
  tenant: string,
  query: ApprovalsQuery,
  position: number,
): ApprovalsPage {
  const { state = 'pending', limit = defaultLimit } = query;
  const { start, beyond, direction } = orders[query.order ?? 'oldest'];
  const after = query.cursor === undefined ? start : fromCursor(query.cursor);
  if (after === undefined) return { status: 'invalid-cursor' };
  const filters = filtersOf(query);
  const statement = prepare(
    `SELECT a.seq AS approval_seq, ${rowBytes} AS bytes, ${rowColumns}
     FROM approvals AS a INDEXED BY ${indexFor(state)}
     CROSS JOIN calls ON calls.seq = a.call_seq CROSS JOIN requests ON requests.seq = a.call_seq
     WHERE a.tenant = ? AND a.state = '${state}'${state === 'pending' ? '' : " AND a.state <> 'pending'"} AND a.seq ${beyond} ? ${filters.map(([condition]) => `AND ${condition}`).join(' ')}
     ORDER BY a.seq ${direction} LIMIT ?`,
  );
  const { rows, last } = pageOf(
    statement.iterate(tenant, after, ...filters.map(([, value]) => value), limit + 1),
    limit,
  );
  return { status: 'page', rows, nextCursor: last === undefined ? null : toCursor(last), position };
}

/** The rows of one page, at least one, and the position of the last one when more follow. */
function pageOf(
  found: Iterable<Columns>,
  limit: number,
): { readonly rows: readonly ApprovalOfCall[]; readonly last: number | undefined } {
  const rows: ApprovalOfCall[] = [];
  let [taken, bytes, last] = [0, 0, 0];
  for (const columns of found) {
    bytes += Number(columns['bytes']);
    if (taken === limit || (taken > 0 && bytes > pageBytesMax)) return { rows, last };
    taken += 1;
    last = Number(columns['approval_seq']);
    const row = toApprovalOfCall(columns);
    if (row !== undefined) rows.push(row);
  }
  return { rows, last: undefined };
}
