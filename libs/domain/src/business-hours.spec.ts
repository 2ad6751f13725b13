import { describe, expect, it } from '@jest/globals';
import type { BusinessHours } from '@countersign/contracts';
import fc from 'fast-check';
import { afterBusinessTime, businessSpans } from './business-hours.js';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;

const weekdays = ['mon', 'tue', 'wed', 'thu', 'fri'] as const;
const everyDay = [...weekdays, 'sat', 'sun'] as const;

const office: BusinessHours = { zone: 'Europe/Paris', days: [...weekdays], from: '08:00', to: '18:00' };

const hours = (change: Partial<BusinessHours>): BusinessHours => ({ ...office, ...change });

function after(of: BusinessHours, start: string, durationMs: number): string {
  return new Date(afterBusinessTime(of, Date.parse(start), durationMs)).toISOString().replace(':00.000Z', 'Z');
}

describe('business time', () => {
  it.each([
    // 24 November 2026 is a Tuesday; Paris is one hour ahead of UTC.
    ['within the hours it passes as the clock does', '2026-11-24T09:00Z', 30 * minuteMs, '2026-11-24T09:30Z'],
    ['before the hours it waits for the opening', '2026-11-24T03:00Z', 30 * minuteMs, '2026-11-24T07:30Z'],
    ['after the hours it waits for the next day', '2026-11-24T17:30Z', 30 * minuteMs, '2026-11-25T07:30Z'],
    ['over the evening it continues in the morning', '2026-11-24T16:50Z', 30 * minuteMs, '2026-11-25T07:20Z'],
    ['over the weekend it continues on Monday', '2026-11-27T16:50Z', 30 * minuteMs, '2026-11-30T07:20Z'],
    ['on a Saturday it waits for Monday', '2026-11-28T12:00Z', hourMs, '2026-11-30T08:00Z'],
    ['it may end at the very end of the hours', '2026-11-24T16:30Z', 30 * minuteMs, '2026-11-24T17:00Z'],
    ['a day of ten hours is ten hours', '2026-11-24T09:00Z', 10 * hourMs, '2026-11-25T09:00Z'],
  ])('%s', (_, start, durationMs, expected) => {
    expect(after(office, start, durationMs)).toBe(expected);
  });

  describe('where the clocks change', () => {
    const night = hours({ days: [...everyDay], from: '01:00', to: '04:00' });

    // On 29 March 2026 Paris goes from 02:00 to 03:00, at 01:00 UTC.
    it('an hour that does not exist is not counted', () => {
      expect(after(night, '2026-03-29T00:00Z', 2 * hourMs)).toBe('2026-03-29T02:00Z');
      expect(after(night, '2026-03-29T00:00Z', 2 * hourMs + 1 * minuteMs)).toBe('2026-03-29T23:01Z');
    });

    it('hours that do not exist at all are skipped', () => {
      const gap = hours({ days: [...everyDay], from: '02:10', to: '02:40' });
      expect(after(gap, '2026-03-28T12:00Z', minuteMs)).toBe('2026-03-30T00:11Z');
    });

    it('hours that open in the gap open at its end', () => {
      expect(after(hours({ days: ['sun'], from: '02:30', to: '04:00' }), '2026-03-28T12:00Z', minuteMs)).toBe(
        '2026-03-29T01:01Z',
      );
    });

    // On 25 October 2026 Paris goes from 03:00 back to 02:00, at 01:00 UTC.
    it('an hour that comes twice is counted twice', () => {
      expect(after(night, '2026-10-24T23:00Z', 4 * hourMs)).toBe('2026-10-25T03:00Z');
    });

    it('hours inside the repeated hour open twice', () => {
      const twice = hours({ days: ['sun'], from: '02:10', to: '02:40' });
      expect(after(twice, '2026-10-24T12:00Z', 31 * minuteMs)).toBe('2026-10-25T01:11Z');
    });

    it('the opening stays at the same time of the wall clock', () => {
      expect(after(office, '2026-03-27T17:00Z', minuteMs)).toBe('2026-03-30T06:01Z');
      expect(after(office, '2026-10-23T16:00Z', minuteMs)).toBe('2026-10-26T07:01Z');
    });
  });

  it('hours across midnight belong to the day on which they open', () => {
    const shift = hours({ days: ['fri'], from: '22:00', to: '06:00' });
    expect(after(shift, '2026-11-27T12:00Z', 8 * hourMs)).toBe('2026-11-28T05:00Z');
    // The early hours of Friday belong to Thursday's shift, and Thursday has none.
    expect(after(shift, '2026-11-27T02:00Z', minuteMs)).toBe('2026-11-27T21:01Z');
    expect(after(shift, '2026-11-28T02:00Z', minuteMs)).toBe('2026-11-28T02:01Z');
  });

  it('24:00 is the end of the day, and every whole day is all the time', () => {
    const always = hours({ days: [...everyDay], from: '00:00', to: '24:00' });
    expect(after(always, '2026-10-24T20:00Z', 3 * dayMs)).toBe('2026-10-27T20:00Z');
    expect(after(hours({ days: ['sat'], from: '20:00', to: '24:00' }), '2026-11-28T12:00Z', 4 * hourMs)).toBe(
      '2026-11-28T23:00Z',
    );
  });

  it.each([
    ['Asia/Kolkata', '2026-11-24T02:30Z'],
    ['Asia/Kathmandu', '2026-11-24T02:15Z'],
    ['Australia/Lord_Howe', '2026-11-23T21:00Z'],
    ['UTC', '2026-11-24T08:00Z'],
    ['America/St_Johns', '2026-11-24T11:30Z'],
  ])('opens at eight by the clock of %s', (zone, opening) => {
    const start = new Date(Date.parse(opening) - minuteMs).toISOString();
    expect(after(hours({ zone }), start, minuteMs)).toBe(
      opening.replace(/.Z$/, (end) => `${String(Number(end[0]) + 1)}Z`),
    );
  });

  it('knows that a zone may leave out a day', () => {
    // Samoa had no 30 December 2011, a Friday.
    const samoa = hours({ zone: 'Pacific/Apia', days: ['fri'] });
    expect(after(samoa, '2011-12-29T12:00Z', minuteMs)).toBe('2012-01-05T18:01Z');
  });

  it('ends within ten years, at the end of some hours', () => {
    const rare = hours({ days: ['mon'], from: '08:00', to: '08:01' });
    const end = afterBusinessTime(rare, Date.parse('2026-11-24T09:00Z'), 3650 * dayMs);
    expect(new Date(end).toISOString()).toBe('2036-12-01T07:01:00.000Z');
  });
});

