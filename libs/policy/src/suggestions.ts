import { globProblem, jcsDigest, matchesGlob } from '@countersign/contracts';
import type { JsonObject, JsonValue, Requirement } from '@countersign/contracts';
import { rangeConditions, withNumbersOf } from './number-ranges.js';
import type { NumberRanges } from './number-ranges.js';
import type { PolicyContent } from './policy-file.js';
import type { Rule } from './rule.js';

/** A recorded call that people were asked about. */
export interface AskedCall {
  readonly callId: string;
  readonly toolName: string;
  readonly agentId: string;
  readonly arguments: JsonObject;
  /** The members of `arguments` that have hidden values. */
  readonly hidden: ReadonlySet<string>;
  readonly requirements: readonly Requirement[];
  readonly decision: PeoplesDecision;
}

/**
 * The decision of people about a call. `unchanged`: approved as it was requested, and nothing failed after it. `open`:
 * no person has decided, or the requester cancelled. `against`: anything else.
 */
export type PeoplesDecision =
  | {
      readonly status: 'unchanged';
      readonly by: readonly string[];
      readonly askedMs: number;
      readonly decidedMs: number;
    }
  | { readonly status: 'open' }
  | { readonly status: 'against' };

/** The evidence for a suggestion. Times are epoch milliseconds. */
export interface Evidence {
  readonly decisions: number;
  readonly people: number;
  readonly days: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly medianToDecideMs: number;
}

/** A rule that would allow what people always approved. */
export interface Suggestion {
  readonly toolName: string;
  readonly agentId: string;
  readonly rule: JsonObject & { readonly id: string };
  readonly evidence: Evidence;
  /** The latest calls that people were asked about, for the back-test. */
  readonly callIds: readonly string[];
}

/** Collects recorded calls and proposes rules. Pure. */
export interface Suggestions {
  readonly add: (call: AskedCall) => void;
  /** Those with the most decisions first. */
  readonly list: () => readonly Suggestion[];
}

const dayMs = 86_400_000;
const callIdsMax = 100;
const suggestionsMax = 20;
const conditionsMax = 3;

interface Group {
  readonly toolName: string;
  readonly agentId: string;
  isRefuted: boolean;
  readonly callIds: string[];
  readonly people: Set<string>;
  readonly days: Set<number>;
  readonly askedMs: number[];
  readonly toDecideMs: number[];
  /** The members that had the same plain value in every call so far. */
  stable: ReadonlyMap<string, JsonValue> | undefined;
  /** Null: a number cannot be named in an expression. */
  ranges: NumberRanges;
}

/**
 * Suggestions for a policy out of at least `decisionsMin` decisions of two people or on two days (UTC). One decision
 * against, and there is none. A tool is never suggested where the policy may block it, asks more than one person, or
 * says that its risk is high.
 */
export function createSuggestions(live: Pick<PolicyContent, 'rules'>, decisionsMin: number): Suggestions {
  const groups = new Map<string, Group>();
  return {
    add: (call) => {
      const key = JSON.stringify([call.toolName, call.agentId]);
      const group = groups.get(key) ?? newGroup(call);
      groups.set(key, group);
      addTo(group, call);
    },
    list: () =>
      [...groups.values()]
        .filter((group) => isProven(group, decisionsMin) && !isGuarded(live, group))
        .sort((one, other) => other.askedMs.length - one.askedMs.length)
        .slice(0, suggestionsMax)
        .map(toSuggestion),
  };
}

function newGroup({ toolName, agentId }: AskedCall): Group {
  return {
    ...{ toolName, agentId, stable: undefined, ranges: new Map() },
    // Attack: a name that is a glob, for a rule about other tools or agents, or one that no policy file can have.
    isRefuted: [toolName, agentId].some((name) => /[*?]/.test(name) || globProblem(name) !== undefined),
    ...{ callIds: [], people: new Set(), days: new Set(), askedMs: [], toDecideMs: [] },
  };
}

