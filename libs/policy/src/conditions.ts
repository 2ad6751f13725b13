import type { CelEngine, CelExpression } from '@countersign/cel';
import { spend } from './ruling.js';
import type { Budget } from './ruling.js';
import type { PolicyCall } from './policy-call.js';

/** Reads and evaluates the conditions of grants. */
export interface Conditions {
  /** Returns why an expression cannot be used; undefined when it can. */
  readonly problemOf: (source: string) => string | undefined;
  /**
   * Returns whether a condition is true of a call at a time (epoch milliseconds). False when it has no answer, or when
   * the budget is used up: then a person decides.
   */
  readonly holds: (source: string, call: PolicyCall, nowMs: number, budget: Budget) => boolean;
}

/** How many compiled expressions are kept. */
const keptMax = 200;

/** The conditions of an engine. */
export function createConditions(cel: CelEngine): Conditions {
  const kept = new Map<string, ReturnType<CelEngine['compile']>>();
  const compiled = (source: string): { readonly expression: CelExpression } | { readonly problem: string } => {
    const known = kept.get(source);
    if (known !== undefined) return known;
    const result = cel.compile(source, 'grant');
    if (kept.size >= keptMax) kept.delete(kept.keys().next().value ?? '');
    kept.set(source, result);
    return result;
  };
  return {
    problemOf: (source) => {
      const result = compiled(source);
      return 'problem' in result ? result.problem : undefined;
    },
    holds: (source, call, nowMs, budget) => {
      const result = compiled(source);
      if ('problem' in result || budget.left <= 0) return false;
      const { toolName, agentId, runId, labels, description } = call;
      const facts = { toolName, agentId, runId, labels, description };
      const answer = result.expression({ args: call.arguments, call: facts, nowMs });
      spend(budget, answer.cost);
      return 'value' in answer && answer.value;
    },
  };
}
