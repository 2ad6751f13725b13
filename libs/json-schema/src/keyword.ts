import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { Pattern } from './patterns.js';
import type { SchemaNode } from './schema-node.js';
import type { Work } from './work.js';

/**
 * A dialect as in `$schema`. `unnamed`: 2020-12, plus draft-07's keywords that 2020-12 lacks (`dependencies`), since many
 * tools do not name their dialect.
 */
export type Dialect = '2020-12' | '2019-09' | 'draft-07' | 'draft-06' | 'draft-04' | 'unnamed';

/** Returns whether a schema with a reference is nothing but the reference, and its ids may be anchors. */
export function isBefore2019(dialect: Dialect): boolean {
  return dialect.startsWith('draft-');
}

/** The context of a keyword. */
export interface KeywordPlace {
  readonly node: SchemaNode;
  readonly schema: JsonObject;
  readonly dialect: Dialect;
  readonly assertsFormats: boolean;
  readonly work: Work;
  /** The sub-schema that a value of this keyword is, at `path` below the schema. */
  readonly subschema: (value: JsonValue, ...path: readonly (string | number)[]) => SchemaNode;
  /** The sub-schemas by name that the value of this keyword is. */
  readonly subschemas: (value: JsonValue, ...path: readonly string[]) => readonly (readonly [string, SchemaNode])[];
  /** Notes why a keyword cannot be checked. */
  readonly note: (why: string, ...path: readonly (string | number)[]) => void;
  readonly pattern: (text: JsonValue, ...path: readonly (string | number)[]) => Pattern | undefined;
  /**
   * Resolves a reference once all schemas are known.
   * @param mayBe is called with what it may lead to, where this depends on the schemas around.
   */
  readonly reference: (
    ref: JsonValue,
    keyword: string,
    use: (target: SchemaNode) => void,
    mayBe: (targets: readonly SchemaNode[]) => void,
  ) => void;
  /** Requests that evaluated parts are recorded. */
  readonly track: () => void;
}

/** Compiles one keyword of a schema. */
export type Keyword = (value: JsonValue, place: KeywordPlace, keyword: string) => void;

/** Returns whether a value is a JSON object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns whether a value is an empty list, as PHP writes an empty object. */
export function isEmptyList(value: JsonValue): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** The list that a keyword's value is; undefined, and noted, when it is none. */
export function listOf(value: JsonValue, place: KeywordPlace, keyword: string): readonly JsonValue[] | undefined {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  place.note('must be a list', keyword);
  return undefined;
}

/** The different names that a keyword's value lists; undefined, and noted, when it is none. */
export function namesOf(
  value: JsonValue,
  place: KeywordPlace,
  ...path: readonly (string | number)[]
): readonly string[] | undefined {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return [...new Set(value)];
  place.note('must be a list of names', ...path);
  return undefined;
}
