import { matchesGlob } from '@countersign/contracts';
import type { CelExpression, CelInputs } from '@countersign/cel';
import type { PolicyCall } from './policy-call.js';
import type { Rule } from './rule.js';

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
  const { call } = inspected;
  const matched: Part[] = [];
  for (const part of partsOf(rule, call)) {
    if (part.glob === undefined) return { status: 'not-matched', why: () => mismatch(part) };
    matched.push(part);
  }
  const globs = (): string[] => matched.map(({ kind, glob }) => `the ${kind} matches "${glob ?? ''}"`);
  if (rule.when !== null) return evaluate(rule.when, inspected, globs);
  return { status: 'matched', why: () => (matched.length === 0 ? 'it matches every call' : globs().join('; ')) };
}

/** One part of a rule's `match`. */
interface Part {
  readonly kind: string;
  readonly globs: readonly string[];
  /** The glob that matches; undefined when none does. */
  readonly glob: string | undefined;
}

function* partsOf({ tools, agents, labels }: Rule, call: PolicyCall): Generator<Part> {
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
