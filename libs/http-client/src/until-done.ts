/** Does the work at the first call, and after a failure again; then never. Calls at the same time share one attempt. */
export function untilDone(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined;
  return async () => {
    const attempt = (done ??= work());
    try {
      await attempt;
    } catch (error) {
      if (done === attempt) done = undefined;
      throw error;
    }
  };
}
