import { InvalidArgumentError } from 'commander';

/** A date or a time as the server takes it. */
export function time(text: string): string {
  const atMs = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : NaN;
  if (Number.isNaN(atMs)) throw new InvalidArgumentError('It is a date or a time: 2026-11-01 or 2026-11-01T09:00:00Z.');
  return new Date(atMs).toISOString();
}
