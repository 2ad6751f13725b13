import type { JsonValue } from '@countersign/contracts';
import type { CanonicalTexts } from './canonical.js';
import type { Evaluated } from './evaluated.js';
import { schemaLimits } from './limits.js';
import { pointerTo } from './references.js';
import type { Work } from './work.js';

/** One violation of a value, at a path such as `items.0.amount`. */
export interface SchemaError {
  readonly path: string;
  /** The same as a JSON pointer (RFC 6901). */
  readonly pointer: string;
  readonly message: string;
}

/** An earlier result of a schema for a value. */
export interface Remembered {
  readonly fits: boolean;
  readonly seen: Evaluated | null;
  readonly isDoubtful: boolean;
}

/** One evaluation of one value. */
export interface Run {
  readonly work: Work;
  /** True if the schema needs the evaluated parts. */
  readonly tracks: boolean;
  /** Null: only the verdict is wanted. */
  errors: SchemaError[] | null;
  readonly path: (string | number)[];
  /** By schema, then by value. */
  readonly remembered: Map<object, Map<JsonValue, Remembered>>;
  readonly texts: CanonicalTexts;
  depth: number;
  /** A part that cannot be checked took part in the result: a fit may be none. A misfit is always one. */
  isDoubtful: boolean;
}

/** An evaluation with the budget `work`. */
export function createRun(work: Work, tracks: boolean, errors: SchemaError[] | null): Run {
  return { work, tracks, errors, path: [], remembered: new Map(), texts: new Map(), depth: 0, isDoubtful: false };
}

/** Records an error if the caller wants errors. */
export function fail(run: Run, message: () => string): false {
  if (run.errors !== null && run.errors.length < schemaLimits.errorsMax) {
    const names = run.path.map((part) => shortened(String(part)));
    run.errors.push({ path: names.join('.'), pointer: pointerTo('', ...names), message: message() });
  }
  return false;
}

/** A name of a stranger as an error repeats it. */
export function shortened(text: string, charsMax = 200): string {
  return text.length > charsMax ? `${text.slice(0, charsMax).toWellFormed()}…` : text;
}