const zones = ['Europe/Paris', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kolkata', 'America/Havana', 'UTC'];
const timeOfDay = fc
  .integer({ min: 0, max: 1439 })
  .map((minute) => [Math.floor(minute / 60), minute % 60].map((part) => String(part).padStart(2, '0')).join(':'));
const anyHours = fc
  .record({
    zone: fc.constantFrom(...zones),
    days: fc.subarray([...everyDay], { minLength: 1 }),
    from: timeOfDay,
    to: fc.oneof(timeOfDay, fc.constant('24:00')),
  })
  .filter(({ from, to }) => from !== to);
/** Around the changes of two years. */
const anyStart = fc.integer({ min: Date.parse('2026-01-01T00:00Z'), max: Date.parse('2028-01-01T00:00Z') });
const anyDuration = fc.integer({ min: 1, max: 20 * dayMs });
/** Fits into ten years of one minute a week. */
const shortDuration = fc.integer({ min: 1, max: 8 * hourMs });

/**
 * Returns whether the zone's wall clock shows a time in the hours, computed in another way than the code under test.
 */
function isOpen({ zone, days, from, to }: BusinessHours, atMs: number): boolean {
  const options = { timeZone: zone, weekday: 'short', hour: '2-digit', minute: '2-digit', hourCycle: 'h23' } as const;
  const parts = new Intl.DateTimeFormat('en-GB', options).formatToParts(atMs);
  const of = (type: string): string => parts.find((part) => part.type === type)?.value ?? '';
  const [day, now] = [of('weekday').toLowerCase() as (typeof everyDay)[number], `${of('hour')}:${of('minute')}`];
  const before = everyDay[(everyDay.indexOf(day) + 6) % 7] ?? day;
  if (from < to) return days.includes(day) && now >= from && now < to;
  return (days.includes(day) && now >= from) || (days.includes(before) && now < to);
}

describe('for any hours, start and duration', () => {
  it('a deadline is in the hours, or the moment at which they end', () => {
    fc.assert(
      fc.property(anyHours, anyStart, anyDuration, (of, start, durationMs) => {
        const end = afterBusinessTime(of, start, durationMs);
        expect(isOpen(of, end) || isOpen(of, end - 1)).toBe(true);
      }),
    );
  });

  it('the business time until the deadline is the duration', () => {
    fc.assert(
      fc.property(anyHours, anyStart, shortDuration, (of, start, durationMs) => {
        const end = afterBusinessTime(of, start, durationMs);
        let passed = 0;
        for (const span of businessSpans(of, start)) {
          if (span.startMs >= end) break;
          passed += Math.min(span.endMs, end) - span.startMs;
        }
        expect(passed).toBe(durationMs);
      }),
    );
  });

  it('the wall clock agrees at every minute', () => {
    fc.assert(
      fc.property(anyHours, anyStart, (of, anywhere) => {
        const start = Math.floor(anywhere / minuteMs) * minuteMs;
        const spans = businessSpans(of, start);
        let span = spans.next().value as { startMs: number; endMs: number };
        for (let at = start; at < start + 2 * dayMs; at += 7 * minuteMs) {
          while (span.endMs <= at) span = spans.next().value as typeof span;
          expect(at >= span.startMs).toBe(isOpen(of, at));
        }
      }),
      { numRuns: 30 },
    );
  });

  it('a later start and a longer duration never end earlier', () => {
    fc.assert(
      fc.property(
        anyHours,
        anyStart,
        anyDuration,
        fc.nat(dayMs),
        fc.nat(dayMs),
        (of, start, durationMs, late, more) => {
          const end = afterBusinessTime(of, start, durationMs);
          expect(afterBusinessTime(of, start + late, durationMs)).toBeGreaterThanOrEqual(end);
          expect(afterBusinessTime(of, start, durationMs + more)).toBeGreaterThanOrEqual(end);
        },
      ),
    );
  });
});
