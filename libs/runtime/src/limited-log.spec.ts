import { expect, it } from '@jest/globals';
import { createCollectingLog } from './collecting-log.js';
import { createLimitedLog } from './limited-log.js';
import { createVirtualClock } from './virtual-clock.js';

it('a flood of one warning is written 20 times, then once per second with the count of what was left out', () => {
  const [clock, log] = [createVirtualClock(0), createCollectingLog()];
  const limited = createLimitedLog(log, clock).child({ part: 'p' });
  const warn = (count: number): void => {
    for (let n = 0; n < count; n += 1) limited.warn({ n }, 'refused');
  };
  warn(10_000);
  expect(log.entries).toHaveLength(20);
  clock.advance(1000);
  warn(2);
  expect(log.entries).toHaveLength(21);
  expect(log.entries.at(-1)?.fields).toEqual({ part: 'p', n: 0, leftOut: 9980 });
});

it('a flood of one warning hides no other line', () => {
  const log = createCollectingLog();
  const limited = createLimitedLog(log, createVirtualClock(0));
  for (let n = 0; n < 100; n += 1) limited.warn({}, 'refused');
  limited.warn({}, 'another');
  limited.error({}, 'refused');
  for (let n = 0; n < 30; n += 1) limited.info({}, 'refused');
  expect(log.entries).toHaveLength(20 + 1 + 1 + 30);
});
