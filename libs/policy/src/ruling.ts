import { deniedInCode, matchesGlob } from '@countersign/contracts';
import type { CelExpression, CelInputs } from '@countersign/cel';
import type { Requirement, Verdict } from '@countersign/contracts';
import { joined } from './joined.js';
import { narrowed } from './narrowed.js';
import type { PolicyCall } from './policy-call.js';
import type { PolicyContent } from './policy-file.js';
import { defaultRequirement } from './rule.js';
import type { Asked, Rule, Then } from './rule.js';

/** A verdict, and what it requires; `requirement` is what would be asked, also for a verdict of `allow`. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly requirement: Requirement;
  /** A rule whose expression has no answer and that would block the call: a person decides, never a standing grant. */
  readonly mightBeBlockedBy?: string;
  /** No rule that counts sets the time that people have, so a request may set a longer one. Default: one does. */
  readonly isExpiryOpen?: true;
}

/**
 * The ruling of a policy on a call: what its rules, its lists and its default say together, and what the request may ask
 * for in addition. `rules`: those of the policy whose tools match.
 */
export function rulingOn(content: PolicyContent, rules: readonly Rule[], inspected: Inspected): Judgement {
  const { call } = inspected;
  const ruled = stricterIfAsked(content, call, firstMatch(content, rules, inspected));
  const { then, ruleId } = ruled;
  const isRequired = then.outcome === 'require';
  const why = [...ruled.why, ...(then.outcome === 'block' ? [then.reason] : [])];
  const { version: policyVersion, defaults } = content;
  return {
    verdict: { outcome: then.outcome, ruleId, policyVersion, automatic: !isRequired, why },
    requirement: narrowed(isRequired ? then : defaultRequirement(defaults), call),
    ...(ruled.mightBeBlockedBy !== undefined && { mightBeBlockedBy: ruled.mightBeBlockedBy }),
    ...(isRequired && !then.isExpirySet && { isExpiryOpen: true as const }),
  };
}

/** The worker's own wish turns an `allow` into one approver, its denial blocks the call, and nothing becomes less. */
function stricterIfAsked(content: PolicyContent, call: PolicyCall, ruled: Ruled): Ruled {
  if (call.deny !== undefined) {
    const { why } = ruled.then.outcome === 'block' ? { why: [...ruled.why, ruled.then.reason] } : ruled;
    return { then: { outcome: 'block', reason: call.deny }, ruleId: deniedInCode, why };
  }
  if (ruled.then.outcome !== 'allow' || !call.needsApproval) return ruled;
  return onePerson(content, 'needsApproval', [...ruled.why, 'the worker asks for approval']);
}

function onePerson(content: PolicyContent, ruleId: string, why: readonly string[]): Ruled {
  return { then: thenOf(content, 'require'), ruleId, why };
}

function firstMatch(content: PolicyContent, rules: readonly Rule[], inspected: Inspected): Ruled {
  const { rule, unsure, doubted, why } = walk(content, rules, inspected);
  const listed = byLists(content, inspected.call);
  const matched: Ruled =
    rule === undefined
      ? { then: thenOf(content, listed.outcome), ruleId: listed.ruleId, why: [...why, ...listed.why] }
      : { then: rule.then, ruleId: rule.id, why };
  const ruled = withUnsure(matched, unsure, why);
  if (doubted === undefined || ruled.then.outcome === 'block') return ruled;
  const mightBeBlockedBy = doubted.id;
  if (ruled.then.outcome === 'require') return { ...deniedBySilence(ruled, doubted), mightBeBlockedBy };
  const doubt = `a person decides, because "${doubted.id}" might block the call`;
  return { ...onePerson(content, doubted.id, [...ruled.why, doubt]), mightBeBlockedBy };
}

/** The result of all rules for a call. */
interface Walk {
  /** The first rule that matches. */
  readonly rule: Rule | undefined;
  /** The rules before it that ask people, and whose expressions have no answer. */
  readonly unsure: readonly Unsure[];
  /** A rule before it that might block the call. */
  readonly doubted: Rule | undefined;
  readonly why: readonly string[];
}

/** Attack: arguments on which a thousand expressions fail, to fill the log with their notes. */
const notedMax = 10;

/**
 * Finds the first rule that matches. An expression without an answer must not make a call laxer: a `require` counts as
 * matched together with the next match, an `allow` does not, and a `block` means that a person decides unless a later
 * rule is stricter than an `allow`.
 */
