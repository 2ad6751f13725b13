import { describe, expect, it } from '@jest/globals';
import { numberFormat, textFormat } from './formats.js';

const isOf = (format: string, value: unknown): boolean =>
  typeof value === 'number' ? numberFormat(format)?.(value) !== false : textFormat(format)?.(String(value)) !== false;

/** What tools and people really write: format, valid values, and values that are none. */
const written: readonly (readonly [string, readonly unknown[], readonly unknown[]])[] = [
  [
    'date',
    ['2026-11-27', '2024-02-29', '2000-02-29'],
    [
      '2026-02-30',
      '2026-02-29',
      '1900-02-29',
      '2026-13-01',
      '2026-00-10',
      '2026-04-31',
      '2026-11-00',
      '2026-1-1',
      '27.11.2026',
      '',
    ],
  ],
  [
    'date-time',
    ['2026-11-27T10:00:00Z', '2026-11-27T10:00:00.123456+05:30', '2026-11-27t10:00:00z'],
    [
      '2026-11-27T29:59:00Z',
      '2026-11-27T24:00:00Z',
      '2026-11-27T10:61:00Z',
      '2026-02-30T10:00:00Z',
      '2026-11-31T10:00:00Z',
      '2026-11-27T10:00:00',
      '2026-11-27',
      '2026-11-27T10:00:00+25:00',
    ],
  ],
  ['time', ['10:00:00Z', '23:59:59.5+01:00'], ['24:00:00Z', '25:10:00Z', '10:60:00Z', 'noon']],
  [
    'url',
    [
      'https://example.com/a',
      'http://localhost:3000/x',
      'http://[::1]:8080/',
      'https://tracker/browse/X-1',
      'http://192.0.2.7/a?b=c#d',
    ],
    ['not an address', 'http://', 'example.com', ''],
  ],
  [
    'uri',
    ['http://localhost:3000/x', 'urn:isbn:9780000000000', 'mailto:kim@example.com', 'file:///a/b%20c.txt'],
    ['/relative', 'a b', 'https://example.com/%zz'],
  ],
  ['email', ['kim@example.com', 'kim.lee+tag@sub.example.com'], ['kim', 'kim@', '@example.com', 'a b@example.com']],
  ['hostname', ['example.com', 'db-1.internal'], ['-db.example.com', 'a..b', 'a b']],
  ['ipv4', ['192.0.2.1'], ['256.1.1.1', '1.2.3', '192.0.2.1/24']],
  ['ipv6', ['::1', '2001:db8::1', '::ffff:192.0.2.1'], ['1::2::3', '2001:db8::g', '192.0.2.1']],
  [
    'uuid',
    ['550e8400-e29b-41d4-a716-446655440000', '550E8400-E29B-41D4-A716-446655440000'],
    ['550e8400e29b41d4a716446655440000', '550e8400-e29b-41d4-a716-44665544000'],
  ],
  [
    'duration',
    ['P1D', 'PT2H30M', 'P3W', 'PT1.5S', 'P0.5D', 'P1DT0,25H', 'P1.5W', 'P1DT12.000S'],
    ['P', '1d', 'PT', '2h', '-P1D', 'P.5D', 'PT1.S', 'P0.5DT1H', 'PT1.5', 'P1.5.5D', 'P1W2D', 'PT1.5S\n', 'PT1e3S'],
  ],
  ['int32', [2147483647, -2147483648], [2147483648, 1.5]],
  ['int-or-string', ['5%', 5, true], []],
];

describe.each(written)('the format %s', (format, valid, invalid) => {
  it('takes what is one', () => {
    expect(valid.filter((value) => !isOf(format, value))).toEqual([]);
  });

  it('refuses what is none', () => {
    expect(invalid.filter((value) => isOf(format, value))).toEqual([]);
  });
});

describe('a leap second', () => {
  it.each(['23:59:60Z', '15:59:60-08:00', '01:29:60+01:30', '23:59:60.5Z'])(
    'is one at the end of a day of UTC: %s',
    (time) => {
      expect(isOf('time', time)).toBe(true);
    },
  );

  it.each(['22:59:60Z', '23:59:60+01:00', '23:59:61Z'])('is none elsewhere: %s', (time) => {
    expect(isOf('time', time)).toBe(false);
  });
});

it.each(['2026-02-29T10:00:00Z', '2026-06-31 10:00:00', '2026-11-27T10:00:60'])('follows the calendar: %s', (text) => {
  expect(isOf('iso-date-time', text)).toBe(false);
});

it('a URI template has every character but controls, space, delimiters and lone braces (RFC 6570, 2.1)', () => {
  const isTemplate = textFormat('uri-template');
  const refused = Array.from({ length: 0x1_0000 }, (_, code) => String.fromCharCode(code)).filter(
    (one) => !isTemplate?.(one),
  );
  const controlsAndSpace = Array.from({ length: 0x21 }, (_, code) => String.fromCharCode(code));
  expect(refused).toEqual([...controlsAndSpace, '"', '%', "'", '<', '>', '\\', '^', '`', '{', '|', '}']);
});

it.each([
  ['classes of Unicode', `[${String.raw`\p{L}`.repeat(50_000)}]`],
  ['classes without regard to case', `(?i:[${String.raw`\W`.repeat(100_000)}])`],
  ['ranges without regard to case', `(?i:[${String.raw`\u0000-\u{10ffff}`.repeat(10_000)}])`],
])('a pattern with many %s is read in no time', (_, text) => {
  const before = process.cpuUsage().user;
  expect(isOf('regex', text)).toBe(true);
  expect((process.cpuUsage().user - before) / 1000).toBeLessThan(5000);
});
