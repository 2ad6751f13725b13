import { useCallback, useEffect, useState } from 'react';
import type { Problem } from '../api/problem.js';
import { problemOf } from '../api/problem.js';

/** Something that is read from the server. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: Problem | undefined;
  /** Reads it again; what is there stays until the new is. */
  readonly reload: () => void;
}

/** The key contains everything that `read` depends on. */
export function useLoaded<T>(key: string, read: (signal: AbortSignal) => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ key: string; value?: T; problem?: Problem }>({ key });
  const [round, setRound] = useState(0);
  useEffect(() => {
    const abort = new AbortController();
    read(abort.signal).then(
      (value) => {
        if (!abort.signal.aborted) setState({ key, value });
      },
      (error: unknown) => {
        if (abort.signal.aborted) return;
        // The time, updated once a second: one clock for every age and countdown on the page.
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: problemOf(error) }));
      },
    );
    return () => abort.abort();
    // The store of the pending approvals.
  }, [key, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCurrent = state.key === key;
  return { value: isCurrent ? state.value : undefined, problem: isCurrent ? state.problem : undefined, reload };
}
