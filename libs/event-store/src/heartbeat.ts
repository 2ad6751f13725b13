import type { Clock } from '@countersign/runtime';

const beatMs = 500;
/** A busy event loop is late by less, and no person notices a response that takes so long. */
const pauseMsMax = 2000;

/** Notices that this process stood still. */
export interface Heartbeat {
  /** Looks at once: on waking up, the timer of a deadline may come before that of the heartbeat. */
  readonly look: () => void;
}

/**
 * Beats until it is closed, and tells `stoodStill` once after each pause of more than two seconds. Attack: the process is
 * suspended (`SIGSTOP`, a paused container, a debugger) while a question is open. Its clocks go on, and nobody could respond.
 */
export function startHeartbeat(clock: Clock, closing: AbortSignal, stoodStill: () => void): Heartbeat {
  let seenAt = clock.monotonic();
  const look = (): void => {
    const [before, at] = [seenAt, clock.monotonic()];
    seenAt = at;
    if (at - before > pauseMsMax) stoodStill();
  };
  let cancel = (): void => undefined;
  const beat = (): void => {
    look();
    cancel = clock.setTimer(beatMs, beat);
  };
  closing.addEventListener('abort', () => cancel(), { once: true });
  if (!closing.aborted) beat();
  return { look };
}
