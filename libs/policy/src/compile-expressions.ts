import type { CelEngine, CelExpression } from '@countersign/cel';
import type { z } from 'zod';

/** The expressions of a file, and what is wrong with those that cannot be used. */
export interface Compiled {
  readonly compiled: ReadonlyMap<string, CelExpression>;
  readonly issues: readonly z.core.$ZodIssue[];
}

/** Compiles the expression of each rule. The rest of the file may have any form: its own problems are found apart. */
export function compileExpressions(file: unknown, cel: CelEngine | null): Compiled {
  const steps = compileInSteps(file, cel);
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The same, one rule at a step. */
export function* compileInSteps(file: unknown, cel: CelEngine | null): Generator<undefined, Compiled, undefined> {
  const compiled = new Map<string, CelExpression>();
  const issues: z.core.$ZodIssue[] = [];
  for (const [index, rule] of rulesOf(file).entries()) {
    yield undefined;
    const source = memberOf(rule, 'when');
    if (typeof source !== 'string' || compiled.has(source)) continue;
    const result = cel === null ? { problem: 'cannot be read here: there is no CEL engine' } : cel.compile(source);
    if ('expression' in result) compiled.set(source, result.expression);
    else
      issues.push({
        code: 'custom',
        path: ['rules', index, 'when'],
        message: messageOf(result.problem),
        input: source,
      });
  }
  return { compiled, issues };
}

/** Finds the comparisons that can never hold, in the expressions of a file that compile. */
export function vainComparisons(
  file: unknown,
  cel: CelEngine | null,
): readonly { readonly path: readonly PropertyKey[]; readonly message: string }[] {
  return rulesOf(file).flatMap((rule, index) => {
    const source = memberOf(rule, 'when');
    if (typeof source !== 'string' || cel === null) return [];
    return cel.comparisonProblems(source).map((message) => ({ path: ['rules', index, 'when'], message }));
  });
}

function messageOf(problem: string): string {
  return `the expression cannot be used: ${problem}`;
}

function rulesOf(file: unknown): readonly unknown[] {
  const rules = memberOf(file, 'rules');
  return Array.isArray(rules) ? rules : [];
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
}
