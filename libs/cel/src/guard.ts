import { create } from '@bufbuild/protobuf';
import type {
  Constant,
  Expr,
  Expr_Call,
  Expr_Comprehension,
  Expr_Select,
} from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { ExprSchema } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { guardFunctions } from './environment.js';
import { limits } from './limits.js';
import type { Scope } from './scope.js';

/** The names and functions that an expression may use. */
export interface Known extends Scope {
  readonly functionNames: ReadonlySet<string>;
  /** Returns why a pattern of `matches` cannot be used; undefined when it can. */
  readonly patternProblem: (pattern: string) => string | undefined;
}

/** Evaluated by the library itself: they are not among its functions. */
const operators = new Set(['_&&_', '_||_', '_?_:_', '_[_]', '@not_strictly_false']);

/** Types as values, as in `type(args.x) == string`. */
const typeNames = new Set([
  ...['bool', 'bytes', 'double', 'int', 'list', 'map', 'null_type', 'string', 'type', 'uint'],
]);

/**
 * Checks a parsed expression, makes its loops count their steps, and lets `has` and indices check their types (it changes
 * the tree).
 * @returns why the expression cannot be used; undefined when it can
 */
export function guard(root: Expr | undefined, known: Known): string | undefined {
  let nodes = 0;

  const problemOf = (expr: Expr | undefined, place: Place): Problem => {
    nodes += 1;
    if (expr === undefined) return 'it is incomplete';
    if (nodes > limits.nodes) return `it has more than ${String(limits.nodes)} parts`;
    if (place.depth > limits.depth) return `it is nested more than ${String(limits.depth)} levels deep`;
    const parts = partsOf(expr, place);
    const problem = ownProblem(expr, place, known) ?? firstProblem(parts, ([part, inner]) => problemOf(part, inner));
    checkAccess(expr);
    return problem;
  };

  return problemOf(root, { depth: 0, loops: 0, names: new Set() });
}

/** Where in the tree a part is: its depth, the loops around it, and their variables. */
interface Place {
  readonly depth: number;
  readonly loops: number;
  readonly names: ReadonlySet<string>;
}

/** The problem of a part itself, without the parts in it. */
function ownProblem({ exprKind }: Expr, { loops, names }: Place, known: Known): Problem {
  switch (exprKind.case) {
    case 'identExpr': {
      const { name } = exprKind.value;
      const isKnown = names.has(name) || known.variables.has(name) || typeNames.has(name);
      return isKnown ? undefined : `there is no "${name}"; an expression has ${[...known.variables].join(', ')}`;
    }
    case 'callExpr':
      return callProblem(exprKind.value, known);
    case 'selectExpr':
      return memberProblem(exprKind.value, names, known);
    case 'structExpr':
      return exprKind.value.messageName === ''
        ? undefined
        : `"${exprKind.value.messageName}" is not a type that it can build`;
    case 'comprehensionExpr':
      return loops < limits.loops ? undefined : `it has more than ${String(limits.loops)} loops inside each other`;
    case undefined:
      return 'it is incomplete';
    default:
      return undefined;
  }
}

type Part = readonly [part: Expr | undefined, place: Place];

/** The parts of a part. A loop gets its meter here. */
function partsOf({ exprKind }: Expr, place: Place): readonly Part[] {
  const inside = { ...place, depth: place.depth + 1 };
  const all = (parts: readonly (Expr | undefined)[]): readonly Part[] => parts.map((part) => [part, inside]);
  switch (exprKind.case) {
    case 'selectExpr':
      return all([exprKind.value.operand]);
    case 'callExpr':
      return all(
        exprKind.value.target === undefined ? exprKind.value.args : [exprKind.value.target, ...exprKind.value.args],
      );
    case 'listExpr':
      return all(exprKind.value.elements);
    case 'structExpr':
      return all(exprKind.value.entries.flatMap(({ keyKind, value }) => [keyOf(keyKind), value]));
    case 'comprehensionExpr': {
      const loop = exprKind.value;
      const names = new Set([...place.names, loop.iterVar, loop.accuVar]);
      const inLoop: Place = { depth: inside.depth, loops: place.loops + 1, names };
      const steps = [loop.loopCondition, loop.loopStep, loop.result].map((part): Part => [part, inLoop]);
      const parts = [...all([loop.iterRange, loop.accuInit]), ...steps];
      meterLoop(loop);
      return parts;
    }
    default:
      return [];
  }
}

