import { setImmediate } from 'node:timers/promises';
import type { Clock } from '@countersign/contracts/clock';

/** A clock that moves only on command. */
export interface VirtualClock extends Clock {
  /** Moves both clocks and runs what falls due, in order of time, then of setting. */
  readonly advance: (byMs: number) => void;
  /** Like `advance`, but lets promises settle after each timer, so that timers set by their continuations run too. */
  readonly advanceAsync: (byMs: number) => Promise<void>;
  /** Moves to the next timer and runs it; false when there is none. */
  readonly runNext: () => boolean;
  /** How long until the next timer; `undefined` when there is none. */
  readonly nextInMs: () => number | undefined;
  /** Moves the wall time alone, as a clock that was set wrong and is put right. */
  readonly jump: (byMs: number) => void;
  /** Moves both clocks and runs nothing, as while the process is suspended or busy: what falls due is late. */
  readonly block: (byMs: number) => void;
}

interface Timer {
  readonly due: number;
  readonly fn: () => void;
}

/** A virtual clock, starting at `startAt` (ms since the epoch). */
export function createVirtualClock(startAt = Date.UTC(2030, 0, 1)): VirtualClock {
  // In order of due time; equal times in order of setting.
  const timers: Timer[] = [];
  let elapsed = 0;
  let offset = startAt;

  const runDue = (until: number): boolean => {
    const [first] = timers;
    if (first === undefined || first.due > until) return false;
    timers.shift();
    elapsed = Math.max(elapsed, first.due);
    first.fn();
    return true;
  };
  return {
    now: () => offset + elapsed,
    monotonic: () => elapsed,
    setTimer: (delayMs, fn) => {
      const timer = { due: elapsed + Math.max(0, delayMs), fn };
      const after = timers.findIndex((other) => other.due > timer.due);
      timers.splice(after === -1 ? timers.length : after, 0, timer);
      return () => {
        const index = timers.indexOf(timer);
        if (index !== -1) timers.splice(index, 1);
      };
    },
    advance: (byMs) => {
      const until = elapsed + byMs;
      while (runDue(until));
      elapsed = until;
    },
    advanceAsync: async (byMs) => {
      const until = elapsed + byMs;
      do await setImmediate();
      while (runDue(until));
      elapsed = until;
    },
    runNext: () => runDue(Infinity),
    nextInMs: () => {
      const [first] = timers;
      return first === undefined ? undefined : Math.max(0, first.due - elapsed);
    },
    jump: (byMs) => {
      offset += byMs;
    },
    block: (byMs) => {
      elapsed += byMs;
    },
  };
}
