import { sleepOrThrow, type Clock } from '@countersign/contracts/clock';
import { linkedController } from '@countersign/http-client';

/** The stop for whose end one execution waits. */
export interface StopWait {
  /** Its words; null: there is none. */
  readonly detail: () => string | null;
  readonly note: (detail: string | null) => void;
  /** The pause before the next try. Ends early when somebody wants to know. */
  readonly pause: (clock: Clock, forMs: number, signal: AbortSignal) => Promise<void>;
  /** Has the execution try again now, since the stop may be lifted. Resolves when it is still held. */
  readonly whenHeld: () => Promise<void>;
}

export function createStopWait(): StopWait {
  let known: string | null = null;
  let wake = (): void => undefined;
  const asking = new Set<() => void>();
  return {
    detail: () => known,
    note: (detail) => {
      known = detail;
      if (detail === null) return;
      for (const resolve of asking) resolve();
      asking.clear();
    },
    pause: async (clock, forMs, signal) => {
      const limit = linkedController(signal);
      wake = () => {
        limit.abort(new Error('tried again at once'));
      };
      try {
        await sleepOrThrow(clock, forMs, limit.signal);
      } catch (error) {
        if (signal.aborted) throw error;
      } finally {
        limit.release();
      }
    },
    whenHeld: () =>
      new Promise((resolve) => {
        asking.add(resolve);
        wake();
      }),
  };
}
