import { stageWords } from './requirement-words.js';
import type { RequiredStage } from './requirement-words.js';
import { durationWords } from './time-words.js';

/** A stage as it is written in a policy file. */
export interface WrittenStage {
  readonly quorum?: { readonly approve: number; readonly deny?: number; readonly of?: readonly string[] };
  readonly anyOf?: readonly string[];
  readonly allOf?: readonly string[];
}

/** The `require` of a rule as it is written. Durations are texts such as `30m`. */
export interface WrittenRequire extends WrittenStage {
  readonly stages?: readonly WrittenStage[];
  readonly expiresIn?: string;
  readonly reminders?: readonly string[];
  readonly escalation?: readonly { readonly to: readonly string[]; readonly expiresIn: string }[];
  readonly onTimeout?: string;
  readonly allowOnTimeout?: string;
  readonly executeBy?: string;
  readonly businessHours?: {
    readonly zone: string;
    readonly days: readonly string[];
    readonly from: string;
    readonly to: string;
  };
  readonly fourEyes?: boolean;
  readonly allowedDecisions?: readonly string[];
  readonly requireReason?: readonly string[];
  readonly minAssurance?: string;
  readonly risk?: string;
  readonly batch?: string;
  readonly denyEndsRun?: boolean;
  readonly requireCheckedSchema?: boolean;
  readonly requireSignature?: boolean;
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

/** The quotas as they are written. */
export interface WrittenQuotas {
  readonly pendingPerAgent?: number;
  readonly deniedBeforeCoolDown?: number;
  readonly coolDown?: string;
  readonly coalesceIdentical?: boolean;
}

/** The words for each key of a thing, in the order in which they are read. A key without words does not compile. */
type Words<T> = { readonly [Key in keyof T]-?: (value: NonNullable<T[Key]>, whole: T) => string };

/** The words of the keys that are there. */
function wordsOf<T extends object>(words: Words<T>, whole: T): readonly string[] {
  const keys = Object.keys(words) as (keyof T)[];
  return keys.flatMap((key) => {
    const value = whole[key];
    const text = value === undefined || value === null ? '' : words[key](value, whole);
    return text === '' ? [] : [text];
  });
}

const timeouts: Readonly<Record<string, string>> = {
  deny: 'without an answer in time: denied',
  hold: 'without an answer in time: it stays open',
  allow: 'without an answer in time: approved by silence',
  escalate: 'without an answer in time: others are asked',
};

/** The three forms of a stage have their words in `stages`. */
const inStages = (): string => '';

const requireParts: Words<WrittenRequire> = {
  stages: (stages) => stages.map(stageText).join(', then '),
  quorum: inStages,
  anyOf: inStages,
  allOf: inStages,
  expiresIn: (time) => (time === 'never' ? 'never expires' : `within ${time}`),
  reminders: (times) => (times.length === 0 ? '' : `reminders after ${times.join(', ')}`),
  escalation: (levels) => levels.map(({ to, expiresIn }) => `then ${to.join(' or ')} within ${expiresIn}`).join('; '),
  onTimeout: (end) => timeouts[end] ?? `without an answer in time: ${end}`,
  allowOnTimeout: () => 'the file says that silence may approve',
  executeBy: (time) => (time === 'never' ? 'may run at any time after' : `must run within ${time} after`),
  businessHours: ({ zone, days, from, to }) => `times count ${days.join(' ')} ${from} to ${to} ${zone}`,
  fourEyes: (isSet) => (isSet ? 'not the requester' : 'also the requester'),
  allowedDecisions: (decisions) => `possible: ${decisions.join(', ')}`,
  requireReason: (decisions) => (decisions.length === 0 ? '' : `reason needed to ${decisions.join(', ')}`),
  minAssurance: (assurance) =>
    assurance === 'high' ? 'signed with a passkey (high assurance)' : `at least ${assurance} assurance of the person`,
  risk: (risk) => `${risk} risk`,
  batch: (mode) => batchModeWords[mode] ?? `batch: ${mode}`,
  denyEndsRun: (ends) => (ends ? 'a denial ends the run' : 'a denial does not end the run'),
  requireCheckedSchema: (is) => (is ? 'schemas are checked whole' : ''),
  requireSignature: (is) => (is ? 'signed with a passkey' : ''),
};

const batchModeWords: Readonly<Record<string, string>> = {
  sequential: 'the calls of the step take their turn one after another in their run',
  'all-or-nothing': 'the calls of the step run together or not at all',
  'any-asks-all': 'people are asked about every call of the step, and the calls run together or not at all',
};

function stageText({ quorum, anyOf, allOf }: WrittenStage): string {
  if (allOf !== undefined) return stageWords({ mode: 'all-of', approve: allOf.length, groups: allOf });
  const { approve = 1, deny = 1, of: groups = anyOf ?? null } = quorum ?? {};
  const words = stageWords({ mode: 'quorum', approve, groups });
  return deny === 1 ? words : `${words} (${String(deny)} to deny)`;
}

/** A `require`, or the `defaults`, in words: one text for each key that is written, the people first. */
export function requireWords(required: WrittenRequire): readonly string[] {
  return wordsOf(requireParts, { ...required, stages: required.stages ?? [required] });
}

/** The values where neither a rule nor the file sets them. */
const builtIn: WrittenRequire = {
  ...{ expiresIn: '1 h', executeBy: '1 h', onTimeout: 'deny', fourEyes: true },
  allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
};

/** What holds where a rule says nothing: the `defaults` of the file, and the built-in ones. */
export function defaultWords(defaults: WrittenRequire = {}): readonly string[] {
  return requireWords({ ...builtIn, ...defaults });
}

const matchParts: Words<NonNullable<WrittenRule['match']>> = {
  tools: (globs) => globs.join(', '),
  agents: (globs) => `agent ${globs.join(', ')}`,
  labels: (labels) =>
    Object.entries(labels)
      .map(([name, glob]) => `${name}: ${glob}`)
      .join('; '),
};

/** The calls that a rule matches: `refund_order, read_*; agent billing-*; env: prod`. */
export function matchWords({ match = {} }: Pick<WrittenRule, 'match'>): string {
  const words = wordsOf(matchParts, match);
  return words.length === 0 ? 'every call' : words.join('; ');
}

/** The outcome of a rule: `allow`, `block: …`, `2 approvers of ops, then 1 approver of security; within 30m`. */
export function thenWords({ then }: Pick<WrittenRule, 'then'>): string {
  if (then === 'allow') return 'allow';
  if (then.block !== undefined) return `block: ${then.block}`;
  return requireWords(then.require ?? {}).join('; ');
}

const quotaParts: Words<WrittenQuotas> = {
  pendingPerAgent: (most) => `at most ${String(most)} pending approvals of an agent`,
  deniedBeforeCoolDown: (denials, { coolDown = '' }) =>
    `after ${String(denials)} denials in a row an agent waits ${coolDown}`.trimEnd(),
  // Said with the number of denials.
  coolDown: (time, { deniedBeforeCoolDown }) => (deniedBeforeCoolDown === undefined ? `an agent waits ${time}` : ''),
  coalesceIdentical: (isSet) =>
    isSet ? 'people are asked once about identical calls of a run' : 'people are asked about each identical call',
};

/** The rule for passkeys in words. */
export function passkeyWords({ secondPerson }: { readonly secondPerson: boolean }): readonly string[] {
  return secondPerson ? ['another person confirms each passkey'] : ['the first passkey of a person counts at once'];
}

/** The quotas in words, one text for each. */
export function quotaWords(quotas: WrittenQuotas): readonly string[] {
  return wordsOf(quotaParts, quotas);
}

/** A requirement as it is recorded with a call, with all defaults filled in. Times are milliseconds. */
export interface RecordedRequirement {
  readonly stages: readonly (RequiredStage & { readonly deny: number })[];
  readonly fourEyes: boolean;
  readonly allowedDecisions: readonly string[];
  readonly requireReason: readonly string[];
  readonly minAssurance: string | null;
  readonly risk: string | null;
  readonly expiresInMs: number | 'never';
  readonly executeByMs: number | 'never';
  readonly onTimeout: string;
  readonly escalation: readonly { readonly to: readonly string[]; readonly expiresInMs: number }[];
  readonly remindersMs: readonly number[];
  readonly businessHours?: WrittenRequire['businessHours'];
  readonly batch?: string;
  readonly denyEndsRun?: boolean;
  readonly requireCheckedSchema?: boolean;
  readonly requireSignature?: boolean;
}

/** How each member of a recorded requirement is written in a policy file. */
const written: { readonly [Key in keyof RecordedRequirement]-?: (of: RecordedRequirement) => WrittenRequire } = {
  stages: ({ stages }) => ({ stages: stages.map(writtenStage) }),
  fourEyes: ({ fourEyes }) => ({ fourEyes }),
  allowedDecisions: ({ allowedDecisions }) => ({ allowedDecisions }),
  requireReason: ({ requireReason }) => ({ requireReason }),
  minAssurance: ({ minAssurance }) => (minAssurance === null ? {} : { minAssurance }),
  risk: ({ risk }) => (risk === null ? {} : { risk }),
  expiresInMs: ({ expiresInMs }) => ({ expiresIn: timeText(expiresInMs) }),
  executeByMs: ({ executeByMs }) => ({ executeBy: timeText(executeByMs) }),
  onTimeout: ({ onTimeout }) => ({ onTimeout }),
  escalation: ({ escalation }) => ({
    escalation: escalation.map(({ to, expiresInMs }) => ({ to, expiresIn: timeText(expiresInMs) })),
  }),
  remindersMs: ({ remindersMs }) => ({ reminders: remindersMs.map(timeText) }),
  businessHours: ({ businessHours }) => (businessHours === undefined ? {} : { businessHours }),
  batch: ({ batch }) => (batch === undefined ? {} : { batch }),
  denyEndsRun: ({ denyEndsRun }) => (denyEndsRun === undefined ? {} : { denyEndsRun }),
  requireCheckedSchema: ({ requireCheckedSchema: is }) => (is === undefined ? {} : { requireCheckedSchema: is }),
  requireSignature: ({ requireSignature: is }) => (is === undefined ? {} : { requireSignature: is }),
};

function timeText(ms: number | 'never'): string {
  return ms === 'never' ? ms : durationWords(ms);
}

function writtenStage({ mode, approve, deny, groups }: RecordedRequirement['stages'][number]): WrittenStage {
  if (mode === 'all-of' && groups !== null) return { allOf: groups };
  return { quorum: { approve, deny, ...(groups === null ? {} : { of: groups }) } };
}

/** A recorded requirement in words: one text for each member, the people first. */
export function recordedRequirementWords(requirement: RecordedRequirement): readonly string[] {
  return requireWords(Object.assign({}, ...Object.values(written).map((part) => part(requirement))) as WrittenRequire);
}
