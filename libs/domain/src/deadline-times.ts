import type { DurationMs, Requirement } from '@countersign/contracts';
import { afterBusinessTime } from './business-hours.js';
import { storedAfter, toStored } from './time.js';

type Hours = Pick<Requirement, 'businessHours'>;

/** The stored time at which an approval, or a level of it, expires; null for `never`. */
export function expiryAfter({ businessHours }: Hours, atMs: number, durationMs: DurationMs): string | null {
  if (businessHours === undefined || durationMs === 'never') return storedAfter(atMs, durationMs);
  return toStored(afterBusinessTime(businessHours, atMs, durationMs));
}

/**
 * The stored times of the reminders of an approval requested at `atMs`, where they count in business hours. They are
 * recorded, so that a replay needs no table of time zones.
 */
export function recordedReminders({ businessHours, remindersMs }: Requirement, atMs: number): { remindAt?: string[] } {
  if (businessHours === undefined || remindersMs.length === 0) return {};
  return { remindAt: remindersMs.map((afterMs) => toStored(afterBusinessTime(businessHours, atMs, afterMs))) };
}
