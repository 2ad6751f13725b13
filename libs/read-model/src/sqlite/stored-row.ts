import type { CallProgress, CallRequest, CallRow } from '../call-row.js';

/** The columns in which a call's row comes back, whatever the query. */
export const rowColumns = 'calls.seq, calls.progress, requests.request';

/** A row of a query, by column. */
export type Columns = Readonly<Record<string, unknown>>;

/** The part of a row that later events change, as stored. */
export function toProgress(row: CallRow): string {
  return JSON.stringify({ ...row, seq: undefined, request: undefined });
}

/** A call's row out of the columns `rowColumns`. This module's own writer wrote them. */
export function toCallRow({ seq, progress, request }: Columns): CallRow {
  return {
    ...(JSON.parse(String(progress)) as CallProgress),
    seq: Number(seq),
    request: JSON.parse(String(request)) as CallRequest,
  };
}

/** Groups in the form in which a filter finds one: `|ops|security|`, each escaped; null for anybody. */
export function toAsked(groups: readonly string[] | null): string | null {
  return groups === null ? null : `|${groups.map(encodeURIComponent).join('|')}|`;
}
