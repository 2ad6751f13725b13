/**
 * Does the work at the first call, and after a failure again; then never, and returns its result. Calls at the same time
 * share one attempt.
 */
export function untilDone<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return async () => {
    const attempt = (done ??= work());
    try {
      return await attempt;
    } catch (error) {
      if (done === attempt) done = undefined;
      throw error;
    }
  };
}
