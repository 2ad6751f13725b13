import { celEngine } from '@countersign/cel';
import { createPolicy, loadPolicy } from '@countersign/policy';
import type { Policy, PolicyContent } from '@countersign/policy';
import { operations } from '../actors/people.ts';
import { absences } from './absences.ts';

/** The keys of a world's policy file other than its rules. */
interface Variant {
  readonly fourEyes: boolean;
  readonly hasQuotas: boolean;
}

/** All people of the file, in JSON, which is YAML. */
const approvers = ['alice', 'bob', 'carla', 'dora'].map((id) => ({
  id,
  groups: operations.includes(id) ? ['ops'] : [],
  delegates: absences.filter(({ who }) => who === id).map(({ delegate: to, from, until }) => ({ to, from, until })),
}));

/**
 * The policy of every world, by the product's own rules. `pay_two` and large amounts need two people, `pay_nudge`
 * reminds and escalates, a denial of the two ends the run, silence approves `pay_silent`, `drop_table` is blocked when the
 * arguments say so, and otherwise has a high risk, as `post` of small amounts has. Two people of
 * `ops`, or those in their place, decide about `deploy`. An amount may be edited from one rule into another. The file that
 * replaces it asks one person about `pay_two`, and ends no run. Every request fits into the quotas once no question is
 * pending.
 */
const file = ({ fourEyes, hasQuotas }: Variant, isReplaced: boolean): string => `
version: 1
requireApprovalTools: ["pay*", "edit_*", "drop_*"]
defaults: { expiresIn: 40s, executeBy: 60s, fourEyes: ${String(fourEyes)} }
${hasQuotas ? 'quotas: { pendingPerAgent: 4, deniedBeforeCoolDown: 2, coolDown: 40s, coalesceIdentical: true }' : ''}
approvers: ${JSON.stringify(approvers)}
rules:
  - id: drop-all
    match: { tools: [drop_table] }
    when: has(args.all) && args.all == true
    then: { block: "all of it" }
  - id: risky
    match: { tools: [drop_table, post] }
    when: args.amount < 400
    then: { require: { quorum: { approve: 1 }, risk: high } }
  - id: operations
    match: { tools: [deploy] }
    then: { require: { quorum: { approve: 2, deny: 1, of: [ops] } } }
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

const load = (variant: Variant, isReplaced: boolean): PolicyContent =>
  loadPolicy('countersign.policy.yaml', file(variant, isReplaced), celEngine);

/** The policy file of a world: the first one, and the one that replaces it. */
export interface PolicyFiles {
  readonly first: PolicyContent;
  readonly next: PolicyContent;
}

const files = new Map(
  [true, false].flatMap((fourEyes) =>
    [true, false].map((hasQuotas): [string, PolicyFiles] => {
      const variant = { fourEyes, hasQuotas };
      return [keyOf(variant), { first: load(variant, false), next: load(variant, true) }];
    }),
  ),
);

/** The policy files of a world of this variant. */
export function policyFiles(variant: Variant): PolicyFiles {
  const found = files.get(keyOf(variant));
  if (found === undefined) throw new Error('there is a policy for each variant');
  return found;
}

function keyOf({ fourEyes, hasQuotas }: Variant): string {
  return [fourEyes, hasQuotas].join();
}

const byVersion = new Map(
  [...files.values()]
    .flatMap(({ first, next }) => [first, next])
    .map((content) => [content.version, createPolicy(content)]),
);

/** The policy that a verdict cites; undefined when no world has it. */
export function policyOfVersion(version: string): Policy | undefined {
  return byVersion.get(version);
}
