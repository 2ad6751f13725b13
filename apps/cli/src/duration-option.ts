import { usageError } from './cli-error.js';

/** The milliseconds of an option such as `8h`. @throws CliError usage for anything else. */
export async function durationMs(option: string, given: string): Promise<number> {
  const { parseDurationMs } = await import('@countersign/contracts');
  const ms = parseDurationMs(given);
  if (ms === undefined) throw usageError(`${option} must be a time such as 30m, 8h or 3d, not "${given}".`);
  return ms;
}

/** The milliseconds of `--lease`: no claim may last longer. @throws CliError usage. */
export async function leaseMsOf(given: string): Promise<number> {
  const { limits } = await import('@countersign/contracts');
  const ms = await durationMs('--lease', given);
  if (ms > limits.leaseMsMax)
    throw usageError(`--lease must be at most ${String(limits.leaseMsMax / 3_600_000)}h, not "${given}".`);
  return ms;
}

/** A timer takes no more than 24.8 days. */
const holdDaysMax = 24;

/** The milliseconds of `--hold`; 0 holds nothing. @throws CliError usage. */
export async function holdMsOf(given: string): Promise<number> {
  const ms = /^0s?$/.test(given) ? 0 : await durationMs('--hold', given);
  if (ms > holdDaysMax * 86_400_000)
    throw usageError(`--hold must be at most ${String(holdDaysMax)}d, not "${given}".`);
  return ms;
}
