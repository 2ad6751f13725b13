import { parseDurationMs } from '@countersign/contracts';
import { usageError } from './cli-error.js';

/** The milliseconds of an option such as `8h`. @throws CliError usage for anything else. */
export function durationMs(option: string, given: string): number {
  const ms = parseDurationMs(given);
  if (ms === undefined) throw usageError(`${option} must be a time such as 30m, 8h or 3d, not "${given}".`);
  return ms;
}

/** A timer takes no more than 24.8 days. */
const holdDaysMax = 24;

/** The milliseconds of `--hold`; 0 holds nothing. @throws CliError usage. */
export function holdMsOf(given: string): number {
  const ms = /^0s?$/.test(given) ? 0 : durationMs('--hold', given);
  if (ms > holdDaysMax * 86_400_000)
    throw usageError(`--hold must be at most ${String(holdDaysMax)}d, not "${given}".`);
  return ms;
}
