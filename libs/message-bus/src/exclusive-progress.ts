/** The time in which one process is the active one. */
export interface Turn {
  /** What was kept last, by whichever process; null before anything was. */
  readonly progress: string | null;
  /** Aborts when the turn is over: another process has taken over or is about to, or it was released. */
  readonly ended: AbortSignal;
  /**
   * Keeps the progress for the next turn. Resolves once it is durable.
   * @throws FencedError when the turn is over: nothing was kept. Any other error may pass, and may have kept it.
   */
  readonly keep: (progress: string) => Promise<void>;
  /** Ends the turn, so that another process need not wait until this one is taken for dead. Does nothing a second time. */
  readonly release: () => Promise<void>;
}

/**
 * Lets one of several processes do what only one at a time may, each going on where the last one kept its progress.
 *
 * MUST for every adapter (the contract suite proves it): progress is kept by the holder of the latest turn alone; a
 * holder that is taken for dead is replaced, and fenced when it wakes. It is no lock: for a moment two processes may
 * both believe that they are active, so what they do before they `keep` must bear being done twice.
 */
export interface ExclusiveProgress {
  /**
   * Resolves when this process is the active one; as long as another is, or nothing can be reached, it waits. One take
   * at a time: the next one when the turn before is over.
   * @throws the signal's reason when that aborts first; this process then no longer stands in line.
   */
  readonly take: (signal: AbortSignal) => Promise<Turn>;
}

/** Another process has taken over: whatever was read or decided in this turn is no longer this process's to say. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor(detail = 'another process has taken over') {
    super(detail);
  }
}
