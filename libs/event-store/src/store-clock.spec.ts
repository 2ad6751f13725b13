import { createVirtualClock } from '@countersign/runtime/testing';
import { describe, expect, it } from '@jest/globals';
import { createOwnStoreClock } from './store-clock.js';

const hourMs = 3_600_000;

describe('the clock of a store in the same process', () => {
  it('knows since when it was set forward', () => {
    const world = createVirtualClock();
    const clock = createOwnStoreClock(world);
    world.advance(hourMs);
    const before = clock.now();
    expect(clock.missedSince(before)).toBe(false);
    world.jump(2 * hourMs);
    expect(clock.missedSince(before)).toBe(true);
    expect(clock.now()).toBe(before + 2 * hourMs);
    const after = clock.now();
    world.advance(hourMs);
    expect(clock.missedSince(after)).toBe(false);
    expect(clock.missedSince(before)).toBe(true);
  });

  it('missed the time before it started', () => {
    const world = createVirtualClock();
    const before = world.now();
    world.advance(1);
    const clock = createOwnStoreClock(world);
    expect(clock.missedSince(before)).toBe(true);
    expect(clock.missedSince(clock.now())).toBe(false);
  });

  it('notices that the machine was suspended: its monotonic clock stood still', () => {
    const world = createVirtualClock();
    let pausedMs = 0;
    const clock = createOwnStoreClock({ ...world, monotonic: () => world.monotonic() - pausedMs });
    const before = clock.now();
    world.advance(hourMs);
    pausedMs = hourMs;
    expect(clock.missedSince(before)).toBe(true);
  });

  it('follows small corrections and a clock that is set back', () => {
    const world = createVirtualClock();
    const clock = createOwnStoreClock(world);
    const before = clock.now();
    for (let nth = 1; nth <= 3; nth += 1) {
      world.jump(2000);
      expect(clock.missedSince(before)).toBe(false);
    }
    world.jump(-hourMs);
    expect(clock.missedSince(before)).toBe(false);
  });
});
