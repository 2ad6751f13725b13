import type { Clock } from '@countersign/contracts/clock';

/** A token bucket: `burst` at once, then `perSecond`. */
export interface Rate {
  readonly burst: number;
  readonly perSecond: number;
}

interface Bucket {
  tokens: number;
  at: number;
}

/** Beyond this many active keys, further keys share one bucket, so memory stays bounded. */
const keysMaxDefault = 10_000;

/**
 * Returns a function that says whether one more of this key may pass. A key whose bucket is full again is forgotten. It sets
 * no timer.
 * @example
 * const mayPass = createRateLimit({ burst: 20, perSecond: 1 }, clock);
 */
export function createRateLimit(
  rate: Rate,
  clock: Pick<Clock, 'monotonic'>,
  keysMax = keysMaxDefault,
): (key: string) => boolean {
  const take = createTokenBuckets(rate, clock, keysMax);
  return (key) => take(key) === 0;
}

/**
 * Returns a function that takes a token of this key and returns 0. When the key has none, it takes nothing and returns after
 * how many ms it has one.
 */
export function createTokenBuckets(
  rate: Rate,
  clock: Pick<Clock, 'monotonic'>,
  keysMax = keysMaxDefault,
): (key: string) => number {
  const take = createCountedBuckets(rate, clock, keysMax);
  return (key) => take(key).waitMs;
}

/** Like `createTokenBuckets`, and returns how many tokens the key has left as well. */
export function createCountedBuckets(
  { burst, perSecond }: Rate,
  { monotonic }: Pick<Clock, 'monotonic'>,
  keysMax = keysMaxDefault,
): (key: string) => { readonly waitMs: number; readonly left: number } {
  const buckets = new Map<string, Bucket>();
  const shared: Bucket = { tokens: burst, at: monotonic() };
  const fullAfterMs = (burst / perSecond) * 1000;
  let forgotAt = Number.NEGATIVE_INFINITY;

  const forgetFull = (now: number): void => {
    // Looking at every key is worth it only when some can have become full since.
    if (now - forgotAt < fullAfterMs) return;
    forgotAt = now;
    for (const [key, { at }] of buckets) if (now - at >= fullAfterMs) buckets.delete(key);
  };
  const bucketOf = (key: string, now: number): Bucket => {
    const known = buckets.get(key);
    if (known !== undefined) return known;
    if (buckets.size >= keysMax) forgetFull(now);
    if (buckets.size >= keysMax) return shared;
    const bucket = { tokens: burst, at: now };
    buckets.set(key, bucket);
    return bucket;
  };
  return (key) => {
    const now = monotonic();
    const bucket = bucketOf(key, now);
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) / 1000) * perSecond);
    bucket.at = now;
    if (bucket.tokens < 1) return { waitMs: Math.ceil(((1 - bucket.tokens) / perSecond) * 1000), left: 0 };
    bucket.tokens -= 1;
    return { waitMs: 0, left: Math.floor(bucket.tokens) };
  };
}
