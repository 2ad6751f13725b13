import { limits } from './limits.js';

/** The cost of one evaluation, and why it was stopped. */
export interface Meter {
  /** Begins a new evaluation. */
  readonly start: () => void;
  /**
   * Adds to the cost.
   * @throws Error when the cost is over the limit. The library turns it into an error value.
   */
  readonly charge: (cost: number) => void;
  /** Stops the evaluation. @throws Error with the problem. */
  readonly stop: (problem: string) => never;
  /** The cost so far, not more than the limit. */
  readonly cost: () => number;
  /**
   * Why the evaluation was stopped, if it was. Read it afterwards: `stopped || true` is true for CEL, because `||`
   * absorbs errors.
   */
  readonly problem: () => string | undefined;
}

/** Why a meter stops an evaluation. */
export const meterProblems = {
  cost: `it costs more than ${String(limits.cost)} units`,
  text: `it builds a text of more than ${String(limits.text)} characters`,
  list: `it builds a list of more than ${String(limits.items)} values`,
} as const;

/** A meter for one evaluation at a time: evaluations are synchronous. */
export function createMeter(): Meter {
  let left: number = limits.cost;
  let problem: string | undefined;
  const stop = (why: string): never => {
    problem ??= why;
    throw new Error(why);
  };
  return {
    start: () => {
      left = limits.cost;
      problem = undefined;
    },
    charge: (cost) => {
      left -= Math.ceil(cost);
      if (left < 0) stop(meterProblems.cost);
    },
    stop,
    cost: () => limits.cost - Math.max(0, left),
    problem: () => problem,
  };
}
