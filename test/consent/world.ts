import type { People, Policy } from './words.ts';

/** The people of every world. `amy@corp.example` is another principal, which can turn out to be amy. */
export const people: People = {
  amy: ['support'],
  'amy@corp.example': ['support'],
  ben: ['support'],
  cleo: ['support', 'security'],
  dan: ['security'],
  eve: ['managers'],
  fay: ['managers'],
};

const one = (group: 'support' | 'managers' | 'security') => ({ groups: [group], approve: 1, deny: 1 });

/** Small amounts escalate, large ones need security; in between, silence approves what two people of support could. */
export const policies: readonly [Policy, Policy] = [
  [
    {
      ...{ id: 'small', from: 0, stages: [one('support')], isHigh: false },
      ...{ expiresIn: 30, atEnd: 'escalate', escalation: { to: 'managers', expiresIn: 40 } },
    },
    {
      ...{ id: 'news', from: 100, stages: [{ groups: ['support'], approve: 2, deny: 2 }], isHigh: false },
      ...{ expiresIn: 30, atEnd: 'allow', escalation: null },
    },
    {
      ...{ id: 'large', from: 1_000, stages: [one('security')], isHigh: true },
      ...{ expiresIn: 20, atEnd: 'deny', escalation: null },
    },
  ],
  [
    {
      ...{ id: 'held', from: 0, stages: [{ groups: ['support'], approve: 2, deny: 1 }], isHigh: false },
      ...{ expiresIn: 30, atEnd: 'hold', escalation: null },
    },
    {
      ...{ id: 'two-steps', from: 100, stages: [one('support'), one('security')], isHigh: false },
      ...{ expiresIn: 20, atEnd: 'deny', escalation: null },
    },
    {
      ...{ id: 'quick', from: 1_000, stages: [one('managers')], isHigh: true },
      ...{ expiresIn: 10, atEnd: 'deny', escalation: null },
    },
  ],
];

/** The policy as the product reads it: YAML, written as JSON. */
export function policyFile(policy: Policy, identities: ReadonlyMap<string, string>): string {
  const rules = policy.toReversed().map((rule) => ({
    id: rule.id,
    match: { tools: ['pay'] },
    when: `args.amount >= ${String(rule.from)}`,
    then: {
      require: {
        stages: rule.stages.map(({ groups, approve, deny }) => ({ quorum: { approve, deny, of: groups } })),
        expiresIn: `${String(rule.expiresIn)}s`,
        onTimeout: rule.atEnd,
        ...(rule.atEnd === 'allow' && { allowOnTimeout: 'i-understand' }),
        ...(rule.escalation !== null && {
          escalation: [{ to: [rule.escalation.to], expiresIn: `${String(rule.escalation.expiresIn)}s` }],
        }),
        risk: rule.isHigh ? 'high' : 'low',
        executeBy: '1h',
      },
    },
  }));
  const approvers = Object.entries(people).map(([id, groups]) => {
    const email = identities.get(id);
    return { id, groups, ...(email !== undefined && { identities: { email } }) };
  });
  return JSON.stringify({ version: 1, approvers, rules });
}
