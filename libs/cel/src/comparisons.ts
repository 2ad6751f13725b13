import { parse, unparse } from '@bufbuild/cel';
import type { CelEnv } from '@bufbuild/cel';
import type { Constant, Expr, Expr_Call, Expr_Comprehension } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';
import { isConvertible } from './conversions.js';
import type { KnownKind, Scope } from './scope.js';

/** A kind of values; undefined: any value. */
type Kind = KnownKind | undefined;

const kindOfType: Readonly<Record<string, Kind>> = {
  bool: 'a bool',
  bytes: 'bytes',
  double: 'a number',
  'google.protobuf.Duration': 'a duration',
  'google.protobuf.Timestamp': 'a timestamp',
  int: 'a number',
  list: 'a list',
  map: 'a map',
  null_type: 'null',
  string: 'a text',
  type: 'a type',
  uint: 'a number',
};

const kindOfConstant: Readonly<Record<NonNullable<Constant['constantKind']['case']>, Kind>> = {
  boolValue: 'a bool',
  bytesValue: 'bytes',
  doubleValue: 'a number',
  durationValue: 'a duration',
  int64Value: 'a number',
  nullValue: 'null',
  stringValue: 'a text',
  timestampValue: 'a timestamp',
  uint64Value: 'a number',
};

const logic = new Set(['_&&_', '_||_', '!_']);
const orders = new Set(['_<_', '_<=_', '_>_', '_>=_']);
const unordered = new Set<Kind>(['a list', 'a map', 'a type', 'null']);

/** The functions of the language by name, for the kind of their results. */
export type Functions = CelEnv['funcs'];

/** Returns what an expression compares in vain: values of two kinds, and conversions of texts that always fail. */
export function comparisonProblems(source: string, scope: Scope, functions: Functions): readonly string[] {
  const kinds = resultKinds(functions);
  const problems: string[] = [];
  const visit = (expr: Expr | undefined, loops: ReadonlySet<string>): void => {
    if (expr === undefined) return;
    const kindOf = (part: Expr | undefined): Kind => kindOfExpr(part, { loops, scope, kinds });
    const { exprKind } = expr;
    const problem = exprKind.case === 'callExpr' ? callProblem(exprKind.value, kindOf) : undefined;
    if (problem !== undefined) problems.push(`${textOf(expr)}: ${problem}`);
    for (const [part, names] of partsOf(expr, loops)) visit(part, names);
  };
  visit(parse(source).expr, new Set());
  return problems;
}

/** The text of an expression. The library cannot write a loop. */
function textOf(expr: Expr): string {
  try {
    return unparse(expr);
  } catch {
    return 'a comparison of a loop';
  }
}

type KindOf = (part: Expr | undefined) => Kind;

function callProblem(call: Expr_Call, kindOf: KindOf): string | undefined {
  const { function: name, args } = call;
  const [left, right] = args.map(kindOf);
  if (name === '_==_' || name === '_!=_') return equalityProblem(left, right, name === '_!=_');
  if (orders.has(name)) return orderProblem(left, right);
  return name === '@in' ? memberProblem(args, kindOf) : textProblem(call);
}

function equalityProblem(left: Kind, right: Kind, value: boolean): string | undefined {
  return areMixed(left, right)
    ? `it compares ${named(left)} with ${named(right)} and is always ${String(value)}`
    : undefined;
}

function orderProblem(left: Kind, right: Kind): string | undefined {
  const isVain = areMixed(left, right) || unordered.has(left) || unordered.has(right);
  return isVain ? `it compares ${named(left)} with ${named(right)} and never has an answer` : undefined;
}

/** A conversion of a text in quotes. */
function textProblem({ function: name, args: [text, ...others], target }: Expr_Call): string | undefined {
  if (target !== undefined || others.length > 0 || text?.exprKind.case !== 'constExpr') return undefined;
  const { constantKind } = text.exprKind.value;
  if (constantKind.case !== 'stringValue' || isConvertible(name, constantKind.value)) return undefined;
  return `the text is no ${name}, so it never has an answer`;
}

function memberProblem([item, list]: readonly Expr[], kindOf: KindOf): string | undefined {
  const [kind, whole] = [kindOf(item), kindOf(list)];
  if (whole !== undefined && whole !== 'a list' && whole !== 'a map') {
    return `it looks for ${named(kind)} in ${whole} and never has an answer`;
  }
  if (list?.exprKind.case !== 'listExpr' || kind === undefined) return undefined;
  const items = list.exprKind.value.elements.map(kindOf);
  const isVain = items.length > 0 && items.every((one) => areMixed(kind, one));
  return isVain ? `it looks for ${kind} in a list of other kinds and is always false` : undefined;
}

function areMixed(left: Kind, right: Kind): boolean {
  return left !== undefined && right !== undefined && left !== right;
}

