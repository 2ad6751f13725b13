import type { BusinessHours } from '@countersign/contracts';

const minuteMs = 60_000;
const dayMs = 24 * 60 * minuteMs;
/** The hours are walked so far at a time, and so far in all: the longest duration that a policy can name. */
const stepMs = 7 * dayMs;
const horizonMs = 3660 * dayMs;

/** A part of the time line, epoch milliseconds, the end excluded. */
export interface Span {
  readonly startMs: number;
  readonly endMs: number;
}

/**
 * Returns when `durationMs` of business time has passed since `startMs`, both epoch milliseconds. The result is in the
 * hours, or the moment at which they end. A duration that does not fit into ten years ends with the last hours in them.
 */
export function afterBusinessTime(hours: BusinessHours, startMs: number, durationMs: number): number {
  let left = durationMs;
  let lastMs = startMs;
  for (const { startMs: from, endMs } of businessSpans(hours, startMs)) {
    if (left <= endMs - from) return from + left;
    left -= endMs - from;
    lastMs = endMs;
  }
  return lastMs;
}

/** The parts of the ten years after `startMs` that are in the hours, in their order. */
export function* businessSpans(hours: BusinessHours, startMs: number): Generator<Span> {
  const [opening, closing] = [minutesOf(hours.from), closingOf(hours)];
  for (const offset of offsetSpans(hours.zone, startMs)) {
    // Within one offset the wall clock and the time line differ by a constant.
    const wallStart = offset.startMs + offset.offsetMs;
    const wallEnd = offset.endMs + offset.offsetMs;
    for (let day = Math.floor(wallStart / dayMs) - 1; day * dayMs < wallEnd; day += 1) {
      const opens = Math.max(wallStart, day * dayMs + opening);
      const closes = Math.min(wallEnd, day * dayMs + closing);
      if (opens < closes && hours.days.includes(weekdayOf(day))) {
        yield { startMs: opens - offset.offsetMs, endMs: closes - offset.offsetMs };
      }
    }
  }
}

function minutesOf(timeOfDay: string): number {
  const [hour = 0, minute = 0] = timeOfDay.split(':').map(Number);
  return (hour * 60 + minute) * minuteMs;
}

/** The end of a day's hours, counted from its beginning: on the next day where `to` is before `from`. */
function closingOf({ from, to }: BusinessHours): number {
  return minutesOf(to) + (minutesOf(to) <= minutesOf(from) ? dayMs : 0);
}

const fromSunday = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'] as const;

/** The weekday of a day, counted from 1 January 1970, a Thursday. */
function weekdayOf(day: number): (typeof fromSunday)[number] {
  return fromSunday[(((day + 4) % 7) + 7) % 7] ?? 'sun';
}

/** A part of the time line in which the zone's clock has one offset from UTC. */
interface OffsetSpan extends Span {
  readonly offsetMs: number;
}

function* offsetSpans(zone: string, startMs: number): Generator<OffsetSpan> {
  for (let from = startMs; from < startMs + horizonMs;) {
    const offsetMs = offsetAt(zone, from);
    const endMs = changeIn(zone, from, offsetMs) ?? from + stepMs;
    yield { startMs: from, endMs, offsetMs };
    from = endMs;
  }
}

/** The first moment of a step at which the clock has another offset. No zone changes twice within a week. */
function changeIn(zone: string, from: number, offsetMs: number): number | undefined {
  let [same, other] = [from, from + stepMs];
  if (offsetAt(zone, other) === offsetMs) return undefined;
  while (other - same > 1) {
    const middle = Math.floor((same + other) / 2);
    if (offsetAt(zone, middle) === offsetMs) same = middle;
    else other = middle;
  }
  return other;
}

/** Making one takes a hundred times as long as using it. The zones are those of policies. */
const clocks = new Map<string, Intl.DateTimeFormat>();

function clockOf(zone: string): Intl.DateTimeFormat {
  const known = clocks.get(zone);
  if (known !== undefined) return known;
  const numbers = { year: 'numeric', month: 'numeric', day: 'numeric', hour: 'numeric', minute: 'numeric' } as const;
  const clock = new Intl.DateTimeFormat('en-US', { ...numbers, second: 'numeric', hourCycle: 'h23', timeZone: zone });
  clocks.set(zone, clock);
  return clock;
}

/** How far the zone's clock is ahead of UTC at a moment, in milliseconds. */
function offsetAt(zone: string, atMs: number): number {
  // The format is "11/24/2026, 08:00:00". `formatToParts` would take six times as long.
  const numbers = clockOf(zone).format(atMs).match(/\d+/g) ?? [];
  const [month = 1, day = 1, year = 1970, hour = 0, minute = 0, second = 0] = numbers.map(Number);
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  return wall - Math.floor(atMs / 1000) * 1000;
}
