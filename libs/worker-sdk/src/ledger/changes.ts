import { rejectOnAbort } from './reject-on-abort.js';

/** The changes since the last read: some calls or, after a gap in the stream, possibly any. */
export type Changed = ReadonlySet<string> | 'anything';

/** Collects changes between reads, so that ten events at once cost one read. */
export interface Changes {
  readonly add: (callId: string) => void;
  readonly addAnything: () => void;
  /** Makes `next` resolve without a change: the caller already knows what happened. */
  readonly wake: () => void;
  /** Makes `next` reject: there will be no more changes. */
  readonly fail: (error: Error) => void;
  /** The news since the last time, as soon as there is any; rejects when the signal aborts. */
  readonly next: (signal: AbortSignal) => Promise<Changed>;
}

export function createChanges(): Changes {
  let callIds = new Set<string>();
  let anything = false;
  let isAwake = false;
  let failure: Error | undefined;
  let wake: () => void = () => undefined;

  const take = (): Changed | undefined => {
    if (failure !== undefined) throw failure;
    if (!anything && !isAwake && callIds.size === 0) return undefined;
    const changed = anything ? ('anything' as const) : callIds;
    callIds = new Set();
    anything = false;
    isAwake = false;
    return changed;
  };
  return {
    add: (callId) => {
      callIds.add(callId);
      wake();
    },
    addAnything: () => {
      anything = true;
      wake();
    },
    wake: () => {
      isAwake = true;
      wake();
    },
    fail: (error) => {
      failure = error;
      wake();
    },
    next: async (signal) => {
      const aborted = rejectOnAbort(signal);
      try {
        for (;;) {
          if (signal.aborted) await aborted.promise;
          const changed = take();
          if (changed !== undefined) return changed;
          await Promise.race([new Promise<void>((resolve) => (wake = resolve)), aborted.promise]);
        }
      } finally {
        aborted.release();
      }
    },
  };
}
