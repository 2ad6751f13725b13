import { isCelError, parse, plan } from '@bufbuild/cel';
import type { CelInput } from '@bufbuild/cel';
import type { Expr } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { JsonObject } from '@countersign/contracts';
import { comparisonProblems } from './comparisons.js';
import { isNeverCondition } from './condition.js';
import { createEnvironment } from './environment.js';
import { guard } from './guard.js';
import { countValues, toCelValue } from './json-values.js';
import { limits } from './limits.js';
import { createMeter, meterProblems } from './meter.js';
import { patternProblem } from './patterns.js';
import { scopes } from './scope.js';
import type { Scope, ScopeName } from './scope.js';

/** Compiles and evaluates expressions. */
export interface CelEngine {
  /** The library and the version of what is added here. Under the same version the same inputs have the same answer and cost. */
  readonly version: string;
  readonly compile: typeof compileCel;
  /**
   * Returns what a compiled expression of a rule compares in vain, in words: values of two kinds, such as a text and a
   * number.
   */
  readonly comparisonProblems: (source: string) => readonly string[];
}

/** The variables of an expression. */
export interface CelInputs {
  /** The validated arguments: `args`. */
  readonly args: JsonObject;
  /** The other facts of the call: `call`. */
  readonly call: JsonObject;
  /** The facts of the run: `run`. Null: unknown, so an expression over it has no answer. */
  readonly run?: RunInputs | null;
  /** `now`, epoch milliseconds. */
  readonly nowMs: number;
}

/** The facts of a run before this call. */
export interface RunInputs {
  readonly calls: number;
  readonly denied: number;
  /** Epoch milliseconds. */
  readonly startedAtMs: number;
}

/** The result of an evaluation. Only `true` and `false` are answers; a `problem` is neither. */
export type CelAnswer = ({ readonly value: boolean } | CelProblem) & { readonly cost: number };

/** Why an evaluation has no answer. */
export interface CelProblem {
  /** The kind of the problem, in words that repeat nothing of the call. */
  readonly problem: string;
  /** The library's words. They may quote arguments, so they are for the author of the rule only. */
  readonly detail: string;
}

/**
 * An expression that can be evaluated: it never throws, and stops within its budget. Give the same object to all
 * expressions over one call: it is converted once.
 */
export type CelExpression = (inputs: CelInputs) => CelAnswer;

/** The inputs in the form that the library reads. */
interface Prepared {
  readonly variables: Record<string, CelInput>;
  readonly size: number;
}

const prepared = new WeakMap<CelInputs, Prepared>();

const problemLength = 200;

const meter = createMeter();
let inputSize = 0;
const { env, functionNames, conditions } = createEnvironment(meter, () => inputSize);

function prepare(inputs: CelInputs): Prepared {
  const known = prepared.get(inputs);
  if (known !== undefined) return known;
  const { args, call, run = null, nowMs } = inputs;
  const facts = { args: toCelValue(args), call: toCelValue(call), now: timestampFromMs(nowMs) };
  const variables = bindings(run === null ? facts : { ...facts, run: runMap(run) });
  const made = { variables, size: countValues([args, call], limits.cost) };
  prepared.set(inputs, made);
  return made;
}

function runMap({ calls, denied, startedAtMs }: RunInputs): CelInput {
  return new Map<string, CelInput>([
    ['calls', calls],
    ['denied', denied],
    ['startedAt', timestampFromMs(startedAtMs)],
  ]);
}

/** Without a prototype: an expression that names `constructor` must not find JavaScript's. */
export function bindings(named: Record<string, CelInput>): Record<string, CelInput> {
  return Object.assign(Object.create(null) as Record<string, CelInput>, named);
}

/**
 * Reads an expression over `args`, `call`, `run` and `now` whose result is true or false. A grant's has no `run`.
 * @returns the expression, or why it cannot be used
 */
export function compileCel(
  source: string,
  where: ScopeName = 'rule',
): { readonly expression: CelExpression } | { readonly problem: string } {
  const { variables } = scopes[where];
  const compiled = compileOver(source, scopes[where]);
  if ('problem' in compiled) return compiled;
  if (isNeverCondition(compiled.root, { variables, conditions })) return { problem: notBoolean };
  return { expression: (inputs) => answerOf(compiled.evaluate(prepare(inputs))) };
}

function answerOf({ result, problem, cost }: Evaluated): CelAnswer {
  if (problem !== undefined) return { problem: kindOf(problem), detail: problem, cost };
  if (typeof result === 'boolean') return { value: result, cost };
  return { problem: notBoolean, detail: notBoolean, cost };
}

const notBoolean = 'its result is not true or false';

function kindOf(problem: string): string {
  if (Object.values<string>(meterProblems).includes(problem)) return problem;
  if (/^field not found|^unresolved attribute|^index .* out of bounds/.test(problem))
    return 'it reads a field that the call does not have';
  return problem.includes('no matching overload') ? 'the types of its values do not fit' : 'its evaluation failed';
}

/** The result of any type. */
export interface Evaluated {
  readonly result?: unknown;
  readonly problem?: string;
  readonly cost: number;
}

/** An expression that was read: its tree, and its evaluation. */
interface Compiled {
  readonly root: Expr | undefined;
  readonly evaluate: (over: Prepared) => Evaluated;
}

/** Reads an expression over the variables of a scope. @returns its evaluation, or why it cannot be used */
export function compileOver(source: string, scope: Scope): Compiled | { readonly problem: string } {
  if (source.length > limits.characters) {
    return { problem: `it has more than ${String(limits.characters)} characters` };
  }
  try {
    const parsed = parse(source);
    const problem = guard(parsed.expr, { ...scope, functionNames, patternProblem });
    if (problem !== undefined) return { problem: shortened(problem) };
    const planned = plan(env, parsed);
    return { root: parsed.expr, evaluate: (over) => evaluated(planned, over) };
  } catch (error) {
    // The parser calls itself for each pair of brackets.
    return { problem: error instanceof RangeError ? 'it is nested too deep' : shortened(error) };
  }
}

function evaluated(planned: (variables?: Record<string, CelInput>) => unknown, over: Prepared): Evaluated {
  const traced = Error.stackTraceLimit;
  // Otherwise a loop with an error in each step spends its time on their stacks.
  Error.stackTraceLimit = 0;
  try {
    meter.start();
    inputSize = over.size;
    const result = planned(over.variables);
    const problem = meter.problem() ?? (isCelError(result) ? shortened(result) : undefined);
    return problem === undefined ? { result, cost: meter.cost() } : { problem, cost: meter.cost() };
  } catch (error) {
    return { problem: shortened(error), cost: meter.cost() };
  } finally {
    Error.stackTraceLimit = traced;
  }
}

/** The first line of a problem. The library's messages repeat what was written, of any length. */
function shortened(problem: unknown): string {
  const line = (problem instanceof Error ? problem.message : String(problem)).split('\n')[0] ?? '';
  return line.length > problemLength ? `${line.slice(0, problemLength)} …` : line;
}

/** The engine of this library. Load it only where a policy has expressions: it takes 0.2 s and 27 MB. */
export const celEngine: CelEngine = {
  version: '@bufbuild/cel 0.6.1, limits 3',
  compile: compileCel,
  comparisonProblems: (source) => comparisonProblems(source, scopes.rule, env.funcs),
};
