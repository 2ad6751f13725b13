import { celEngine } from '@countersign/cel';
import { createPolicies, loadPolicy } from '@countersign/policy';
import type { Policies } from '@countersign/policy';

/**
 * The policy of every world, by the product's own rules. `pay_two` and large amounts need two people, `pay_nudge`
 * reminds and escalates, silence approves `pay_silent`, `drop_table` is blocked when the arguments say so. An amount may
 * be edited from one rule into another.
 */
const file = (fourEyes: boolean): string => `
version: 1
requireApprovalTools: ["pay*", "edit_*", "drop_*"]
defaults: { expiresIn: 40s, executeBy: 60s, fourEyes: ${String(fourEyes)} }
rules:
  - id: drop-all
    match: { tools: [drop_table] }
    when: has(args.all) && args.all == true
    then: { block: "all of it" }
  - id: two
    match: { tools: [pay_two] }
    then: { require: { quorum: { approve: 2, deny: 2 } } }
  - id: large
    match: { tools: [pay, edit_file] }
    when: args.amount > 700
    then: { require: { stages: [{ quorum: { approve: 1 } }, { quorum: { approve: 1, deny: 2 } }] } }
  - id: nudge
    match: { tools: [pay_nudge] }
    then: { require: { onTimeout: escalate, escalation: [{ to: [ops], expiresIn: 20s }], reminders: [5s, 15s] } }
  - id: silent
    match: { tools: [pay_silent] }
    then: { require: { onTimeout: allow, allowOnTimeout: i-understand } }
`;

/** The policy with or without four eyes. */
export function createSimulatedPolicies({ fourEyes }: { readonly fourEyes: boolean }): Policies {
  return createPolicies([loadPolicy('countersign.policy.yaml', file(fourEyes), celEngine)]);
}
