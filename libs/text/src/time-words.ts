const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1000 },
] as const;

/** A length of time in words: `3 s`, `12 min`, `1 h 5 min`, `2 d`. Less than a second is `0 s`. */
export function durationWords(ms: number): string {
  const index = units.findIndex((unit) => ms >= unit.ms);
  const unit = units[index];
  if (unit === undefined) return '0 s';
  const smaller = units[index + 1];
  const whole = Math.floor(ms / unit.ms);
  const rest = smaller === undefined ? 0 : Math.floor((ms % unit.ms) / smaller.ms);
  const showsRest = smaller !== undefined && rest > 0 && whole < 10 && unit.name !== 'min';
  return showsRest ? `${whole} ${unit.name} ${rest} ${smaller.name}` : `${whole} ${unit.name}`;
}

/** How long ago a time was: `3 s ago`, `just now`. An invalid time is reported as such. */
export function agoWords(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time);
  if (Number.isNaN(ms)) return 'at an unknown time';
  return ms < 1000 ? 'just now' : `${durationWords(ms)} ago`;
}

/** The age of a time without `ago`: `3 s`. */
export function ageWords(time: string, nowMs: number): string {
  const ms = nowMs - Date.parse(time);
  return Number.isNaN(ms) ? '?' : durationWords(Math.max(0, ms));
}

/** A deadline as a countdown: `4 min`, `over`, `never`. */
export function deadlineWords(expiresAt: string | null, nowMs: number): string {
  if (expiresAt === null) return 'never';
  const ms = Date.parse(expiresAt) - nowMs;
  if (Number.isNaN(ms)) return '?';
  return ms <= 0 ? 'over' : durationWords(ms);
}

const rfc3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/;

/** An RFC 3339 time for people, in UTC and whole seconds: `2026-11-22 10:00:00 UTC`. An invalid time is reported as such. */
export function timeWords(time: string): string {
  const ms = rfc3339.test(time) ? Date.parse(time) : Number.NaN;
  if (Number.isNaN(ms)) return 'an unknown time';
  return new Date(ms)
    .toISOString()
    .replace('T', ' ')
    .replace(/\.\d+Z$/, ' UTC');
}

const ordinals = new Intl.PluralRules('en', { type: 'ordinal' });
const suffixes: Readonly<Record<string, string>> = { one: 'st', two: 'nd', few: 'rd' };

/** `1st`, `2nd`, `3rd`, `4th`. */
export function ordinal(n: number): string {
  return `${String(n)}${suffixes[ordinals.select(n)] ?? 'th'}`;
}
