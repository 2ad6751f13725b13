import { globOf } from './globs.js';
import { anything, listOf, members, oneOf, text, texts } from './readers.js';
import type { Reader } from './readers.js';
import { askedBy, readDefaults, readRequire } from './written-requirement.js';
import type { Asked, WrittenDefaults } from './written-requirement.js';

/** What a rule, a list or the default does with a call. */
export type Then =
  { readonly outcome: 'allow' } | { readonly outcome: 'block' } | ({ readonly outcome: 'require' } & Asked);

/** A rule, as far as it can be read without its expression. */
export interface WrittenRule {
  readonly ruleId: string;
  /** It has an expression, which the judge does not evaluate: it may match, or not, or have no answer. */
  readonly isConditional: boolean;
  readonly then: Then;
}

/** A call as rules and lists match it. */
export interface MatchedCall {
  readonly toolName: string;
  readonly agentId: string;
  readonly labels: Readonly<Record<string, string>>;
}

/** What a policy can say about a call, apart from the answers of its expressions. */
export interface Paths {
  /** The rules with an expression that are tried before the end. */
  readonly conditional: readonly WrittenRule[];
  /** What decides where none of these rules matches. */
  readonly end: WrittenRule;
}

/** A policy as it is written down, in its version 1. */
export interface WrittenPolicy {
  readonly tenant: string;
  /** One approver, and the defaults of the file. */
  readonly onePerson: Asked;
  readonly find: (ruleId: string) => WrittenRule | undefined;
  readonly pathsOf: (call: MatchedCall) => Paths;
}

const globs = listOf(text);

/** Returns whether a rule or an entry of a list is about a call. */
type Match = (call: MatchedCall) => boolean;

const readMatch: Reader<Match> = (value) => {
  const written = members({ tools: globs, agents: globs, labels: texts })(value);
  return written === undefined ? undefined : matchOf(written);
};

function matchOf(written: {
  readonly tools?: readonly string[];
  readonly agents?: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}): Match {
  const [tools, agents] = [written.tools, written.agents].map((names) => names?.map(globOf));
  const labels = Object.entries(written.labels ?? {}).map(([name, glob]) => ({ name, isOf: globOf(glob) }));
  return (call) =>
    (tools?.some((isOf) => isOf(call.toolName)) ?? true) &&
    (agents?.some((isOf) => isOf(call.agentId)) ?? true) &&
    labels.every(({ name, isOf }) => Object.hasOwn(call.labels, name) && isOf(call.labels[name] ?? ''));
}

const readAutoApproved: Reader<Match> = (value) =>
  typeof value === 'string' ? matchOf({ tools: [value] }) : readMatch(value);

const readOther = members({ block: text, require: readRequire });

/** Before the defaults of the file are known. */
type WrittenThen = (defaults: WrittenDefaults) => Then;

const readThen: Reader<WrittenThen> = (value) => {
  if (value === 'allow') return () => ({ outcome: 'allow' });
  const { block, require } = readOther(value) ?? {};
  if ((block === undefined) === (require === undefined)) return undefined;
  return (defaults) =>
    require === undefined ? { outcome: 'block' } : { outcome: 'require', ...askedBy(require, defaults) };
};

const readMembers = members({ id: text, match: readMatch, when: text, then: readThen });

const readRule = (value: unknown) => {
  const { id: ruleId, match = () => true, when, then } = readMembers(value) ?? {};
  return ruleId === undefined || then === undefined
    ? undefined
    : { ruleId, match, isConditional: when !== undefined, then };
};

const readFile = members({
  ...{ version: oneOf(1), tenant: text, default: oneOf('require', 'allow'), defaults: readDefaults },
  ...{ autoApprovedTools: listOf(readAutoApproved), requireApprovalTools: globs, rules: listOf(readRule) },
  ...{ approvers: anything, quotas: anything, passkeys: anything },
});

/** Reads a policy; undefined: it has not the form of version 1, so what it says is not known. */
export function readPolicy(content: unknown): WrittenPolicy | undefined {
  const file = readFile(content);
  if (file?.version === undefined) return undefined;
  const { defaults = {}, tenant = 'default' } = file;
  const onePerson = askedBy({}, defaults);
  const rules = (file.rules ?? []).map((rule) => ({ ...rule, then: rule.then(defaults) }));
  const byId = new Map(rules.map((rule) => [rule.ruleId, rule]));
  const byLists = listsOf(file, { outcome: 'require', ...onePerson });
  return {
    ...{ tenant, onePerson, find: (ruleId) => byId.get(ruleId) },
    pathsOf: (call) => {
      const matching = rules.filter(({ match }) => match(call));
      const decisive = matching.findIndex(({ isConditional }) => !isConditional);
      const conditional = decisive === -1 ? matching : matching.slice(0, decisive);
      return { conditional, end: matching[decisive] ?? byLists(call) };
    },
  };
}

/** Behind the rules come the tools that need an approval, those that need none, and the default. */
function listsOf(file: NonNullable<ReturnType<typeof readFile>>, required: Then): (call: MatchedCall) => WrittenRule {
  const { autoApprovedTools, default: otherwise = autoApprovedTools === undefined ? 'allow' : 'require' } = file;
  const requireApprovalTools = (file.requireApprovalTools ?? []).map(globOf);
  const of = (ruleId: string, then: Then): WrittenRule => ({ ruleId, isConditional: false, then });
  return (call) => {
    if (requireApprovalTools.some((isOf) => isOf(call.toolName))) return of('requireApprovalTools', required);
    if (autoApprovedTools?.some((match) => match(call)) === true) return of('autoApprovedTools', { outcome: 'allow' });
    return of('default', otherwise === 'allow' ? { outcome: 'allow' } : required);
  };
}
