import type { JsonObject } from '@countersign/contracts';

/** A stage as it is written in a policy file. */
interface WrittenStage {
  readonly quorum?: { readonly approve: number; readonly deny?: number; readonly of?: readonly string[] };
  readonly anyOf?: readonly string[];
  readonly allOf?: readonly string[];
}

/** The `require` of a rule as it is written. */
interface WrittenRequire extends WrittenStage {
  readonly stages?: readonly WrittenStage[];
  readonly expiresIn?: string;
  readonly onTimeout?: string;
  readonly escalation?: readonly { readonly to: readonly string[]; readonly expiresIn: string }[];
  readonly reminders?: readonly string[];
  readonly risk?: string;
}

/** A rule as it is written. */
export interface WrittenRule {
  readonly id: string;
  readonly match?: {
    readonly tools?: readonly string[];
    readonly agents?: readonly string[];
    readonly labels?: Readonly<Record<string, string>>;
  };
  readonly when?: string;
  readonly then: 'allow' | { readonly block?: string; readonly require?: WrittenRequire };
}

/** The parts of a policy file that the page shows in words. The server has validated the file. */
export interface WrittenPolicy {
  readonly default?: 'allow' | 'require';
  readonly autoApprovedTools?: readonly string[];
  readonly requireApprovalTools?: readonly string[];
  readonly rules?: readonly WrittenRule[];
  readonly approvers?: readonly {
    readonly id: string;
    readonly groups?: readonly string[];
    readonly delegates?: readonly { readonly to: string; readonly from?: string; readonly until?: string }[];
  }[];
}

/** The content of a policy as the page reads it. */
export function policyOf(content: JsonObject): WrittenPolicy {
  return content;
}

/** The calls that a rule matches: `refund_order, read_*; agent billing-*; env: prod`. */
export function matchWords({ match = {} }: WrittenRule): string {
  const { tools, agents, labels } = match;
  const words = [
    ...(tools === undefined ? [] : [tools.join(', ')]),
    ...(agents === undefined ? [] : [`agent ${agents.join(', ')}`]),
    ...Object.entries(labels ?? {}).map(([name, value]) => `${name}: ${value}`),
  ];
  return words.length === 0 ? 'every call' : words.join('; ');
}

/** The outcome of a rule: `allow`, `block: …`, `2 of ops or security, then 1 of security; within 30m; then managers`. */
export function thenWords({ then }: WrittenRule): string {
  if (then === 'allow') return 'allow';
  if (then.block !== undefined) return `block: ${then.block}`;
  return requireWords(then.require ?? {});
}

function requireWords(required: WrittenRequire): string {
  const { stages = [required], expiresIn, onTimeout, escalation = [], reminders = [], risk } = required;
  const timeout = onTimeout === undefined || onTimeout === 'escalate' ? [] : [`without an answer: ${onTimeout}`];
  return [
    stages.map(stageWords).join(', then '),
    ...(expiresIn === undefined ? [] : [`within ${expiresIn}`]),
    ...(reminders.length === 0 ? [] : [`reminders after ${reminders.join(', ')}`]),
    ...escalation.map(({ to, expiresIn: within }) => `then ${to.join(' or ')} within ${within}`),
    ...timeout,
    ...(risk === undefined ? [] : [`${risk} risk`]),
  ].join('; ');
}

function stageWords({ quorum, anyOf, allOf }: WrittenStage): string {
  if (allOf !== undefined) return `one of each: ${allOf.join(', ')}`;
  if (anyOf !== undefined) return `1 of ${anyOf.join(' or ')}`;
  if (quorum === undefined) return '1 approver';
  const people = quorum.of === undefined ? 'approvers' : `of ${quorum.of.join(' or ')}`;
  return `${quorum.approve} ${people}`;
}
