import type { Expr, Expr_Call, Expr_Comprehension } from '@bufbuild/cel-spec/cel/expr/syntax_pb.js';

/** Their operands are conditions themselves. */
const logic = new Set(['_&&_', '_||_', '!_']);

/** The names in an expression on which its result depends. */
export interface Results {
  readonly variables: ReadonlySet<string>;
  /** The functions that may return true or false. */
  readonly conditions: ReadonlySet<string>;
}

/**
 * Returns whether the result of an expression is never true or false for any call. An expression over arguments may
 * have any result, so this is false of most. None of the variables is true or false itself.
 */
export function isNeverCondition(expr: Expr | undefined, known: Results): boolean {
  const kind = expr?.exprKind;
  switch (kind?.case) {
    case 'constExpr':
      return kind.value.constantKind.case !== 'boolValue';
    case 'listExpr':
    case 'structExpr':
      return true;
    case 'identExpr':
      return known.variables.has(kind.value.name);
    case 'callExpr':
      return isNeverConditionCall(kind.value, known);
    case 'comprehensionExpr':
      return isNeverCondition(resultOf(kind.value), known);
    default:
      return false;
  }
}

function isNeverConditionCall({ function: name, args: [first, ...others] }: Expr_Call, known: Results): boolean {
  const isNever = (expr: Expr | undefined): boolean => isNeverCondition(expr, known);
  if (logic.has(name)) return [first, ...others].some(isNever);
  if (name === '_?_:_') return isNever(first) || others.every(isNever);
  return name !== '_[_]' && !known.conditions.has(name);
}

/** A loop returns what it began with, changed by each step; `exists_one` returns a comparison with it. */
function resultOf({ result, accuVar, accuInit }: Expr_Comprehension): Expr | undefined {
  const isAccumulator = result?.exprKind.case === 'identExpr' && result.exprKind.value.name === accuVar;
  return isAccumulator ? accuInit : result;
}
