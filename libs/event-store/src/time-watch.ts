import type { Clock, Log } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import type { MeasuredClock, TimeAnswer } from './measured-clock.js';
import { skewMsMax } from './store-clock.js';

/** How often the store is asked for its time. */
const everyMs = 30_000;
/** How often the machine's clock is compared with what is known. */
const lookMs = 1000;
/** A server that did not respond is asked again after this time. */
const silentMs = 250;
/** A contradiction is asked again after this time: a server renews the time that it tells once a second. */
const confirmMs = 1100;

/** The dependencies of asking a store for its time. */
export interface TimeWatchPorts {
  readonly time: MeasuredClock;
  readonly clock: Clock;
  readonly log: Log;
  readonly closing: AbortSignal;
  /** The server that writes. Another one is asked at once: it has another clock. */
  readonly server: () => Promise<string>;
  /** Undefined when it does not respond. */
  readonly ask: () => Promise<TimeAnswer | undefined>;
}

/** Keeps asking the store for its time until it is closed, and logs when the clocks begin and cease to differ. */
export function watchTime({ time, clock, log, closing, server, ask }: TimeWatchPorts): void {
  let dueAt = -Infinity;
  let asked: string | undefined;
  let isOff = false;

  /** Asks when it is due; returns the pause until the next look. */
  const look = async (): Promise<number> => {
    const sinceMs = clock.monotonic();
    const current = await server();
    if (clock.monotonic() - sinceMs > skewMsMax) time.away();
    if (current === asked && !time.mustAsk() && clock.monotonic() < dueAt) return lookMs;
    const answer = await ask();
    if (answer === undefined) {
      time.away();
      return silentMs;
    }
    asked = current;
    dueAt = clock.monotonic() + (answer.againMs ?? everyMs);
    return time.told(answer) ? lookMs : confirmMs;
  };
  const report = (): void => {
    const aheadMs = Math.round(time.aheadMs());
    if (Math.abs(aheadMs) > skewMsMax === isOff) return;
    isOff = !isOff;
    if (isOff) log.warn({ aheadMs }, "this machine's clock and the event store's differ");
    else log.info({ aheadMs }, "this machine's clock and the event store's agree again");
  };
  const run = async (): Promise<void> => {
    while (!closing.aborted) {
      const pauseMs = await look();
      report();
      await sleep(clock, pauseMs, closing);
    }
  };
  // Asking for the server rejects once the store is closed.
  run().catch(() => undefined);
}
