import { celMethod, CelScalar, objectType } from '@bufbuild/cel';
import type { CelFunc } from '@bufbuild/cel';
import { TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { Timestamp } from '@bufbuild/protobuf/wkt';

const dayMs = 86_400_000;

const offset = /^([+-]?)(0\d|1[0-4]):([0-5]\d)$/;

/**
 * The time that the clocks of a zone show, as the fields in UTC of the result.
 * @throws RangeError for a zone that does not exist
 */
function clockOf(time: Date, zone: string): Date {
  const [, sign, hours, minutes] = offset.exec(zone) ?? [];
  if (hours !== undefined) {
    const ms = (Number(hours) * 60 + Number(minutes)) * 60_000;
    return new Date(time.getTime() + (sign === '-' ? -ms : ms));
  }
  if (!/^[A-Z]/i.test(zone)) throw new RangeError('no such time zone');
  return namedClock(time, zone);
}

function namedClock(time: Date, zone: string): Date {
  const numeric = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const format = new Intl.DateTimeFormat('en-US-u-ca-iso8601', {
    ...{ ...numeric, hour: 'numeric', minute: 'numeric', second: 'numeric' },
    hourCycle: 'h23',
    timeZone: zone,
  });
  const of = Object.fromEntries(format.formatToParts(time).map(({ type, value }) => [type, Number(value)]));
  const clock = new Date(0);
  clock.setUTCFullYear(of['year'] ?? NaN, (of['month'] ?? NaN) - 1, of['day']);
  clock.setUTCHours(of['hour'] ?? NaN, of['minute'], of['second'], time.getUTCMilliseconds());
  return clock;
}

function dayOfYear(clock: Date): number {
  const first = new Date(0);
  first.setUTCFullYear(clock.getUTCFullYear());
  return Math.floor((clock.getTime() - first.getTime()) / dayMs);
}

const parts: readonly (readonly [name: string, part: (clock: Date) => number])[] = [
  ['getFullYear', (clock) => clock.getUTCFullYear()],
  ['getMonth', (clock) => clock.getUTCMonth()],
  ['getDate', (clock) => clock.getUTCDate()],
  ['getDayOfMonth', (clock) => clock.getUTCDate() - 1],
  ['getDayOfWeek', (clock) => clock.getUTCDay()],
  ['getDayOfYear', dayOfYear],
  ['getHours', (clock) => clock.getUTCHours()],
  ['getMinutes', (clock) => clock.getUTCMinutes()],
  ['getSeconds', (clock) => clock.getUTCSeconds()],
  ['getMilliseconds', (clock) => clock.getUTCMilliseconds()],
];

const timestamp = objectType(TimestampSchema);

/** Rounded down: the last nanosecond of a day is no part of the next one. */
function dateOf({ seconds, nanos }: Timestamp): Date {
  return new Date(Number(seconds) * 1000 + Math.floor(nanos / 1_000_000));
}

/**
 * The parts of a time. The library computes them in the zone of the process, whose clock has hours that do not exist, and
 * takes the first hour of a day in a named zone for an hour of the next day.
 */
export const timeParts: readonly CelFunc[] = parts.flatMap(([name, part]) => [
  celMethod(name, timestamp, [], CelScalar.INT, function () {
    return BigInt(part(dateOf(this.message)));
  }),
  celMethod(name, timestamp, [CelScalar.STRING], CelScalar.INT, function (zone) {
    return BigInt(part(clockOf(dateOf(this.message), zone)));
  }),
]);
