const datePattern = /^(\d{4})-(\d\d)-(\d\d)$/;
const timePattern = /^(\d\d):(\d\d):(\d\d)(?:\.\d+)?(z|([+-])(\d\d)(?::?(\d\d))?)?$/i;
const dateLength = 'yyyy-mm-dd'.length;
const minutesOfDay = 24 * 60;

/** A `full-date` of RFC 3339: a day of the Gregorian calendar. */
export function isDate(text: string): boolean {
  const [, year, month, day] = (datePattern.exec(text) ?? []).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  return day >= 1 && day <= daysOf(year, month);
}

/**
 * A `full-time` of RFC 3339; without `offset` the zone may be missing. A leap second is one only at 23:59 UTC (RFC 3339, 5.7).
 * More offsets are taken than there: also `+01` and `+0100`, as tools write them.
 */
export function isTime(text: string, offset?: 'with offset'): boolean {
  const found = timePattern.exec(text);
  if (found === null) return false;
  if (found[4] === undefined && offset !== undefined) return false;
  const local = minutesAt(found[1], found[2]);
  const ahead = minutesAt(found[6], found[7]);
  if (local === undefined || ahead === undefined) return false;
  if (found[3] !== '60') return Number(found[3]) < 60;
  const utc = found[5] === '-' ? local + ahead : local - ahead;
  return (minutesOfDay + utc) % minutesOfDay === minutesOfDay - 1;
}

/** Minutes since midnight; undefined where no clock shows the time. */
function minutesAt(hour = '0', minute = '0'): number | undefined {
  return Number(hour) > 23 || Number(minute) > 59 ? undefined : Number(hour) * 60 + Number(minute);
}

/** A date and a time with one character between them. */
export function isDateTime(text: string, offset?: 'with offset'): boolean {
  return isDate(text.slice(0, dateLength)) && isTime(text.slice(dateLength + 1), offset);
}

/** The days of a month; 0 for a number that is none. */
function daysOf(year: number, month: number): number {
  if (month < 1 || month > 12) return 0;
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