function addTo(group: Group, { callId, requirements, decision, ...call }: AskedCall): void {
  if (decision.status === 'against' || requirements.some(isGuardedBy)) group.isRefuted = true;
  if (group.isRefuted || decision.status === 'against') return;
  if (group.callIds.length < callIdsMax) group.callIds.push(callId);
  if (decision.status === 'open') return;
  const { by, askedMs, decidedMs } = decision;
  for (const person of by) group.people.add(person);
  group.days.add(Math.floor(decidedMs / dayMs));
  group.askedMs.push(askedMs);
  group.toDecideMs.push(decidedMs - askedMs);
  group.ranges = withNumbersOf(group.ranges, call.arguments);
  const before = group.stable ?? plainMembers(call.arguments, call.hidden);
  group.stable = new Map(
    [...before].filter(([name, value]) => call.arguments[name] === value && !call.hidden.has(name)),
  );
}

/** Short values that say nothing about a person and need no escape in an expression. */
const plainText = /^[A-Za-z0-9_./:-]{1,32}$/;
const memberName = /^[A-Za-z_][A-Za-z0-9_]{0,31}$/;

function plainMembers(args: JsonObject, hidden: ReadonlySet<string>): ReadonlyMap<string, JsonValue> {
  const members = Object.entries(args).filter(
    ([name, value]) =>
      memberName.test(name) &&
      !hidden.has(name) &&
      (typeof value === 'boolean' || (typeof value === 'string' && plainText.test(value))),
  );
  return new Map(members);
}

function isProven({ isRefuted, ranges, people, days, askedMs }: Group, decisionsMin: number): boolean {
  return !isRefuted && ranges !== null && askedMs.length >= decisionsMin && (people.size >= 2 || days.size >= 2);
}

/** More than one person, or a high risk: no suggestion takes these away. */
function isGuardedBy({ stages, risk }: Pick<Requirement, 'stages' | 'risk'>): boolean {
  const people = stages.map(({ mode, approve, groups }) => (mode === 'all-of' ? (groups ?? []).length : approve));
  return risk === 'high' || people.reduce((sum, count) => sum + count, 0) > 1;
}

/** A rule that never matched a recorded call may still be there for the next one. */
function isGuarded({ rules }: Pick<PolicyContent, 'rules'>, { toolName, agentId }: Group): boolean {
  const mayMatch = ({ tools, agents }: Rule): boolean =>
    (tools === null || tools.some((glob) => matchesGlob(glob, toolName))) &&
    (agents === null || agents.some((glob) => matchesGlob(glob, agentId)));
  return rules.some((rule) => {
    if (rule.then.outcome === 'allow' || !mayMatch(rule)) return false;
    return rule.then.outcome === 'block' || isGuardedBy(rule.then.requirement);
  });
}

function toSuggestion({ toolName, agentId, people, days, askedMs, toDecideMs, callIds, ...group }: Group): Suggestion {
  const equal = [...(group.stable ?? [])]
    .slice(0, conditionsMax)
    .map(([name, value]) => `args.${name} == ${JSON.stringify(value)}`);
  const when = [...equal, ...rangeConditions(group.ranges ?? new Map(), askedMs.length)].join(' && ');
  const id = `suggested-${jcsDigest({ toolName, agentId }).slice('sha256:'.length, 'sha256:'.length + 8)}`;
  const match = { tools: [toolName], agents: [agentId] };
  return {
    ...{ toolName, agentId, callIds },
    rule: { id, match, ...(when === '' ? {} : { when }), then: 'allow' },
    evidence: {
      ...{ decisions: askedMs.length, people: people.size, days: days.size },
      ...{ firstMs: Math.min(...askedMs), lastMs: Math.max(...askedMs), medianToDecideMs: medianOf(toDecideMs) },
    },
  };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor((values.length - 1) / 2)] ?? 0;
}

/** The rule as an item of `rules` in a policy file. JSON's texts and lists are YAML as well. */
export function ruleYaml({ id, match, when, then }: JsonObject): string {
  const lines = [`- id: ${JSON.stringify(id)}`, `  match: ${JSON.stringify(match)}`];
  if (when !== undefined) lines.push(`  when: ${JSON.stringify(when)}`);
  return [...lines, `  then: ${JSON.stringify(then)}`, ''].join('\n');
}