function named(kind: Kind): string {
  return kind ?? 'a value';
}

interface Names {
  /** The variables of the loops around an expression. */
  readonly loops: ReadonlySet<string>;
  readonly scope: Scope;
  readonly kinds: ReadonlyMap<string, Kind>;
}

function kindOfExpr(expr: Expr | undefined, names: Names): Kind {
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case 'constExpr': {
      const { case: constant } = kind.value.constantKind;
      return constant === undefined ? undefined : kindOfConstant[constant];
    }
    case 'listExpr':
      return 'a list';
    case 'structExpr':
      return 'a map';
    case 'identExpr':
      return kindOfName(kind.value.name, names);
    case 'selectExpr':
      return kind.value.testOnly ? 'a bool' : kindOfPath(expr, names);
    case 'callExpr':
      return kind.value.function === '_[_]' ? kindOfPath(expr, names) : kindOfCall(kind.value, names);
    case 'comprehensionExpr':
      return kindOfLoop(kind.value, names);
    default:
      return undefined;
  }
}

function kindOfName(name: string, { loops, scope }: Names): Kind {
  if (loops.has(name)) return undefined;
  if (scope.variables.has(name)) return scope.kinds.get(name);
  return kindOfType[name] === undefined ? undefined : 'a type';
}

/** `call.labels.env` and `call.labels["env"]` have the kind of `call.labels.*`. */
function kindOfPath(expr: Expr | undefined, { loops, scope }: Names): Kind {
  const path = pathOf(expr, loops);
  return path === undefined ? undefined : (scope.kinds.get(path) ?? scope.kinds.get(path.replace(/[^.]*$/, '*')));
}

function pathOf(expr: Expr | undefined, loops: ReadonlySet<string>): string | undefined {
  const kind = expr?.exprKind;
  if (kind?.case === 'identExpr') return loops.has(kind.value.name) ? undefined : kind.value.name;
  const [whole, member] = memberOf(expr);
  const path = whole === undefined ? undefined : pathOf(whole, loops);
  return path === undefined ? undefined : `${path}.${member}`;
}

/** The value whose member an expression reads, and the name of the member. */
function memberOf(expr: Expr | undefined): readonly [whole: Expr | undefined, member: string] {
  const kind = expr?.exprKind;
  if (kind?.case === 'selectExpr') return [kind.value.operand, kind.value.field];
  if (kind?.case === 'callExpr' && kind.value.function === '_[_]') return [kind.value.args[0], '*'];
  return [undefined, ''];
}

function kindOfCall({ function: name, args }: Expr_Call, names: Names): Kind {
  if (logic.has(name)) return 'a bool';
  const kindOf = (part: Expr | undefined): Kind => kindOfExpr(part, names);
  if (name === '_?_:_') return kindOf(args[1]) === kindOf(args[2]) ? kindOf(args[1]) : undefined;
  if (name === '_+_') return kindOf(args[0]) === kindOf(args[1]) ? kindOf(args[0]) : undefined;
  return names.kinds.get(name);
}

/** `map` and `filter` begin with a list, `all` and `exists` with true or false; `exists_one` ends with a comparison. */
function kindOfLoop({ accuInit, result, accuVar }: Expr_Comprehension, names: Names): Kind {
  const isAccumulator = result?.exprKind.case === 'identExpr' && result.exprKind.value.name === accuVar;
  return isAccumulator ? kindOfExpr(accuInit, names) : 'a bool';
}

/** The kinds that the functions return, where all forms of a function return the same. */
function resultKinds(functions: Functions): ReadonlyMap<string, Kind> {
  const kinds = new Map<string, Kind>();
  for (const { name, result } of functions) {
    const kind = kindOfType[result.name];
    kinds.set(name, kinds.has(name) && kinds.get(name) !== kind ? undefined : kind);
  }
  return kinds;
}

type Part = readonly [part: Expr | undefined, loops: ReadonlySet<string>];

function partsOf({ exprKind }: Expr, loops: ReadonlySet<string>): readonly Part[] {
  const all = (parts: readonly (Expr | undefined)[]): Part[] => parts.map((part) => [part, loops]);
  switch (exprKind.case) {
    case 'selectExpr':
      return all([exprKind.value.operand]);
    case 'callExpr':
      return all([exprKind.value.target, ...exprKind.value.args]);
    case 'listExpr':
      return all(exprKind.value.elements);
    case 'structExpr':
      return all(exprKind.value.entries.map(({ value }) => value));
    case 'comprehensionExpr': {
      const { iterRange, iterVar, accuVar, loopStep } = exprKind.value;
      return [...all([iterRange]), [loopStep, new Set([...loops, iterVar, accuVar])]];
    }
    default:
      return [];
  }
}
