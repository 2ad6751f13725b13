import type { StatementSync } from 'node:sqlite';
import { comparedIdentity } from '@countersign/contracts';
import type { ApprovalState } from '@countersign/contracts';
import { sortedCursorOf, sortedPlaceOf } from '../cursor.js';
import type { SortedList } from '../cursor.js';
import type { ApprovalOfCall, ApprovalsPage, ApprovalsQuery } from '../read-model.js';
import { inLogOrder, pageOf, pageSizeDefault, pageStart } from './page.js';
import type { PageBounds } from './page.js';
import { approvalAt, riskRank, rowBytes, rowColumns, toCallRow, toNames } from './stored-row.js';
import type { Columns } from './stored-row.js';

type Filter = readonly [condition: string, value: string | number];

/** The filters that a column answers. */
function filtersOf(query: ApprovalsQuery): readonly Filter[] {
  const { runId, toolName, agentId, requestedBy, toolCallId, ruleId, risk, sinceMs, untilMs } = query;
  const filters: readonly (readonly [string, string | number | undefined])[] = [
    ['a.run_id = ?', runId],
    ['a.tool_name = ?', toolName],
    ['a.agent_id = ?', agentId],
    ['a.requested_by = ?', requestedBy],
    ['a.tool_call_id = ?', toolCallId],
    ['a.rule_id = ?', ruleId],
    ['a.risk = ?', risk === undefined ? undefined : riskRank(risk)],
    ['a.requested_at >= ?', sinceMs],
    ['a.requested_at <= ?', untilMs],
    ['(a.asked IS NULL OR instr(a.asked, ?) > 0)', named(query.group)],
    ['instr(a.responded_by, ?) > 0', named(query.respondedBy && comparedIdentity(query.respondedBy))],
  ];
  return filters.flatMap(([condition, value]) => (value === undefined ? [] : [[condition, value] as const]));
}

function named(name: string | undefined): string | undefined {
  return name === undefined ? undefined : String(toNames([name]));
}

/** The rows that are read for one page at most, where the row itself is filtered. */
const scannedMax = 2000;

/** The filters that need the row; undefined: there are none. */
function rowFilterOf({ labels, words, only }: ApprovalsQuery): ((row: ApprovalOfCall) => boolean) | undefined {
  if (labels === undefined && words === undefined && only === undefined) return undefined;
  const wantedLabels = Object.entries(labels ?? {});
  const wantedWords = (words ?? []).map(folded);
  return (row) =>
    wantedLabels.every(([name, value]) => labelOf(row, name) === value) &&
    (wantedWords.length === 0 || hasWords(row, wantedWords)) &&
    only?.(row) !== false;
}

function labelOf({ call }: ApprovalOfCall, name: string): string | undefined {
  const { labels } = call.request;
  return Object.hasOwn(labels, name) ? labels[name] : undefined;
}

/** The same text, however it is written: case, and the forms of Unicode. */
function folded(text: string): string {
  return text.normalize('NFKC').toLowerCase();
}

