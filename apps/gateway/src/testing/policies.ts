import { createPolicies } from '@countersign/policy';
import type { Judgement, Policies } from '@countersign/policy';

type Requirement = Judgement['requirement'];
type Stage = Requirement['stages'][number];

const stage = (more: Partial<Stage>): Stage => ({ mode: 'quorum', approve: 1, deny: 1, groups: null, ...more });

/** The requirements for these tools, in addition to the built-in policy. */
const required: Readonly<Record<string, Partial<Requirement>>> = {
  two_people: { stages: [stage({ approve: 2 })] },
  ops_only: { stages: [stage({ groups: ['ops'] })] },
  with_reason: { requireReason: ['deny'] },
  lapses_at_once: { executeByMs: 1 },
  whole_pair: { batch: 'any-asks-all', stages: [stage({ approve: 2 })] },
  whole_step: { batch: 'any-asks-all' },
};

/** The built-in policy, with tools that need two people, one group or a reason, and one that is blocked. */
export function createTestPolicies(): Policies {
  const builtIn = createPolicies([]);
  const judgeOne = (judgement: Judgement, toolName: string): Judgement => {
    const { verdict, requirement } = judgement;
    if (toolName === 'drop_table') return { verdict: { ...verdict, outcome: 'block', why: ['never'] }, requirement };
    const more = required[toolName];
    if (more === undefined) return judgement;
    return { verdict: { ...verdict, outcome: 'require' }, requirement: { ...requirement, ...more } };
  };
  return {
    of: (tenant) => {
      const policy = builtIn.of(tenant);
      return {
        ...policy,
        judge: (calls, nowMs) =>
          policy.judge(calls, nowMs).map((one, index) => judgeOne(one, calls[index]?.toolName ?? '')),
      };
    },
  };
}
