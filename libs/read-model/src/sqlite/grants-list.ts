import type { StatementSync } from 'node:sqlite';
import type { GrantViewState } from '@countersign/contracts';
import type { Grant } from '@countersign/domain';
import { cursorOf, positionOf } from '../cursor.js';
import type { GrantsPage, GrantsQuery } from '../grants.js';
import { textOf } from './stored-row.js';
import type { Columns } from './stored-row.js';

const defaultLimit = 100;

/** The columns of a grant's row, for every query. */
export const grantColumns = `seq, ${textOf('progress')} AS progress`;

/** A grant out of `grantColumns`, and the key of its salt. */
export function toGrantRow({ progress }: Columns): { readonly sealKey: string | null; readonly grant: Grant } {
  const [sealKey, grant] = JSON.parse(String(progress)) as [string | null, Grant];
  return { sealKey, grant };
}

/** The rows of each state at a moment. The conditions of `grantStateAt`, in SQL. */
const conditions: Readonly<Record<GrantViewState, string>> = {
  active: "status = 'active' AND expires_at > ?",
  pending: "status = 'pending' AND expires_at > ?",
  expired: "status IN ('active', 'pending') AND expires_at <= ?",
  exhausted: "status = 'exhausted' AND ? <> ''",
  revoked: "status = 'revoked' AND ? <> ''",
};

/** Reads one page by keyset, the newest first. */
export function listGrants(
  prepare: (sql: string) => StatementSync,
  tenant: string,
  { state, toolName, limit = defaultLimit, cursor }: GrantsQuery,
  { position, atMs }: { readonly position: number; readonly atMs: number },
): GrantsPage {
  const before = cursor === undefined ? Number.MAX_SAFE_INTEGER : positionOf('grants', cursor);
  if (before === undefined) return { status: 'invalid-cursor' };
  const statement = prepare(
    `SELECT ${grantColumns} FROM grants WHERE tenant = ? AND seq < ?
     ${state === undefined ? '' : `AND ${conditions[state]}`} ${toolName === undefined ? '' : 'AND tool_name = ?'}
     ORDER BY seq DESC LIMIT ?`,
  );
  const rows = statement.all(
    tenant,
    before,
    ...(state === undefined ? [] : [new Date(atMs).toISOString()]),
    ...(toolName === undefined ? [] : [toolName]),
    limit + 1,
  );
  const shown = rows.slice(0, limit);
  const nextCursor = rows.length > limit ? cursorOf('grants', Number(shown.at(-1)?.['seq'])) : null;
  const grants = shown.map((columns) => toGrantRow(columns).grant);
  return { status: 'page', grants, nextCursor, position };
}
