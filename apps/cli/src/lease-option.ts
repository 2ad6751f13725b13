import { limits } from '@countersign/contracts';
import { usageError } from './cli-error.js';
import { durationMs } from './duration-option.js';

/** The milliseconds of `--lease`: no claim may last longer. @throws CliError usage. */
export function leaseMsOf(given: string): number {
  const ms = durationMs('--lease', given);
  if (ms > limits.leaseMsMax)
    throw usageError(`--lease must be at most ${String(limits.leaseMsMax / 3_600_000)}h, not "${given}".`);
  return ms;
}
