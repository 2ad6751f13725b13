import { usageError } from '../cli-error.js';
import type { VerifyOptions } from './verify-log.js';

/** Attack: an auditor demands a time stamp where none is looked at. @throws CliError */
export function refuseStamps({ tsaCa, requireTimestamp }: VerifyOptions): void {
  if (tsaCa === undefined && requireTimestamp !== true) return;
  throw usageError('This source has no time stamps.', 'Leave --tsa-ca out, or name a data folder or a bundle.');
}
