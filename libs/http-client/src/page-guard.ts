/** A list does not come to its end: its pages repeat, or many in a row are empty. */
export class EndlessListError extends Error {
  override readonly name = 'EndlessListError';
}

/** The members of a page that tell whether the list makes progress. */
export interface PageProgress {
  readonly nextCursor?: string | null | undefined;
  readonly size: number;
  /** Names the first item; no later page begins with it. Default: not looked at. */
  readonly firstItem?: string | undefined;
}

/** A page may be empty when the server looked through many items for it. */
const emptyPagesMax = 1000;

/**
 * Returns the cursor of the next page, undefined after the last one. Call it once for each page of a list, in order.
 * @throws EndlessListError for a cursor or a first item that came before, and after 1,000 empty pages in a row: a server or
 *   a proxy that repeats itself would be read without end.
 */
export function createPageGuard(list: string): (page: PageProgress) => string | undefined {
  const seen = new Set<string>();
  let emptyPages = 0;
  const mustBeNew = (mark: string, what: string): void => {
    if (seen.has(mark)) throw new EndlessListError(`the server repeats ${what} of ${list}, so the list has no end`);
    seen.add(mark);
  };
  return ({ nextCursor, size, firstItem }) => {
    emptyPages = size === 0 ? emptyPages + 1 : 0;
    if (firstItem !== undefined) mustBeNew(`item ${firstItem}`, 'a page');
    if (nextCursor === undefined || nextCursor === null) return undefined;
    mustBeNew(`cursor ${nextCursor}`, 'the cursor of a page');
    if (emptyPages > emptyPagesMax) {
      throw new EndlessListError(`the server sends ${String(emptyPagesMax)} empty pages of ${list} in a row`);
    }
    return nextCursor;
  };
}