function walk({ celVersion, usesRun }: PolicyContent, rules: readonly Rule[], inspected: Inspected): Walk {
  const failed: string[] = [];
  let failures = 0;
  const unsure: Unsure[] = [];
  let doubted: Rule | undefined;
  let isEvaluated = false;
  // An expression that is false has read the run as well.
  let hasLooked = false;
  // Another version may give another answer or cost.
  const end = (rule?: Rule, decisive: readonly string[] = []): Walk => {
    const more = failures > failed.length ? [`${String(failures - failed.length)} more rules have no answer`] : [];
    const run = hasLooked ? seenOfRun(usesRun, inspected.call) : [];
    const engine = [...run, ...(isEvaluated ? [`expressions: ${celVersion ?? 'none'}`] : [])];
    return { rule, unsure, doubted, why: [...failed, ...more, ...decisive, ...engine] };
  };
  for (const rule of rules) {
    const finding = inspect(rule, inspected);
    hasLooked ||= finding.cost !== undefined;
    if (finding.status === 'not-matched') continue;
    isEvaluated ||= finding.cost !== undefined;
    if (finding.status === 'matched') return end(rule, [noteOf(rule, finding)]);
    failures += 1;
    if (failures <= notedMax) failed.push(noteOf(rule, finding));
    if (rule.then.outcome === 'block') doubted ??= rule;
    if (rule.then.outcome === 'require') unsure.push({ ruleId: rule.id, asked: rule.then });
  }
  return end();
}

/** Returns the facts about the run that expressions used, so that the verdict can be repeated. */
function seenOfRun(usesRun: boolean, { run }: PolicyCall): string[] {
  if (!usesRun) return [];
  if (run === undefined) return ['the run is not known'];
  const { calls, denied, startedAt } = run;
  return [`the run: calls ${String(calls)}, denied ${String(denied)}, started ${startedAt ?? 'now'}`];
}

function noteOf({ id }: Rule, { why }: Finding): string {
  return `rule "${id}": ${why()}`;
}

function thenOf({ defaults }: PolicyContent, outcome: Listed['outcome']): Then {
  return outcome === 'allow' ? { outcome } : { outcome, ...defaultRequirement(defaults) };
}

interface Listed {
  readonly outcome: 'allow' | 'require';
  readonly ruleId: string;
  readonly why: readonly string[];
}

function byLists(content: PolicyContent, call: PolicyCall): Listed {
  const required = content.requireApprovalTools.find((glob) => matchesGlob(glob, call.toolName));
  if (required !== undefined) {
    return { outcome: 'require', ruleId: 'requireApprovalTools', why: [`the tool matches "${required}"`] };
  }
  for (const listed of content.autoApprovedTools) {
    const { matched, missed } = partsFor(listed, call);
    if (missed === undefined) return { outcome: 'allow', ruleId: 'autoApprovedTools', why: [matchedWords(matched)] };
  }
  return { outcome: content.default, ruleId: 'default', why: ['nothing else matches'] };
}

/** The effect on a call, and why. */
interface Ruled {
  readonly then: Then;
  readonly ruleId: string;
  readonly why: readonly string[];
  readonly mightBeBlockedBy?: string;
}

/** A rule that asks people, and whose expression has no answer. */
interface Unsure {
  readonly ruleId: string;
  readonly asked: Asked;
}

/**
 * Rules that ask people, and whose expressions have no answer, count as matched. The next match counts as well, because
 * they might not match: it may ask more people, or block. Attack: an argument on which the expression of a light rule
 * fails, so that the strict rule after it is never reached.
 */
function withUnsure(matched: Ruled, unsure: readonly Unsure[], why: readonly string[]): Ruled {
  const [first, ...others] = unsure;
  const { then, ruleId } = matched;
  if (first === undefined || then.outcome === 'block') return matched;
  const asked = others.reduce((before, { asked: more }) => joined(before, more), first.asked);
  if (then.outcome === 'allow') return { then: { outcome: 'require', ...asked }, ruleId: first.ruleId, why };
  const words = `rule "${ruleId}" counts too, because "${first.ruleId}" might not match`;
  return { then: { outcome: 'require', ...joined(asked, then) }, ruleId: first.ruleId, why: [...matched.why, words] };
}

