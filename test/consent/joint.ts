import type { Rule } from './words.ts';

/** What a worker that wants people to be asked gets where no rule asks: any approver, without a deadline. */
export const anyApprover: Rule = {
  ...{ id: 'any-approver', from: 0, isHigh: false, expiresIn: Infinity, atEnd: 'deny', escalation: null },
  stages: [{ groups: ['anyone'], approve: 1, deny: 1 }],
};

/**
 * What several rules ask of one call together: each of them must be satisfied. Where one asks all that the other one does, that is
 * the one. Where their ends differ, no answer in time means denied.
 */
export function together([first, ...others]: readonly [Rule, ...Rule[]]): Rule {
  return others.reduce((before, rule) => {
    if (before.id === rule.id) return before;
    if (asksAllOf(rule, before)) return rule;
    return asksAllOf(before, rule) ? before : joint(before, rule);
  }, first);
}

/** Whether what the first rule asks is all that the other one does as well. Here of rules with one stage and the same end. */
function asksAllOf(one: Rule, other: Rule): boolean {
  const [[stage, ...more], [less, ...others]] = [one.stages, other.stages];
  if (stage === undefined || less === undefined || more.length + others.length > 0) return false;
  const isAsMany = isSame(stage.groups, less.groups) && stage.approve >= less.approve && stage.deny <= less.deny;
  const endOf = ({ atEnd, expiresIn, escalation }: Rule) => [atEnd, expiresIn, escalation?.to, escalation?.expiresIn];
  const marksOf = ({ isHigh, endsRun, assured, signed }: Rule) => [isHigh, endsRun, assured, signed];
  const isMarked = marksOf(other).every((mark, at) => mark !== true || marksOf(one)[at] === true);
  return isAsMany && isMarked && isSame(endOf(one), endOf(other)) && modeOf(one) >= modeOf(other);
}

const isSame = (one: readonly unknown[], other: readonly unknown[]): boolean => one.join() === other.join();

/** How strictly a rule binds the calls of a step. */
const modeOf = ({ batch }: Rule): number => [undefined, 'sequential', 'any-asks-all'].indexOf(batch);

function joint(one: Rule, other: Rule): Rule {
  const rules = [one, other].flatMap((rule) => rule.parts ?? [rule]);
  const id = rules.map((rule) => rule.id).join(' and ');
  const isSameEnd = one.atEnd === other.atEnd && one.escalation?.to === other.escalation?.to;
  const times = [one.expiresIn, other.expiresIn];
  const end =
    isSameEnd && one.atEnd !== 'deny'
      ? { atEnd: one.atEnd, escalation: one.escalation, expiresIn: Math.max(...times) }
      : { atEnd: 'deny' as const, escalation: null, expiresIn: Math.min(...times) };
  return {
    ...{ id, from: one.from, stages: rules.flatMap(({ stages }) => stages), ...end },
    isHigh: one.isHigh || other.isHigh,
    ...(rules.some(({ endsRun }) => endsRun === true) && { endsRun: true }),
    ...(rules.some(({ assured }) => assured === true) && { assured: true }),
    parts: rules.map((rule) => ({ ...rule, id, escalation: end.escalation })),
  };
}