/** Neither arguments nor results are searched: a match would tell what is hidden in them. */
function hasWords({ call, approval }: ApprovalOfCall, words: readonly string[]): boolean {
  const { toolName, agentId, runId } = call.request;
  const text = folded([toolName, agentId, runId, approval.reason ?? '', approval.description ?? ''].join('\n'));
  return words.every((word) => text.includes(word));
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

type Prepare = (sql: string) => StatementSync;

/** The rows from a place on, in the order of the list. */
interface Found {
  readonly cursorAfter: (columns: Columns) => string;
  readonly rows: Iterable<Columns>;
}

/** What the sorts have in common. */
interface Search {
  readonly prepare: Prepare;
  readonly tenant: string;
  readonly state: ApprovalState;
  readonly filters: readonly Filter[];
  readonly direction: 'ASC' | 'DESC';
  readonly beyond: '>' | '<';
  readonly count: number;
}

/** The approvals of the index whose place fulfils a condition. */
function select(search: Search, index: string, order: string, place: Filter, ...more: readonly number[]) {
  const { prepare, tenant, state, filters, count } = search;
  const statement = prepare(
    `SELECT a.seq AS page_seq, a.expires_at AS page_end, a.risk AS page_risk, ${rowBytes} AS bytes, ${rowColumns}
     FROM approvals AS a INDEXED BY ${index}
     CROSS JOIN calls ON calls.seq = a.call_seq CROSS JOIN requests ON requests.seq = a.call_seq
     WHERE a.tenant = ? AND a.state = '${state}'${state === 'pending' ? '' : " AND a.state <> 'pending'"} AND ${place[0]} ${filters.map(([condition]) => `AND ${condition}`).join(' ')}
     ORDER BY ${order} LIMIT ?`,
  );
  return statement.iterate(tenant, place[1], ...more, ...filters.map(([, value]) => value), count);
}

function byRequest(search: Search, { order = 'oldest', cursor }: ApprovalsQuery): Found | undefined {
  const start = pageStart('approvals', order, cursor);
  if (start === undefined) return undefined;
  const { direction, beyond, state } = search;
  const rows = select(search, indexFor(state), `a.seq ${direction}`, [`a.seq ${beyond} ?`, start.after]);
  return { cursorAfter: inLogOrder(start), rows };
}

/** Where a page of a sorted list begins; undefined: the cursor is of another list. */
function sortedStart(list: SortedList, { direction }: Search, cursor: string | undefined) {
  if (cursor !== undefined) return sortedPlaceOf(list, cursor);
  return direction === 'ASC' ? { key: -1, seq: -1 } : { key: Number.MAX_SAFE_INTEGER, seq: Number.MAX_SAFE_INTEGER };
}

type SortedPlace = NonNullable<ReturnType<typeof sortedPlaceOf>>;

/** The rows of a list from a place on, by their end. */
function endingAfter(search: Search, start: SortedPlace): Iterable<Columns> {
  const { direction, beyond } = search;
  const order = `a.expires_at ${direction}, a.seq ${direction}`;
  const place = [`(a.expires_at, a.seq) ${beyond} (?, ?)`, start.key] as const;
  return select(search, 'approvals_by_expiry', order, place, start.seq);
}

function placeIn(list: SortedList, { page_end: key, page_seq: seq }: Columns): string {
  return sortedCursorOf(list, { key: Number(key), seq: Number(seq) });
}

function byExpiry(search: Search, { cursor }: ApprovalsQuery): Found | undefined {
  const list = 'approvals-by-expiry';
  const start = sortedStart(list, search, cursor);
  if (start === undefined) return undefined;
  return { cursorAfter: (columns) => placeIn(list, columns), rows: endingAfter(search, start) };
}

const levels = (['high', 'medium', 'low', null] as const).map((risk) => ({
  rank: riskRank(risk),
  list: `approvals-of-${risk ?? 'none'}` as const,
}));

/** One level of risk after the other: within each the earliest end is the first. */
function byRisk(search: Search, { cursor }: ApprovalsQuery): Found | undefined {
  const inOrder = search.direction === 'ASC' ? levels : levels.toReversed();
  const at = cursor === undefined ? 0 : inOrder.findIndex(({ list }) => sortedPlaceOf(list, cursor) !== undefined);
  if (at === -1) return undefined;
  const rows = function* (): Generator<Columns, void> {
    for (const [index, { list, rank }] of inOrder.slice(at).entries()) {
      const start = sortedStart(list, search, index === 0 ? cursor : undefined);
      const filters = [...search.filters, ['a.risk = ?', rank] as const];
      if (start !== undefined) yield* endingAfter({ ...search, filters }, start);
    }
  };
  const listOf = (rank: unknown): SortedList =>
    levels.find((level) => level.rank === Number(rank))?.list ?? 'approvals-of-none';
  return { cursorAfter: (columns) => placeIn(listOf(columns['page_risk']), columns), rows: rows() };
}

const sorts = { requestedAt: byRequest, expiresAt: byExpiry, risk: byRisk } as const;

/**
 * Reads one page by keyset, so that concurrent inserts and resolutions neither repeat nor hide another row. Where the
 * order is by a value that changes, a row that changes may be on two pages or on none.
 */
export function listApprovals(
  prepare: Prepare,
  tenant: string,
  query: ApprovalsQuery,
  position: number,
): ApprovalsPage {
  const { state = 'pending', order = 'oldest', limit = pageSizeDefault } = query;
  const isKept = rowFilterOf(query);
  const bounds: PageBounds = { limit, scanned: isKept === undefined ? limit : scannedMax };
  const found = sorts[query.sort ?? 'requestedAt'](
    {
      ...{ prepare, tenant, state, filters: filtersOf(query), count: bounds.scanned + 1 },
      ...(order === 'oldest'
        ? ({ direction: 'ASC', beyond: '>' } as const)
        : ({ direction: 'DESC', beyond: '<' } as const)),
    },
    query,
  );
  if (found === undefined) return { status: 'invalid-cursor' };
  return pageOf(found.cursorAfter, found.rows, bounds, position, (columns) => {
    const row = toApprovalOfCall(columns);
    return row === undefined || isKept?.(row) === false ? undefined : row;
  });
}
