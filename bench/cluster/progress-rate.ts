/** How often a counter is read; each read costs its process time. */
const lookEveryMs = 100;

/** The rate of a counter. */
export interface Risen {
  readonly perSecond: number;
  readonly count: number;
}

/**
 * Reads a counter until it has risen by `total`. The rate is measured from `startedAt`, or the first read that found a
 * change, to the last read before the end, because the process is idle after the end for an unknown time.
 */
export async function untilRisen(
  read: () => Promise<number>,
  total: number,
  startedAt: number | undefined,
): Promise<Risen> {
  let first = startedAt === undefined ? undefined : { count: 0, at: startedAt };
  let last = first;
  let count = 0;
  while (count < total) {
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
    count = await read();
    const look = { count, at: performance.now() };
    if (count > 0) first ??= look;
    // A short run has only one read; then that one counts.
    if (count < total || last === first) last = look;
  }
  const [from, to] = [first ?? { count: 0, at: 0 }, last ?? { count, at: performance.now() }];
  return { perSecond: ((to.count - from.count) / (to.at - from.at)) * 1000, count };
}
