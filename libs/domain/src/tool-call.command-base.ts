import type { Requirement, Verdict } from '@countersign/contracts';
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

/** The policy's verdict on a call, with `ruleId`, policy version and reasons. */
export type Judgement =
  | { readonly outcome: 'allow'; readonly verdict: Verdict }
  | {
      readonly outcome: 'require';
      readonly verdict: Verdict;
      readonly requirement: Requirement;
      /** No rule that counts sets the time that people have, so a request may set a longer one. Default: one does. */
      readonly isExpiryOpen?: true;
    }
  | { readonly outcome: 'block'; readonly verdict: Verdict; readonly reason: string };
