import { timeWords } from '@countersign/text';

const local = new Intl.DateTimeFormat('en-GB', {
  ...{ weekday: 'short', day: 'numeric', month: 'short', year: 'numeric' },
  ...{ hour: '2-digit', minute: '2-digit', second: '2-digit', timeZoneName: 'short' },
});

/** A time where the person is, with the zone, and in UTC: `Sun, 29 Nov 2026, 13:03:38 CET (2026-11-29 12:03:38 UTC)`. */
export function localTimeWords(time: string, format: Intl.DateTimeFormat = local): string {
  const utc = timeWords(time);
  const ms = Date.parse(time);
  return Number.isNaN(ms) ? utc : `${format.format(ms)} (${utc})`;
}