type Entry = Extract<Expr['exprKind'], { case: 'structExpr' }>['value']['entries'][number];

function keyOf(keyKind: Entry['keyKind']): Expr | undefined {
  return keyKind.case === 'mapKey' ? keyKind.value : undefined;
}

type Problem = string | undefined;

function firstProblem<T>(parts: readonly T[], problemOf: (part: T) => Problem): Problem {
  for (const part of parts) {
    const problem = problemOf(part);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A rule that reads a member that no call has would never have an answer, and its author would not be told. */
function memberProblem({ operand, field }: Expr_Select, names: Place['names'], { members }: Known): Problem {
  const path = pathOf(operand, names);
  const known = path === undefined ? undefined : members.get(path);
  if (known === undefined || known.includes(field)) return undefined;
  return `"${String(path)}" has no "${field}"; it has ${known.join(', ')}`;
}

/** The path of a variable or of its member; undefined for any other expression and for the variable of a loop. */
function pathOf(expr: Expr | undefined, names: Place['names']): string | undefined {
  const kind = expr?.exprKind;
  if (kind?.case === 'identExpr') return names.has(kind.value.name) ? undefined : kind.value.name;
  if (kind?.case !== 'selectExpr') return undefined;
  const path = pathOf(kind.value.operand, names);
  return path === undefined ? undefined : `${path}.${kind.value.field}`;
}

function callProblem(call: Expr_Call, known: Known): Problem {
  const { function: name, args, target } = call;
  if (!operators.has(name) && !known.functionNames.has(name)) return `there is no function "${name}"`;
  if (name !== 'matches') return undefined;
  // A pattern out of the arguments would be the agent's: it chooses how long it takes.
  const pattern = target === undefined ? args[1] : args[0];
  const literal = pattern?.exprKind.case === 'constExpr' ? pattern.exprKind.value.constantKind : undefined;
  if (literal?.case !== 'stringValue') return 'the pattern of "matches" must be a text in quotes';
  return known.patternProblem(literal.value);
}

function meterLoop(loop: Expr_Comprehension): void {
  const tick = call(guardFunctions.tick);
  const end = constant({ case: 'boolValue', value: false });
  if (loop.iterRange !== undefined) loop.iterRange = call(guardFunctions.range, loop.iterRange);
  if (loop.loopCondition !== undefined) loop.loopCondition = call('_?_:_', tick, loop.loopCondition, end);
}

/** Replaces `has(value.member)` and the key in `value[key]` by calls that fail where the language says so. */
function checkAccess(expr: Expr): void {
  const { exprKind } = expr;
  if (exprKind.case === 'selectExpr' && exprKind.value.testOnly && exprKind.value.operand !== undefined) {
    const { operand, field } = exprKind.value;
    expr.exprKind = call(guardFunctions.has, operand, constant({ case: 'stringValue', value: field })).exprKind;
  } else if (exprKind.case === 'callExpr' && exprKind.value.function === '_[_]') {
    const [value, key] = exprKind.value.args;
    if (value === undefined || key === undefined || key.exprKind.case === 'constExpr') return;
    exprKind.value.args = [value, call(guardFunctions.key, key)];
  }
}

function constant(constantKind: Extract<Constant['constantKind'], { case: 'boolValue' | 'stringValue' }>): Expr {
  return create(ExprSchema, { exprKind: { case: 'constExpr', value: { constantKind } } });
}

function call(name: string, ...args: Expr[]): Expr {
  return create(ExprSchema, { exprKind: { case: 'callExpr', value: { function: name, args } } });
}
