import { jest } from '@jest/globals';
import { createSystemClock, sleep } from './clock.js';
import { createVirtualClock } from './virtual-clock.js';

describe('the system clock', () => {
  it('tells the wall time, and a monotonic time that does not go back', () => {
    const clock = createSystemClock();
    expect(Math.abs(clock.now() - Date.now())).toBeLessThan(1000);
    const before = clock.monotonic();
    expect(clock.monotonic()).toBeGreaterThanOrEqual(before);
  });

  it('waits at least as long as asked', async () => {
    const clock = createSystemClock();
    const before = clock.monotonic();
    await sleep(clock, 20);
    expect(clock.monotonic() - before).toBeGreaterThanOrEqual(20);
  });

  it('does not call a cancelled timer', async () => {
    const clock = createSystemClock();
    const fn = jest.fn();
    clock.setTimer(1, fn)();
    await sleep(clock, 10);
    expect(fn).not.toHaveBeenCalled();
  });

  it('waits longer than the 24.8 days that setTimeout can', () => {
    jest.useFakeTimers();
    try {
      const clock = createSystemClock();
      const fn = jest.fn();
      const thirtyDaysMs = 30 * 86_400_000;
      clock.setTimer(thirtyDaysMs, fn);
      jest.advanceTimersByTime(thirtyDaysMs - 1000);
      expect(fn).not.toHaveBeenCalled();
      jest.advanceTimersByTime(1000);
      expect(fn).toHaveBeenCalledTimes(1);
    } finally {
      jest.useRealTimers();
    }
  });
});

describe('sleep', () => {
  it('ends early when the signal aborts, and at once when it already has', async () => {
    const clock = createVirtualClock();
    const stop = new AbortController();
    const sleeping = sleep(clock, 1000, stop.signal);
    stop.abort();
    await sleeping;
    await sleep(clock, 1000, stop.signal);
    expect(clock.nextInMs()).toBeUndefined();
  });
});

describe('the virtual clock', () => {
  it('runs timers in order of time, then of setting', () => {
    const clock = createVirtualClock(1000);
    const ran: string[] = [];
    const note = (name: string) => (): void => {
      ran.push(`${name}@${String(clock.now())}`);
    };
    clock.setTimer(20, note('late'));
    clock.setTimer(10, note('first'));
    clock.setTimer(10, note('second'));
    clock.setTimer(5, note('cancelled'))();
    expect(clock.nextInMs()).toBe(10);
    clock.advance(15);
    expect(ran).toEqual(['first@1010', 'second@1010']);
    expect(clock.runNext()).toBe(true);
    expect(clock.runNext()).toBe(false);
    expect(ran.at(-1)).toBe('late@1020');
    expect(clock.monotonic()).toBe(20);
  });

  it('runs timers that continuations set while it advances', async () => {
    const clock = createVirtualClock();
    let rounds = 0;
    const loop = async (): Promise<void> => {
      for (; rounds < 3; rounds += 1) await sleep(clock, 10);
    };
    const looping = loop();
    await clock.advanceAsync(30);
    await looping;
    expect(clock.monotonic()).toBe(30);
  });

  it('jumps in wall time alone', () => {
    const clock = createVirtualClock(1000);
    clock.jump(-500);
    expect(clock.now()).toBe(500);
    expect(clock.monotonic()).toBe(0);
  });
});
