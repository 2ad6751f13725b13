import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from './clock.js';
import { sleep } from './sleep.js';

describe('the system clock', () => {
  it('tells the wall time, and a monotonic time that does not go back', () => {
    expect(Math.abs(systemClock.now() - Date.now())).toBeLessThan(1000);
    const before = systemClock.monotonic();
    expect(systemClock.monotonic()).toBeGreaterThanOrEqual(before);
  });

  it('waits at least as long as asked', async () => {
    const before = systemClock.monotonic();
    await sleep(systemClock, 20);
    expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(20);
  });

  it('does not call a cancelled timer', async () => {
    const fn = jest.fn();
    systemClock.setTimer(1, fn)();
    await sleep(systemClock, 10);
    expect(fn).not.toHaveBeenCalled();
  });
});

describe('a timer of the system clock', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  it.each([3_000_000_000, Infinity])('of %d ms does not fire after the 24.8 days that setTimeout can', (delayMs) => {
    const fn = jest.fn();
    const cancel = systemClock.setTimer(delayMs, fn);
    jest.advanceTimersByTime(2_999_999_000);
    expect(fn).not.toHaveBeenCalled();
    jest.advanceTimersByTime(1000);
    expect(fn).toHaveBeenCalledTimes(delayMs === Infinity ? 0 : 1);
    cancel();
    expect(jest.getTimerCount()).toBe(0);
  });

  it('waits for the rest when the timer of the system fires early, and can be cancelled then too', () => {
    const fn = jest.fn();
    const early = jest.spyOn(performance, 'now');
    // The timers fire 2 ms before the monotonic clock says so.
    const behindMs = 2;
    early.mockImplementation(() => (Date.now() === startedAt ? 0 : Date.now() - startedAt - behindMs));
    const startedAt = Date.now();
    systemClock.setTimer(100, fn);
    jest.advanceTimersByTime(100);
    expect(fn).not.toHaveBeenCalled();
    jest.advanceTimersByTime(behindMs);
    expect(fn).toHaveBeenCalledTimes(1);
    const cancel = systemClock.setTimer(100, fn);
    jest.advanceTimersByTime(98);
    cancel();
    expect(jest.getTimerCount()).toBe(0);
    early.mockRestore();
  });
});
