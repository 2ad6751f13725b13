import { useCallback, useEffect, useState } from 'react';
import type { Problem } from '../client/problem.js';
import { problemOf } from '../client/problem.js';

/** Something that is read from the server. */
export interface Loaded<T> {
  readonly value: T | undefined;
  readonly problem: Problem | undefined;
  /** Reads it again; what is there stays until the new is. */
  readonly reload: () => void;
}

/** Reads a value when `key` changes. A late result of an earlier key is dropped. */
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
        // The previous value stays until the new one is there.
        setState((before) => ({ ...(before.key === key ? before : { key }), problem: problemOf(error) }));
      },
    );
    return () => abort.abort();
    // The key contains everything that `read` depends on.
  }, [key, round]);
  const reload = useCallback(() => setRound((before) => before + 1), []);
  const isCurrent = state.key === key;
  return { value: isCurrent ? state.value : undefined, problem: isCurrent ? state.problem : undefined, reload };
}
