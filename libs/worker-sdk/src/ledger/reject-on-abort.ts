import { reasonOf } from '@countersign/contracts/clock';

/** Rejects with the signal's reason once it aborts. */
export function rejectOnAbort(signal: AbortSignal): { readonly promise: Promise<never>; readonly release: () => void } {
  let onAbort: () => void = () => undefined;
  const promise = new Promise<never>((_, reject) => {
    onAbort = (): void => {
      reject(reasonOf(signal));
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
  // Often there is no listener when it rejects.
  promise.catch(() => undefined);
  return {
    promise,
    release: () => {
      signal.removeEventListener('abort', onAbort);
    },
  };
}

/** Resolves as the work does, or rejects with the signal's reason: code of others may never end. */
export async function unlessAborted<T>(signal: AbortSignal | undefined, work: Promise<T>): Promise<T> {
  if (signal === undefined) return work;
  const aborted = rejectOnAbort(signal);
  try {
    return await Promise.race([work, aborted.promise]);
  } finally {
    aborted.release();
  }
}
