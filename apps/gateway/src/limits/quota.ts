import { principalKey } from '@countersign/commands';
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

/** A quota of `max` things per principal; `noun` names them in the refusal. */
export function createQuota(max: number, noun: string): Quota {
  const counts = new Map<string, number>();
  return {
    take: (actor) => {
      const principal = principalKey(actor);
      const count = counts.get(principal) ?? 0;
      if (count >= max) {
        throw new ProblemError('too-many-requests', `a principal may have ${String(max)} ${noun} at a time`);
      }
      counts.set(principal, count + 1);
      let isHeld = true;
      return () => {
        if (!isHeld) return;
        isHeld = false;
        const left = (counts.get(principal) ?? 0) - 1;
        if (left > 0) counts.set(principal, left);
        else counts.delete(principal);
      };
    },
  };
}
