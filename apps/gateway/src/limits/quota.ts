import { principalKey, provenKey } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';

/** Counts the current things of one kind per principal. */
export interface Quota {
  /**
   * Counts one more. Returns a function that releases it, once.
   * @throws ProblemError `too-many-requests` at the cap.
   */
  readonly take: (actor: Actor) => () => void;
}

/** The people of one front end have together as much as so many principals. */
export const frontEndTimes = 4;

/**
 * A quota of `max` things per principal; `noun` names them in the refusal. The people of one front end have together
 * `frontEndTimes` as many.
 */
export function createQuota(max: number, noun: string): Quota {
  const ofPrincipals = createCounts(max, `a principal may have ${String(max)} ${noun} at a time`);
  const maxOfAll = max * frontEndTimes;
  const ofFrontEnds = createCounts(
    maxOfAll,
    `the people of a front end may have ${String(maxOfAll)} ${noun} at a time together`,
  );
  return {
    take: (actor) => {
      if (actor.vouchedBy === undefined) return ofPrincipals(principalKey(actor));
      const release = ofFrontEnds(provenKey(actor));
      try {
        const releasePerson = ofPrincipals(principalKey(actor));
        return () => {
          releasePerson();
          release();
        };
      } catch (error) {
        release();
        throw error;
      }
    },
  };
}

function createCounts(max: number, refusal: string): (key: string) => () => void {
  const counts = new Map<string, number>();
  return (key) => {
    const count = counts.get(key) ?? 0;
    if (count >= max) throw new ProblemError('too-many-requests', refusal);
    counts.set(key, count + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (counts.get(key) ?? 0) - 1;
      if (left > 0) counts.set(key, left);
      else counts.delete(key);
    };
  };
}
