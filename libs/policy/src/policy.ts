import { deniedInCode, matchesGlob } from '@countersign/contracts';
import type { RunInputs } from '@countersign/cel';
import type { JsonObject, Requirement, Verdict } from '@countersign/contracts';
import { delegatorsAt } from './approvers.js';
import type { Approver } from './approvers.js';
import { askedOfTool } from './asked-of-tool.js';
import { createCandidates } from './candidates.js';
import { budgetOfRequest, inspect } from './inspect.js';
import type { Budget, Finding, Inspected } from './inspect.js';
import { narrowed } from './narrowed.js';
import type { PolicyContent } from './policy-file.js';
import type { PolicyCall } from './policy-call.js';
import type { Quotas } from './quotas.js';
import { defaultRequirement } from './rule.js';
import { deniedBySilence, withUnsure } from './ruled.js';
import type { Ruled, Unsure } from './ruled.js';
import type { Rule, Then } from './rule.js';

/** A verdict, and what it requires; `requirement` is what would be asked, also for a verdict of `allow`. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly requirement: Requirement;
  /** A rule whose expression has no answer and that would block the call: a person decides, never a standing grant. */
  readonly mightBeBlockedBy?: string;
}

/** The result of one rule for a call. */
export interface RuleFinding extends Omit<Finding, 'why'> {
  readonly ruleId: string;
  /** True if the rule decides when no earlier one does. */
  readonly decides: boolean;
  readonly why: string;
}

/** A judgement with the findings of all rules, those after the first match included. */
export interface Explanation {
  readonly judgement: Judgement;
  readonly rules: readonly RuleFinding[];
}

/** Versioned rules that give each call a verdict. Pure: the same calls at the same time get the same judgements. */
export interface Policy {
  readonly tenant: string;
  readonly version: string;
  readonly content: JsonObject;
  /** Null: no limit. */
  readonly quotas: Quotas | null;
  /** True if an expression may look at `run`: only then it has to be known. */
  readonly usesRun: boolean;
  /** Judges the calls of one model step together, before any of them is recorded. `nowMs`: epoch milliseconds. */
  readonly judge: (calls: readonly PolicyCall[], nowMs: number) => readonly Judgement[];
  readonly explain: (call: PolicyCall, nowMs: number) => Explanation;
  /** The groups that the policy gives to a principal, in addition to those of its sign-in. */
  readonly groupsOf: (principal: string) => readonly string[];
  /** Returns whether the policy lists a principal among its approvers. */
  readonly isListed: (principal: string) => boolean;
  /** Returns the requirements that calls of a tool may have. Empty when every call of it is blocked. */
  readonly askedOf: (toolName: string) => readonly Requirement[];
  /** The people who have delegated their responses to a principal. `nowMs`: epoch milliseconds. */
  readonly delegatorsOf: (principal: string, nowMs: number) => readonly Approver[];
  /** The people of the file. */
  readonly approvers: readonly Approver[];
  /** True if a second person confirms each passkey. */
  readonly confirmsPasskeys: boolean;
}

/** A policy out of a file's content. */
export function createPolicy(content: PolicyContent): Policy {
  const candidates = createCandidates(content.rules);
  const judgeOne = (call: PolicyCall, nowMs: number, budget: Budget): Judgement =>
    judgeBy(content, candidates(call.toolName), toInspected(call, nowMs, budget));
  return {
    tenant: content.tenant,
    version: content.version,
    content: content.source,
    quotas: content.quotas,
    usesRun: content.usesRun,
    approvers: content.approvers,
    confirmsPasskeys: content.confirmsPasskeys,
    groupsOf: (principal) => content.approvers.find(({ id }) => id === principal)?.groups ?? [],
    delegatorsOf: (principal, nowMs) => delegatorsAt(content.approvers, principal, nowMs),
    isListed: (principal) => content.approvers.some(({ id }) => id === principal),
    askedOf: (toolName) => askedOfTool(content, candidates(toolName)),
    judge: (calls, nowMs) => {
      const budget = { left: budgetOfRequest };
      return calls.map((call) => judgeOne(call, nowMs, budget));
    },
    explain: (call, nowMs) => ({
      judgement: judgeOne(call, nowMs, { left: budgetOfRequest }),
      rules: findingsOf(content, toInspected(call, nowMs, { left: budgetOfRequest })),
    }),
  };
}

function toInspected(call: PolicyCall, nowMs: number, budget: Budget): Inspected {
  const { toolName, agentId, runId, labels, description } = call;
  const facts = { toolName, agentId, runId, labels, description, hints: { ...call.hints } };
  return { call, inputs: { args: call.arguments, call: facts, run: runOf(call, nowMs), nowMs }, budget };
}

function runOf({ run }: PolicyCall, nowMs: number): RunInputs | null {
  if (run === undefined) return null;
  const { calls, denied, startedAt } = run;
  return { calls, denied, startedAtMs: startedAt === null ? nowMs : Date.parse(startedAt) };
}

function findingsOf({ rules }: PolicyContent, inspected: Inspected): readonly RuleFinding[] {
  return rules.map((rule) => {
    const finding = inspect(rule, inspected);
    return { ...finding, ruleId: rule.id, decides: decides(rule, finding), why: finding.why() };
  });
}

function judgeBy(content: PolicyContent, rules: readonly Rule[], inspected: Inspected): Judgement {
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
  const listed = byLists(content, inspected.call.toolName);
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

function decides({ then }: Rule, { status }: Finding): boolean {
  return status === 'matched' || (status === 'failed' && then.outcome === 'require');
}

function thenOf({ defaults }: PolicyContent, outcome: Listed['outcome']): Then {
  return outcome === 'allow' ? { outcome } : { outcome, ...defaultRequirement(defaults) };
}

interface Listed {
  readonly outcome: 'allow' | 'require';
  readonly ruleId: string;
  readonly why: readonly string[];
}

function byLists(content: PolicyContent, toolName: string): Listed {
  const required = content.requireApprovalTools.find((glob) => matchesGlob(glob, toolName));
  if (required !== undefined) {
    return { outcome: 'require', ruleId: 'requireApprovalTools', why: [`the tool matches "${required}"`] };
  }
  const allowed = content.autoApprovedTools.find((glob) => matchesGlob(glob, toolName));
  if (allowed !== undefined) {
    return { outcome: 'allow', ruleId: 'autoApprovedTools', why: [`the tool matches "${allowed}"`] };
  }
  return { outcome: content.default, ruleId: 'default', why: ['nothing else matches'] };
}
