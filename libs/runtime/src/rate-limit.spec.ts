import { describe, expect, it } from '@jest/globals';
import { createRateLimit, createTokenBuckets } from './rate-limit.js';
import { createVirtualClock } from './virtual-clock.js';

const passed = (mayPass: (key: string) => boolean, key: string, count: number): number =>
  Array.from({ length: count }, () => mayPass(key)).filter(Boolean).length;

describe('a rate limit', () => {
  it('lets a burst pass, then its rate, and no more after a long rest', () => {
    const clock = createVirtualClock(0);
    const mayPass = createRateLimit({ burst: 10, perSecond: 4 }, clock);
    expect(passed(mayPass, 'a', 100)).toBe(10);
    clock.advance(500);
    expect(passed(mayPass, 'a', 100)).toBe(2);
    clock.advance(3_600_000);
    expect(passed(mayPass, 'a', 100)).toBe(10);
  });

  it('says how long a key without a token waits for the next one', () => {
    const clock = createVirtualClock(0);
    const take = createTokenBuckets({ burst: 2, perSecond: 4 }, clock);
    expect([take('a'), take('a'), take('a'), take('b')]).toEqual([0, 0, 250, 0]);
    clock.advance(100);
    expect(take('a')).toBe(150);
    clock.advance(150);
    expect([take('a'), take('a')]).toEqual([0, 250]);
  });

  it('counts each key by itself', () => {
    const mayPass = createRateLimit({ burst: 3, perSecond: 1 }, createVirtualClock(0));
    expect([passed(mayPass, 'a', 100), passed(mayPass, 'b', 100)]).toEqual([3, 3]);
  });

  it('gives keys beyond its memory one bucket together, and room again when others have rested', () => {
    const clock = createVirtualClock(0);
    const mayPass = createRateLimit({ burst: 3, perSecond: 1 }, clock, 2);
    expect(['a', 'b', 'c', 'd'].map((key) => passed(mayPass, key, 5))).toEqual([3, 3, 3, 0]);
    expect(passed(mayPass, 'a', 1)).toBe(0);
    clock.advance(3000);
    expect(['c', 'd'].map((key) => passed(mayPass, key, 5))).toEqual([3, 3]);
  });
});
