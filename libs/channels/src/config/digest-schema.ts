import { isTimeZone, parseDurationMs } from '@countersign/contracts';
import { z } from 'zod';

const [minuteMs, dayMs] = [60_000, 86_400_000];

/** When messages are sent together: at each multiple of `everyMs` in UTC, or each day at a time of a zone's clock. */
export type Digest =
  | { readonly every: 'period'; readonly everyMs: number }
  | { readonly every: 'day'; readonly at: string; readonly zone: string };

const daily: Digest = { every: 'day', at: '08:00', zone: 'UTC' };

const form = 'must be hourly, daily, or an object with `every`';

const writtenSchema = z
  .strictObject(
    {
      every: z.string(),
      at: z
        .string()
        .regex(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day such as "08:00"')
        .optional(),
      zone: z.string().refine(isTimeZone, { error: 'must be the name of a time zone such as Europe/Paris' }).optional(),
    },
    { error: ({ code }) => (code === 'invalid_type' ? form : undefined) },
  )
  .transform(({ every, at, zone }, context): Digest => {
    const everyMs = parseDurationMs(every) ?? 0;
    const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    if (everyMs < 10 * minuteMs || dayMs % everyMs !== 0) {
      refuse('every', 'must be 10m to 1d, and parts of a day: 10m, 1h, 6h or 1d');
    }
    if (everyMs === dayMs) return { every: 'day', at: at ?? daily.at, zone: zone ?? daily.zone };
    if (at !== undefined) refuse('at', 'is only for every: 1d');
    if (zone !== undefined) refuse('zone', 'is only for every: 1d');
    return { every: 'period', everyMs };
  });

/** `hourly`, `daily`, or an object with `every`, and `at` and `zone` for every day. */
export const digestSchema = z.preprocess((given) => {
  if (given === 'hourly') return { every: '1h' };
  return given === 'daily' ? { every: '1d' } : given;
}, writtenSchema);

/** Returns the one of two that comes more often. */
export function moreOften(one: Digest, other: Digest): Digest {
  if (one.every === 'day') return other;
  return other.every === 'period' && other.everyMs < one.everyMs ? other : one;
}
