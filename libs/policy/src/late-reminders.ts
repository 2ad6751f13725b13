import type { Rule } from './rule.js';

/** A reminder that is never sent, with its place in the file. */
export interface LateReminder {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Finds the reminders at or after the end of the approval. Reminders and expiry count the same business hours. */
export function lateReminders(rules: readonly Rule[]): readonly LateReminder[] {
  return rules.flatMap(({ then }, ofRule) => {
    if (then.outcome !== 'require') return [];
    const end = endMs(then.requirement);
    return then.requirement.remindersMs.flatMap((afterMs, index) => {
      if (afterMs < end) return [];
      const path = ['rules', ofRule, 'then', 'require', 'reminders', index];
      // A request may set a longer time where the file sets none.
      const unless = then.isExpirySet ? '' : ', unless a request sets a longer one';
      const message = `is never sent: the approval has expired by then${unless}. Write an earlier time or a longer "expiresIn"`;
      return [{ path, message }];
    });
  });
}

/** The time after the request at which an approval ends without a response. */
function endMs({ expiresInMs, onTimeout, escalation }: RequirementTimes): number {
  if (expiresInMs === 'never' || onTimeout === 'hold') return Infinity;
  return escalation.reduce((sum, level) => sum + level.expiresInMs, expiresInMs);
}

type RequirementTimes = Pick<
  Extract<Rule['then'], { outcome: 'require' }>['requirement'],
  'expiresInMs' | 'onTimeout' | 'escalation'
>;
