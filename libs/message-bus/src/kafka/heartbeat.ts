import type { Clock } from '@countersign/runtime';

/** How often a member of a group says that it is alive. */
export const heartbeatMs = (sessionTimeoutMs: number): number => Math.min(3_000, Math.floor(sessionTimeoutMs / 4));

/** What waiting needs. */
export interface BeatPorts {
  readonly clock: Clock;
  readonly everyMs: number;
  /** Throws when the group is rebalanced. */
  readonly beat: () => Promise<void>;
}

/** Waits for `room`, and stays a member meanwhile, however long that takes. @throws what `beat` throws. */
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
