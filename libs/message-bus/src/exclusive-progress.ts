/** The term in which one process is the leader. */
export interface Turn {
  /** The last stored progress, by any process; null at the start. */
  readonly progress: string | null;
  /** Aborts when the term is over: another process has taken over or is about to, or it was released. */
  readonly ended: AbortSignal;
  /**
   * Stores the progress for the next leader. Resolves once it is durable.
   * @throws FencedError when the term is over: nothing was stored. After any other error it may have been stored, and a
   *   retry may succeed.
   */
  readonly keep: (progress: string) => Promise<void>;
  /** Ends the term, so that another process need not wait for the session timeout. A second call does nothing. */
  readonly release: () => Promise<void>;
}

/**
 * Elects one of several processes, which continues from the progress of its predecessor.
 *
 * MUST for every adapter (the contract suite proves it): only the latest leader stores progress; a leader without
 * heartbeats is replaced, and fenced when it comes back. It is not a lock: for a moment two processes may both act as
 * leader, so their work before `keep` must tolerate being done twice.
 */
export interface ExclusiveProgress {
  /**
   * Resolves when this process is the leader; waits while another is, or while brokers are unreachable. One call at a
   * time: the next one after the term has ended.
   * @throws the signal's reason when that aborts first; then this process is no longer a candidate.
   */
  readonly take: (signal: AbortSignal) => Promise<Turn>;
}

/** Another process has taken over. The results of this term must be discarded. */
export class FencedError extends Error {
  override readonly name = 'FencedError';

  constructor(detail = 'another process has taken over') {
    super(detail);
  }
}
