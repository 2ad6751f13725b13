import type { Clock } from '@countersign/runtime';
import { startHeartbeat } from './heartbeat.js';

/** How far the clock of a machine may differ from the store's. */
export const skewMsMax = 2000;

/**
 * The store's time, as far as this process knows it. Stored times come from it, and it decides what is due. The clock of
 * the machine only says whether the process is ready.
 */
export interface StoreClock extends Clock {
  /** The best known time of the store, ms since the epoch; the machine's own time while nothing is known. */
  readonly now: () => number;
  /** How far the machine's clock is ahead of the store's, in ms; negative when it is behind. */
  readonly aheadMs: () => number;
  /** Why the store's time is not known at the moment; undefined when it is. */
  readonly doubt: () => string | undefined;
  /** Why this process is not ready and fires no deadline; undefined when its clock is right. */
  readonly problem: () => string | undefined;
  /** What a person should know of a clock that is right for this process. Absent: there is never anything. */
  readonly note?: () => string | undefined;
  /**
   * Returns whether this process missed time after that moment (ms since the epoch): it started later, it or its machine was
   * suspended, the store did not respond, or the clock was set forward. People could not respond in all of that time.
   */
  readonly missedSince: (atMs: number) => boolean;
}

/**
 * Words for a clock that is behind the newest event of the log; undefined while it is not. The attack: it is set back while the
 * server is stopped, so that deadlines and leases end later than they should.
 */
export function setBackWords(recordedMs: number, nowMs: number): string | undefined {
  if (recordedMs - nowMs <= skewMsMax) return undefined;
  return "this machine's clock is behind the newest event of the log: it was set back. Deadlines and leases end later; synchronise it";
}

/** What the clock of a store in this process may know besides. */
export interface OwnStoreClockOptions {
  /** When the newest event was recorded, ms since the epoch: the clock may have been set back since. Default: there is none. */
  readonly recordedMs?: number;
  /** Until then a heartbeat notices that this process alone is suspended. Default: nothing does. */
  readonly closing?: AbortSignal;
}

/**
 * The clock of a store that runs in this process: the two clocks are one. No other clock tells the time, so a wall clock
 * that is set forward is followed. The monotonic clock notices it, and so it does that the machine was suspended.
 */
export function createOwnStoreClock(
  clock: Clock,
  { recordedMs = -Infinity, closing }: OwnStoreClockOptions = {},
): StoreClock {
  const offsetOf = (now: number): number => now - clock.monotonic();
  const startedAt = clock.now();
  let last = startedAt;
  let offset = offsetOf(last);
  let jumpedFrom = recordedMs;
  const missed = (): void => void (jumpedFrom = Math.max(jumpedFrom, last));
  const heartbeat = closing && startHeartbeat(clock, closing, missed);
  const now = (): number => {
    heartbeat?.look();
    const time = clock.now();
    const moved = offsetOf(time);
    if (moved - offset > skewMsMax) missed();
    [last, offset] = [time, moved];
    return time;
  };
  return {
    now,
    monotonic: () => clock.monotonic(),
    setTimer: (delayMs, fn) => clock.setTimer(delayMs, fn),
    aheadMs: () => 0,
    doubt: () => undefined,
    problem: () => undefined,
    note: () => setBackWords(recordedMs, clock.now()),
    missedSince: (atMs) => {
      now();
      return atMs < startedAt || atMs <= jumpedFrom;
    },
  };
}
