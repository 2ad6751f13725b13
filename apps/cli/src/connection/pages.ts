import { createPageGuard } from '@countersign/http-client';
import type { LedgerClient, RequestOptions } from './ledger-client.js';

/** The members of every page of a list. */
export interface Page {
  readonly nextCursor: string | null;
}

const pageSize = 500;

/** The pages of a list, until `limit` items were read. `sizeOf` counts the items of a page. */
export async function* pagesOf<P extends Page>(
  client: LedgerClient,
  path: string,
  query: NonNullable<RequestOptions['query']>,
  sizeOf: (page: P) => number,
  limit = Number.POSITIVE_INFINITY,
): AsyncGenerator<P, void> {
  const next = createPageGuard(path);
  let cursor: string | undefined;
  let left = limit;
  do {
    const page = await client.get<P>(path, { query: { ...query, limit: Math.min(left, pageSize), cursor } });
    const size = sizeOf(page);
    cursor = next({ nextCursor: page.nextCursor, size });
    yield page;
    left -= size;
  } while (cursor !== undefined && left > 0);
}
