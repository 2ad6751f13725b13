import { useEffect, useState } from 'react';
import type { LogEventView } from '@countersign/contracts';
import { problemOf } from '@countersign/react/parts';
import type { Problem } from '@countersign/react/parts';
import { firstPage, readLogPage } from '../api/audit.js';
import { readFastPositions } from './fast-positions.js';
import { isListed, requestOf, searchOf } from './search.js';

/** The events of a search that were found up to now. */
export interface FoundEvents {
  readonly events: readonly LogEventView[];
  readonly isLoading: boolean;
  readonly hasMore: boolean;
  readonly problem: Problem | undefined;
  /** Reads the next page, or the one that failed. */
  readonly more: () => void;
}

const pageSize = '100';

/** A search, with the pages that were loaded so far. */
interface Walk {
  readonly key: string;
  readonly events: readonly LogEventView[];
  readonly next: string | undefined;
  readonly isLoading: boolean;
  readonly problem?: Problem;
  /** Read once for a search of fast approvals: the server judges them, as in the figures of oversight. */
  readonly fast?: ReadonlySet<number> | undefined;
}

/** Searches the log page by page. Pages in which nothing is found are passed over. */
export function useLog(query: string, isClear: boolean): FoundEvents {
  const key = `${String(isClear)} ${query}`;
  const begin = (): Walk => ({ key, events: [], next: firstAddress(query, isClear), isLoading: true });
  const [state, setWalk] = useState<Walk>(begin);
  const walk = state.key === key ? state : begin();
  const { next, isLoading } = walk;
  useEffect(() => {
    if (!isLoading || next === undefined) return undefined;
    const abort = new AbortController();
    const search = searchOf(query);
    const read = async () => {
      const page = await readLogPage(next, abort.signal);
      const fast = search.only === 'fast' ? (walk.fast ?? (await readFastPositions(search, abort.signal))) : undefined;
      const isFound = (event: LogEventView): boolean =>
        isListed(event, search) && (fast === undefined || fast.has(event.position));
      return { page, fast, found: page.events.filter(isFound) };
    };
    read().then(
      ({ page, fast, found }) => {
        if (abort.signal.aborted) return;
        const events = [...walk.events, ...found];
        const { next: following, problem = walk.problem } = page;
        const isLoading = found.length === 0 && following !== undefined;
        setWalk({ key, events, next: following, isLoading, fast, ...(problem && { problem }) });
      },
      (error: unknown) => {
        if (!abort.signal.aborted) setWalk({ ...walk, isLoading: false, problem: problemOf(error) });
      },
    );
    return () => abort.abort();
    // `next` and the key name all that is read.
  }, [key, next, isLoading]);
  // What a page could not show is said until the search ends.
  const damage = walk.problem?.code === 'log-damaged' ? { problem: walk.problem } : {};
  const more = (): void => setWalk({ key, events: walk.events, next, isLoading: true, fast: walk.fast, ...damage });
  return { events: walk.events, isLoading, hasMore: next !== undefined, problem: walk.problem, more };
}

function firstAddress(query: string, isClear: boolean): string {
  const request = requestOf(searchOf(query));
  request.set('limit', pageSize);
  if (isClear) request.set('values', 'clear');
  return firstPage(request);
}