/** Where a possible block was not decided, only a person approves: no answer in time never does. */
function deniedBySilence({ then, why, ...ruled }: Ruled, { id }: Rule): Ruled {
  if (then.outcome !== 'require' || then.requirement.onTimeout !== 'allow') return { then, why, ...ruled };
  const silence = `no answer in time means denied, because "${id}" might block the call`;
  const requirement: Requirement = { ...then.requirement, onTimeout: 'deny' };
  return { ...ruled, then: { ...then, requirement }, why: [...why, silence] };
}

/** A call in front of the rules, and the work that their expressions may still do. */
export interface Inspected {
  readonly call: PolicyCall;
  /** The same call as expressions see it. */
  readonly inputs: CelInputs;
  readonly budget: Budget;
}

/** The cost that the expressions over the calls of one request may have together. */
export interface Budget {
  left: number;
}

/**
 * The cost for all rules and all calls of one request, about 0.2 s. Each expression has a limit of its own, but a file
 * may have thousands of them.
 */
export const budgetOfRequest = 200_000;

/**
 * Takes the cost of an evaluation from a budget.
 * Attack: arguments without the member that thousands of rules read. Such an evaluation costs nothing by itself.
 */
export function spend(budget: Budget, cost: number): void {
  budget.left -= Math.max(1, cost);
}

/** The result of one rule for a call, and the reason. `failed`: its expression has no answer. */
export interface Finding {
  readonly status: 'matched' | 'not-matched' | 'failed';
  /** The reason in words, computed only on demand. */
  readonly why: () => string;
  /** The words of the expression's problem, which may quote arguments. */
  readonly detail?: string;
  /** The cost of its expression; absent when none was evaluated. */
  readonly cost?: number;
}

/** Compares a call with a rule. The expression is evaluated only if all globs match. */
export function inspect(rule: Rule, inspected: Inspected): Finding {
  const { matched, missed } = partsFor(rule, inspected.call);
  if (missed !== undefined) return { status: 'not-matched', why: () => mismatch(missed) };
  if (rule.when !== null) return evaluate(rule.when, inspected, () => globWords(matched));
  return { status: 'matched', why: () => matchedWords(matched) };
}

function matchedWords(matched: readonly Part[]): string {
  return matched.length === 0 ? 'it matches every call' : globWords(matched).join('; ');
}

function globWords(matched: readonly Part[]): string[] {
  return matched.map(({ kind, glob }) => `the ${kind} matches "${glob ?? ''}"`);
}

type Matching = Pick<Rule, 'tools' | 'agents' | 'labels'>;

/** The parts that match, up to the first one that does not. */
function partsFor(match: Matching, call: PolicyCall): { readonly matched: readonly Part[]; readonly missed?: Part } {
  const matched: Part[] = [];
  for (const part of partsOf(match, call)) {
    if (part.glob === undefined) return { matched, missed: part };
    matched.push(part);
  }
  return { matched };
}

/** One part of a rule's `match`. */
interface Part {
  readonly kind: string;
  readonly globs: readonly string[];
  /** The glob that matches; undefined when none does. */
  readonly glob: string | undefined;
}

function* partsOf({ tools, agents, labels }: Matching, call: PolicyCall): Generator<Part> {
  if (tools !== null) yield compare('tool', tools, call.toolName);
  if (agents !== null) yield compare('agent', agents, call.agentId);
  for (const [key, glob] of labels) {
    const value = Object.hasOwn(call.labels, key) ? call.labels[key] : undefined;
    yield compare(`label "${key}"`, [glob], value);
  }
}

function compare(kind: string, globs: readonly string[], name: string | undefined): Part {
  return { kind, globs, glob: name === undefined ? undefined : globs.find((one) => matchesGlob(one, name)) };
}

function mismatch({ kind, globs }: Part): string {
  return `the ${kind} does not match ${globs.map((glob) => `"${glob}"`).join(' or ')}`;
}

function evaluate(when: CelExpression, { inputs, budget }: Inspected, globs: () => string[]): Finding {
  if (budget.left <= 0) {
    const why = 'the expressions of the policy cost too much together';
    return { status: 'failed', why: () => why, detail: why };
  }
  const answer = when(inputs);
  spend(budget, answer.cost);
  const cost = `cost ${String(answer.cost)}`;
  if ('problem' in answer) {
    const { problem, detail } = answer;
    const why = `its expression has no answer: ${problem} (${cost})`;
    return { status: 'failed', why: () => why, detail, cost: answer.cost };
  }
  const why = (): string => [...globs(), `its expression is ${String(answer.value)} (${cost})`].join('; ');
  return { status: answer.value ? 'matched' : 'not-matched', why, cost: answer.cost };
}
