import type { Rule } from './rule.js';

/** A part of a rule without a possible approver. */
export interface UnknownGroup {
  /** The place of the rule among the rules, from 0. */
  readonly index: number;
  readonly message: string;
}

/**
 * Finds the stages and escalations whose group no approver has. Such an approval would wait until it expires.
 * @param known the groups that approvers have
 */
export function unknownGroups(rules: readonly Rule[], known: ReadonlySet<string>): readonly UnknownGroup[] {
  return rules.flatMap(({ then }, index) => {
    if (then.outcome !== 'require') return [];
    const { stages, escalation } = then.requirement;
    const lists = stages.flatMap(({ mode, groups }) => {
      if (groups === null) return [];
      return mode === 'all-of' ? groups.map((group) => [group]) : [groups];
    });
    return [...lists, ...escalation.map(({ to }) => to)]
      .filter((groups) => !groups.some((group) => known.has(group)))
      .map((groups) => ({
        index,
        message: `no person can answer: no approver is in the group ${groups.join(' or ')}`,
      }));
  });
}
