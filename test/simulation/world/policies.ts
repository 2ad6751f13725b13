import { createPolicies, loadPolicy } from '@countersign/policy';
import type { Judgement, Policies, PolicyCall } from '@countersign/policy';

const file = `
version: 1
requireApprovalTools: ["pay*", "edit_*", "drop_*"]
defaults: { expiresIn: 40s, executeBy: 60s }
`;

/**
 * The policy of every world: the file's rules, and what depends on the tool's name. `pay_two` needs two people,
 * `pay_hold` and `pay_nudge` do more than expire, `drop_*` is blocked when the arguments say so.
 */
export function createSimulatedPolicies(options: { readonly fourEyes: boolean }): Policies {
  const inner = createPolicies([loadPolicy('countersign.policy.yaml', file)]);
  const judge = (judgement: Judgement, call: PolicyCall): Judgement => {
    const requirement = { ...judgement.requirement, fourEyes: options.fourEyes };
    if (call.toolName === 'drop_table' && call.arguments['all'] === true) {
      return { requirement, verdict: { ...judgement.verdict, outcome: 'block', automatic: true } };
    }
    if (call.toolName === 'pay_two') {
      const stages = [{ mode: 'quorum' as const, approve: 2, deny: 2, groups: null }];
      return { ...judgement, requirement: { ...requirement, stages } };
    }
    if (call.toolName === 'pay_nudge') {
      const escalation = [{ to: ['ops'], expiresInMs: 20_000 }];
      return {
        ...judgement,
        requirement: { ...requirement, onTimeout: 'escalate', escalation, remindersMs: [5_000, 15_000] },
      };
    }
    if (call.toolName === 'pay_silent') {
      return { ...judgement, requirement: { ...requirement, onTimeout: 'allow' } };
    }
    return { ...judgement, requirement };
  };
  return {
    of: (tenant) => {
      const policy = inner.of(tenant);
      return {
        ...policy,
        judge: (calls, nowMs) =>
          policy.judge(calls, nowMs).map((one, index) => judge(one, calls[index] ?? ({} as PolicyCall))),
      };
    },
  };
}
