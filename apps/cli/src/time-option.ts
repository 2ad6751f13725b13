import { InvalidArgumentError } from 'commander';
import { timeOf } from './time-of.js';

/** A date or a time as the server takes it. */
export function time(text: string): string {
  const found = timeOf(text);
  if (found !== undefined) return found;
  throw new InvalidArgumentError('It must be a date or a time, such as 2026-11-01 or 2026-11-01T09:00:00Z.');
}
