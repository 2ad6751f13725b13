import type { JsonValue } from '@countersign/contracts';
import { evaluate } from './evaluate.js';
import { nothingEvaluated } from './evaluated.js';
import type { PreparedSchema } from './prepared-schema.js';
import { createRun } from './run.js';
import type { SchemaError } from './run.js';
import { createWork } from './work.js';
import type { Work } from './work.js';

/** The result of a schema for a value. */
export type CheckResult =
  | { readonly status: 'valid' }
  /** The first errors only. */
  | { readonly status: 'invalid'; readonly errors: readonly SchemaError[] }
  /** The work was used up before there was a verdict. */
  | { readonly status: 'over-budget' };

const valid: CheckResult = { status: 'valid' };

/** The step budget for finding the errors of a value that is known not to fit. */
const errorStepsMax = 50_000;

/** Returns whether a value fits a schema. Every step is counted in `work`. */
export function checkValue({ root, tracks }: PreparedSchema, value: JsonValue, work: Work = createWork()): CheckResult {
  const fits = evaluate(root, value, createRun(work, tracks, null), tracks ? nothingEvaluated() : null);
  if (work.left < 0) return { status: 'over-budget' };
  return fits ? valid : { status: 'invalid', errors: errorsOf(root, value, tracks, work) };
}

function errorsOf(root: PreparedSchema['root'], value: JsonValue, tracks: boolean, work: Work): readonly SchemaError[] {
  const errors: SchemaError[] = [];
  const steps = Math.min(errorStepsMax, work.left);
  const errorWork = createWork(steps);
  evaluate(root, value, createRun(errorWork, tracks, errors), null);
  work.left -= steps - Math.max(0, errorWork.left);
  return errors.length > 0 ? errors : [{ path: '', pointer: '', message: 'does not fit the schema' }];
}
