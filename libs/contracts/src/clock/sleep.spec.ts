import { describe, expect, it } from '@jest/globals';
import type { Clock } from './clock.js';
import { sleep, sleepOrThrow } from './sleep.js';

/** A clock with one timer, which the spec fires. */
function createHandClock() {
  let pending: (() => void) | undefined;
  const clock: Clock = {
    now: () => 0,
    monotonic: () => 0,
    setTimer: (_delayMs, fn) => {
      pending = fn;
      return () => (pending = undefined);
    },
  };
  return { clock, fire: () => pending?.(), isSet: () => pending !== undefined };
}

const why = new Error('the worker is closed');

describe.each([
  { name: 'sleep', wait: sleep, atAbort: 'resolves' },
  { name: 'sleepOrThrow', wait: sleepOrThrow, atAbort: 'rejects' },
])('$name', ({ wait, atAbort }) => {
  const endOf = (waiting: Promise<void>): Promise<unknown> =>
    waiting.then(
      () => 'resolves',
      (error: unknown) => (error === why ? 'rejects' : error),
    );

  it(`${atAbort} at once, without a timer, when the signal has aborted before`, async () => {
    const { clock, isSet } = createHandClock();
    expect(await endOf(wait(clock, 1000, AbortSignal.abort(why)))).toBe(atAbort);
    expect(isSet()).toBe(false);
  });

  it(`${atAbort} when the signal aborts during the wait, and cancels the timer`, async () => {
    const { clock, isSet } = createHandClock();
    const stop = new AbortController();
    const waiting = wait(clock, 1000, stop.signal);
    expect(isSet()).toBe(true);
    stop.abort(why);
    expect(isSet()).toBe(false);
    expect(await endOf(waiting)).toBe(atAbort);
  });

  it('resolves when the time is over, also when the signal aborts right after', async () => {
    const { clock, fire } = createHandClock();
    const stop = new AbortController();
    const waiting = wait(clock, 1000, stop.signal);
    fire();
    stop.abort(why);
    expect(await endOf(waiting)).toBe('resolves');
  });

  it('leaves no listener at the signal', async () => {
    const { clock, fire } = createHandClock();
    const { signal } = new AbortController();
    let listeners = 0;
    const [add, remove] = [signal.addEventListener.bind(signal), signal.removeEventListener.bind(signal)];
    signal.addEventListener = (...given: Parameters<typeof add>) => (add(...given), (listeners += 1), undefined);
    signal.removeEventListener = (...given: Parameters<typeof remove>) => (
      remove(...given),
      (listeners -= 1),
      undefined
    );
    const waiting = wait(clock, 1000, signal);
    expect(listeners).toBe(1);
    fire();
    await waiting;
    expect(listeners).toBe(0);
  });

  it('needs no signal', async () => {
    const { clock, fire } = createHandClock();
    const waiting = wait(clock, 1000);
    fire();
    expect(await endOf(waiting)).toBe('resolves');
  });
});

it('sleepOrThrow rejects with an Error when the reason of the signal is none', async () => {
  const { clock } = createHandClock();
  await expect(sleepOrThrow(clock, 1, AbortSignal.abort('closed'))).rejects.toThrow('aborted: closed');
});
