/**
 * The results of work that runs side by side, like `Promise.all`. A failure is thrown only when all of it has ended: no part of it
 * still records something while the next request counts.
 */
export async function allEnded<T>(work: readonly Promise<T>[]): Promise<T[]> {
  await Promise.allSettled(work);
  return Promise.all(work);
}
