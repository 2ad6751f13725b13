import { rejectOnAbort } from './reject-on-abort.js';

/** What has changed since the last look: some calls, or, after a gap in what was heard, perhaps any. */
export type Changed = ReadonlySet<string> | 'anything';

/** Gathers news between looks, so that ten events at once cost one look. */
export interface Changes {
  readonly add: (callId: string) => void;
  readonly addAnything: () => void;
  /** Makes `next` answer with no change at all: what happened is known here already. */
  readonly wake: () => void;
  /** Makes `next` reject: there will be no more news. */
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
