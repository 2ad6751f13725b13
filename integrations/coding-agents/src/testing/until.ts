/** Resolves when a condition holds. A condition that throws does not hold yet. */
export async function until(isSo: () => boolean): Promise<void> {
  for (;;) {
    try {
      if (isSo()) return;
    } catch {
      // Not requested yet.
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
}
