import type { Reach } from './ownership.js';

/** The common part of every command: the time of the decision, epoch milliseconds. The domain reads no clock. */
export interface Timed {
  readonly at: number;
}

/** The state of an all-or-nothing batch; `open`: not decided. */
export type BatchFate = 'open' | 'begun' | 'broken';

/** A command that only the owner of the call may give, or a caller with the reach `any`. */
export interface ByOwner extends Timed {
  readonly reach: Reach;
}
