import type { JsonObject, JsonValue } from '@countersign/contracts';
import { addEvaluated, nothingEvaluated } from './evaluated.js';
import type { Evaluated } from './evaluated.js';
import { schemaLimits } from './limits.js';
import { fail } from './run.js';
import type { Remembered, Run } from './run.js';
import type { Check, SchemaNode } from './schema-node.js';

/** The maximum depth of schemas, by nesting and by reference, that the stack can hold. */
const depthMax = 800;

/** Returns whether a value fits a schema. If it does, its evaluated parts are added to `out`. */
export function evaluate(node: SchemaNode, value: JsonValue, run: Run, out: Evaluated | null): boolean {
  if (node.isDoubtful) run.isDoubtful = true;
  if (node.verdict !== null) return node.verdict || fail(run, () => 'boolean schema is false');
  if ((run.work.left -= 1) < 0) return false;
  if (run.depth >= depthMax) {
    run.work.left = -1;
    return false;
  }
  run.depth += 1;
  const fits = node.isShared ? evaluateShared(node, value, run, out) : evaluateNode(node, value, run, out);
  run.depth -= 1;
  return fits;
}

/** The same for a member of the value, at its place in the path. */
export function evaluateMember(node: SchemaNode, value: JsonValue, key: string | number, run: Run): boolean {
  if (run.errors === null) return evaluate(node, value, run, null);
  run.path.push(key);
  const fits = evaluate(node, value, run, null);
  run.path.pop();
  return fits;
}

/** The same without noting errors: for what need not fit. */
export function probe(node: SchemaNode, value: JsonValue, run: Run, out: Evaluated | null): boolean {
  const { errors } = run;
  run.errors = null;
  const fits = evaluate(node, value, run, out);
  run.errors = errors;
  return fits;
}

/** The result of a schema in a place where a fit may refuse the value. */
export type Judged = 'fits' | 'fails' | 'unsure';

/** The same, saying where the fit is unsure because a part of the schema cannot be checked. */
export function judge(node: SchemaNode, value: JsonValue, run: Run, out: Evaluated | null): Judged {
  const { isDoubtful } = run;
  run.isDoubtful = false;
  const fits = probe(node, value, run, out);
  const judged = fits ? fitOf(run) : 'fails';
  run.isDoubtful = isDoubtful;
  return judged;
}

function fitOf({ isDoubtful }: Run): Judged {
  return isDoubtful ? 'unsure' : 'fits';
}

/** While a schema refers to itself without descending into the value, it holds. A note names the reference. */
const inProgress: Remembered = { fits: true, seen: null, isDoubtful: true };

/** A value that did not fit is evaluated again when errors are wanted, since its errors may be at another place. */
function evaluateShared(node: SchemaNode, value: JsonValue, run: Run, out: Evaluated | null): boolean {
  const results = run.remembered.get(node) ?? new Map<JsonValue, Remembered>();
  run.remembered.set(node, results);
  const { isDoubtful } = run;
  let known = results.get(value);
  if (known === undefined || (!known.fits && run.errors !== null)) {
    const seen = run.tracks ? nothingEvaluated() : null;
    results.set(value, inProgress);
    run.isDoubtful = node.isDoubtful;
    const fits = evaluateNode(node, value, run, seen);
    known = { fits, seen, isDoubtful: run.isDoubtful };
    results.set(value, known);
  }
  run.isDoubtful = isDoubtful || known.isDoubtful;
  if (known.fits && known.seen !== null && out !== null) addEvaluated(out, known.seen, run.work);
  return known.fits;
}

function evaluateNode(node: SchemaNode, value: JsonValue, run: Run, out: Evaluated | null): boolean {
  if (value === null && node.isNullable) return true;
  const { checks } = node;
  const seen = run.tracks ? evaluatedBy(node) : null;
  const fits = runAll(checks, value, run, seen);
  if (fits && seen !== null) note(seen, out, run);
  return fits;
}

function runAll(checks: SchemaNode['checks'], value: JsonValue, run: Run, seen: Evaluated | null): boolean {
  let fits = runChecks(checks.any, value, run, seen);
  if (goesOn(fits, run)) fits = runTyped(checks, value, run, seen) && fits;
  if (goesOn(fits, run)) fits = runChecks(checks.inPlace, value, run, seen) && fits;
  if (goesOn(fits, run)) fits = runChecks(checks.last, value, run, seen) && fits;
  return fits;
}

/** A keyword that is not checked may be about any member. */
function evaluatedBy({ isDoubtful }: SchemaNode): Evaluated {
  const seen = nothingEvaluated();
  seen.allNames = seen.allItems = isDoubtful;
  return seen;
}

function goesOn(fits: boolean, run: Run): boolean {
  return fits || !isEnough(run);
}

function note(seen: Evaluated, out: Evaluated | null, run: Run): void {
  if (out !== null) addEvaluated(out, seen, run.work);
}

function runTyped(checks: SchemaNode['checks'], value: JsonValue, run: Run, seen: Evaluated | null): boolean {
  if (typeof value === 'string') return runChecks(checks.string, value, run, seen);
  if (typeof value === 'number') return runChecks(checks.number, value, run, seen);
  if (typeof value !== 'object' || value === null) return true;
  if (Array.isArray(value)) return runChecks(checks.array, value as readonly JsonValue[], run, seen);
  return runChecks(checks.object, value as JsonObject, run, seen);
}

function runChecks<T>(checks: readonly Check<T>[], value: T, run: Run, seen: Evaluated | null): boolean {
  let fits = true;
  for (const check of checks) {
    if (check(value, run, seen)) continue;
    if (isEnough(run)) return false;
    fits = false;
  }
  return fits;
}

/** Returns whether the first failure ends the evaluation: no errors are wanted, or there are enough. */
export function isEnough({ errors, work }: Run): boolean {
  return errors === null || errors.length >= schemaLimits.errorsMax || work.left < 0;
}
