import type { Clock } from '@countersign/runtime';

/** So many at once, and so many more a second. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

/** Whether one more of this key may pass. A key that is quiet for long costs nothing. */
export function createRateLimit({ burst, perSecond }: Rate, clock: Clock): (key: string) => boolean {
  const buckets = new Map<string, { tokens: number; at: number }>();
  return (key) => {
    const now = clock.monotonic();
    const before = buckets.get(key) ?? { tokens: burst, at: now };
    const tokens = Math.min(burst, before.tokens + ((now - before.at) / 1000) * perSecond);
    if (tokens < 1) return false;
    buckets.set(key, { tokens: tokens - 1, at: now });
    return true;
  };
}
