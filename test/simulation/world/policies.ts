import { celEngine } from '@countersign/cel';
import { createPolicy, loadPolicy } from '@countersign/policy';
import type { Policy, PolicyContent } from '@countersign/policy';

/**
 * The policy of every world, by the product's own rules. `pay_two` and large amounts need two people, `pay_nudge`
 * reminds and escalates, a denial of the two ends the run, silence approves `pay_silent`, `drop_table` is blocked when the
 * arguments say so. An amount may be edited from one rule into another. The file that replaces it asks one person about
 * `pay_two`, and ends no run.
 */
const file = (fourEyes: boolean, isReplaced: boolean): string => `
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
    then: { require: { quorum: { approve: ${isReplaced ? '1' : '2'}, deny: ${isReplaced ? '1' : '2'} } } }
  - id: large
    match: { tools: [pay, edit_file] }
    when: args.amount > 700
    then: { require: { stages: [{ quorum: { approve: 1 } }, { quorum: { approve: 1, deny: 2 } }], denyEndsRun: ${String(!isReplaced)} } }
  - id: nudge
    match: { tools: [pay_nudge] }
    then: { require: { onTimeout: escalate, escalation: [{ to: [ops], expiresIn: 20s }], reminders: [5s, 15s], denyEndsRun: ${String(!isReplaced)} } }
  - id: silent
    match: { tools: [pay_silent] }
    then: { require: { onTimeout: allow, allowOnTimeout: i-understand } }
`;

const load = (fourEyes: boolean, isReplaced: boolean): PolicyContent =>
  loadPolicy('countersign.policy.yaml', file(fourEyes, isReplaced), celEngine);

const files = [true, false].map((fourEyes) => ({ first: load(fourEyes, false), next: load(fourEyes, true) }));

/** The policy file of a world, with or without four eyes: the first one, and the one that replaces it. */
export function policyFiles({ fourEyes }: { readonly fourEyes: boolean }): (typeof files)[number] {
  const found = files[fourEyes ? 0 : 1];
  if (found === undefined) throw new Error('there is a policy for either case');
  return found;
}

const byVersion = new Map(
  files.flatMap(({ first, next }) => [first, next]).map((content) => [content.version, createPolicy(content)]),
);

/** The policy that a verdict cites; undefined when no world has it. */
export function policyOfVersion(version: string): Policy | undefined {
  return byVersion.get(version);
}
