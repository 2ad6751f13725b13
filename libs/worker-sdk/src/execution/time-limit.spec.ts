import { describe, expect, it } from '@jest/globals';
import { createTimeLimit, TimeLimitError } from './time-limit.js';

function virtualClock() {
  let now = 0;
  let timer: { readonly at: number; readonly fn: () => void } | undefined;
  return {
    now: () => now,
    monotonic: () => now,
    setTimer: (delayMs: number, fn: () => void) => {
      const mine = { at: now + delayMs, fn };
      timer = mine;
      return () => {
        if (timer === mine) timer = undefined;
      };
    },
    advance: (ms: number) => {
      now += ms;
      if (timer !== undefined && timer.at <= now) timer.fn();
    },
  };
}

describe('a time limit', () => {
  it('counts the time between pauses, and pauses may overlap', () => {
    const clock = virtualClock();
    const { signal, pause } = createTimeLimit(clock, 100);
    clock.advance(60);
    const goOn = pause();
    const goOnToo = pause();
    clock.advance(1000);
    goOn();
    goOn();
    clock.advance(1000);
    goOnToo();
    clock.advance(39);
    expect(signal.aborted).toBe(false);
    clock.advance(1);
    expect(signal.reason).toBeInstanceOf(TimeLimitError);
  });

  it('is never over once it is released, also when a pause ends later', () => {
    const clock = virtualClock();
    const limit = createTimeLimit(clock, 100);
    const goOn = limit.pause();
    limit.release();
    goOn();
    clock.advance(200);
    expect(limit.signal.aborted).toBe(false);
  });
});
