import { limits } from '@countersign/contracts';

/** The settings that are whole numbers, with their limits. */
const ranges = {
  /** A shorter lease is over before the tool begins. */
  leaseMs: [100, limits.leaseMsMax],
  toolTimeoutMs: [1, 2_147_483_647],
  concurrency: [1, 10_000],
} as const;

/**
 * Throws a TypeError for a setting out of its range: otherwise it would be noticed only after a person has decided.
 * `owner` has the setting, for the error.
 */
export function checkInteger(owner: string, setting: keyof typeof ranges, value: number | undefined): void {
  const [min, max] = ranges[setting];
  if (value === undefined || (Number.isInteger(value) && value >= min && value <= max)) return;
  throw new TypeError(`${owner}: \`${setting}\` must be an integer from ${String(min)} to ${String(max)}`);
}

/** Throws a TypeError for a time to wait that is no number. Infinity is one: no limit. */
export function checkWaitMs(setting: string, value: number | undefined): void {
  if (value === undefined || (typeof value === 'number' && !Number.isNaN(value))) return;
  throw new TypeError(`\`${setting}\` must be a number of milliseconds`);
}
