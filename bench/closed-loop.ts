/** The result of a closed loop. */
export interface Measured {
  readonly cycles: number;
  readonly seconds: number;
  readonly latenciesMs: Float64Array;
}

/**
 * Runs `cycle` with `inFlight` of them at any time, for about `seconds`: each starts when another ends, so the load
 * adapts to the server and no queue grows outside it.
 */
export async function closedLoop(
  inFlight: number,
  seconds: number,
  cycle: (slot: number, n: number) => Promise<void>,
): Promise<Measured> {
  const latencies: number[] = [];
  const startedAt = performance.now();
  const endAt = startedAt + seconds * 1000;
  let next = 0;
  const slot = async (index: number): Promise<void> => {
    while (performance.now() < endAt) {
      const n = next++;
      const before = performance.now();
      await cycle(index, n);
      latencies.push(performance.now() - before);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, (_, index) => slot(index)));
  return {
    cycles: latencies.length,
    seconds: (performance.now() - startedAt) / 1000,
    latenciesMs: Float64Array.from(latencies).sort(),
  };
}

/** The p-th percentile of sorted figures, nearest rank. */
export function percentile(sorted: Float64Array, p: number): number {
  return sorted[Math.min(sorted.length - 1, Math.max(0, Math.ceil((p / 100) * sorted.length) - 1))] ?? NaN;
}

/** The median of some figures. */
export function median(figures: readonly number[]): number {
  return percentile(Float64Array.from(figures).sort(), 50);
}
