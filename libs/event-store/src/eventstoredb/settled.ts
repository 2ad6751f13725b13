import type { Clock } from '@countersign/runtime';
import { NoAnswerError } from './errors.js';

/** When to stop waiting. */
export interface Limits {
  readonly deadlineMs: number;
  /** Called when the work takes longer than `suspectMs`. */
  readonly suspect?: () => void;
  readonly suspectMs?: number;
  /** Signals that end it, each with its error. */
  readonly ends?: readonly { readonly signal: AbortSignal; readonly error: () => Error }[];
}

/**
 * Returns the promise's outcome, or stops waiting: the client leaves some promises open for ever.
 * @throws NoAnswerError after the deadline; the error of `work`.
 */
export function settled<T>(
  clock: Clock,
  { deadlineMs, suspect, suspectMs = Infinity, ends = [] }: Limits,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const giveUp = (error: Error): void => {
      finish();
      reject(error);
      over.abort();
    };
    const late = (): void => {
      giveUp(new NoAnswerError(`no answer within ${String(deadlineMs)} ms`));
    };
    let cancelTimer: () => void;
    if (suspect === undefined || suspectMs >= deadlineMs) cancelTimer = clock.setTimer(deadlineMs, late);
    else {
      cancelTimer = clock.setTimer(suspectMs, () => {
        cancelTimer = clock.setTimer(deadlineMs - suspectMs, late);
        suspect();
      });
    }
    const listeners = ends.map(({ signal, error }) => {
      const end = (): void => {
        giveUp(error());
      };
      signal.addEventListener('abort', end, { once: true });
      return () => {
        signal.removeEventListener('abort', end);
      };
    });
    const finish = (): void => {
      cancelTimer();
      for (const remove of listeners) remove();
    };
    const run = async (): Promise<T> => work(over.signal);
    // A late rejection finds its handler here, too.
    run().then(
      (value) => {
        finish();
        resolve(value);
      },
      (error: unknown) => {
        finish();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}
