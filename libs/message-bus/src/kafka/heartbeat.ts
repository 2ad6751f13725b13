import type { Clock } from '@countersign/runtime';

/** The heartbeat interval of a group member. */
export const heartbeatMs = (sessionTimeoutMs: number): number => Math.min(3_000, Math.floor(sessionTimeoutMs / 4));

/** The dependencies of waiting. */
export interface BeatPorts {
  readonly clock: Clock;
  readonly everyMs: number;
  /** Throws when the group is rebalanced. */
  readonly beat: () => Promise<void>;
}

/** Waits for `room` and sends heartbeats meanwhile, without a limit. @throws the error of `beat`. */
export async function beatUntil(room: Promise<unknown>, { clock, everyMs, beat }: BeatPorts): Promise<void> {
  for (let waiting = true; waiting;) {
    let cancel = (): void => undefined;
    const isTime = new Promise<true>((resolve) => {
      cancel = clock.setTimer(everyMs, () => resolve(true));
    });
    waiting = await Promise.race([room.then(() => false), isTime]);
    cancel();
    if (waiting) await beat();
  }
}

/** Resolves when the signal aborts. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
