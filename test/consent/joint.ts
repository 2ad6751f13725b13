import type { Rule } from './words.ts';

/** What a worker that wants people to be asked gets where no rule asks: any approver, without a deadline. */
export const anyApprover: Rule = {
  ...{ id: 'any-approver', from: 0, isHigh: false, expiresIn: Infinity, atEnd: 'deny', escalation: null },
  stages: [{ groups: ['anyone'], approve: 1, deny: 1 }],
};

/**
 * What several rules ask of one call together: each of them must be satisfied. Where their ends differ, no answer in time means
 * denied.
 */
export function together([first, ...others]: readonly [Rule, ...Rule[]]): Rule {
  return others.reduce((before, rule) => (before.id === rule.id ? before : joint(before, rule)), first);
}

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
