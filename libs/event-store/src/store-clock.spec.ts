import { createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { describe, expect, it } from '@jest/globals';
import { createOwnStoreClock } from './store-clock.js';

const hourMs = 3_600_000;

/** Both clocks go on, and the timers that fell due run only afterwards. */
function stall(world: VirtualClock, forMs: number): void {
  world.block(forMs);
  world.advance(500);
}

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

  it('notices that this process was suspended, although both clocks went on, and no busy event loop', () => {
    const world = createVirtualClock();
    const closing = new AbortController();
    const clock = createOwnStoreClock(world, { closing: closing.signal });
    const before = clock.now();
    for (const busyMs of [1400, 100, 1400]) stall(world, busyMs);
    expect(clock.missedSince(before)).toBe(false);
    const asked = clock.now();
    stall(world, 2100);
    expect(clock.missedSince(asked)).toBe(true);
    expect(clock.missedSince(clock.now())).toBe(false);
    world.advance(hourMs);
    expect(clock.missedSince(asked)).toBe(true);
    closing.abort();
    expect(world.nextInMs()).toBeUndefined();
  });

  it('knows on waking up that it was suspended, before the heartbeat does', () => {
    const world = createVirtualClock();
    const asked: boolean[] = [];
    const clock = createOwnStoreClock(world, { closing: new AbortController().signal });
    const at = clock.now();
    world.setTimer(100, () => asked.push(clock.missedSince(at)));
    world.setTimer(450, () => asked.push(clock.missedSince(at)));
    stall(world, 3000);
    expect(asked).toEqual([true, true]);
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
