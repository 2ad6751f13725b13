import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { systemClock } from './clock.js';

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
});
