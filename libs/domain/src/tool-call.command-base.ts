import type { Reach } from './ownership.js';

/** What every command carries: the moment at which it is decided, epoch milliseconds. The domain reads no clock. */
export interface Timed {
  readonly at: number;
}

/** What the stream of an all-or-nothing batch says; `open`: nothing yet. */
export type BatchFate = 'open' | 'begun' | 'broken';

/** A command that only the owner of the call may give, or somebody whose reach is `any`. */
export interface ByOwner extends Timed {
  readonly reach: Reach;
}
