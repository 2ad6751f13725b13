/** How often a counter is looked at: its process pays for every look. */
const lookEveryMs = 100;

/** How fast a counter rose. */
export interface Risen {
  readonly perSecond: number;
  readonly count: number;
}

/**
 * Looks at a counter until it has risen by `total`. The rate is that between `startedAt`, or the first look that found
 * anything, and the last look before the end: after the end the process is idle for a while that nobody measured.
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
    // A short run has one look only, and then that one counts.
    if (count < total || last === first) last = look;
  }
  const [from, to] = [first ?? { count: 0, at: 0 }, last ?? { count, at: performance.now() }];
  return { perSecond: ((to.count - from.count) / (to.at - from.at)) * 1000, count };
}
