import type { JsonObject, JsonValue } from '@countersign/contracts';
import type { Pattern } from './patterns.js';
import type { SchemaNode } from './schema-node.js';

/**
 * `2020-12` and `draft-07` as in `$schema`. `unnamed`: 2020-12, plus draft-07's keywords that 2020-12 lacks (a list in
 * `items`, `dependencies`), since many tools do not name their dialect.
 */
export type Dialect = '2020-12' | 'draft-07' | 'unnamed';

/** The context of a keyword. */
export interface KeywordPlace {
  readonly node: SchemaNode;
  readonly schema: JsonObject;
  readonly dialect: Dialect;
  readonly assertsFormats: boolean;
  /** The sub-schema that a value of this keyword is, at `path` below the schema. */
  readonly subschema: (value: JsonValue, ...path: readonly (string | number)[]) => SchemaNode;
  /** The sub-schemas by name that the value of this keyword is. */
  readonly subschemas: (value: JsonValue, keyword: string) => readonly (readonly [string, SchemaNode])[];
  /** Reports why the schema cannot be used. */
  readonly refuse: (reason: string, ...path: readonly (string | number)[]) => void;
  readonly pattern: (text: JsonValue, ...path: readonly (string | number)[]) => Pattern | undefined;
  /** Resolves a `$ref` once all schemas are known. */
  readonly reference: (ref: JsonValue, use: (target: SchemaNode) => void) => void;
  /** Requests that evaluated parts are recorded. */
  readonly track: () => void;
}

/** Compiles one keyword of a schema. */
export type Keyword = (value: JsonValue, place: KeywordPlace, keyword: string) => void;

/** Returns whether a value is a JSON object. */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The list that a keyword's value is; undefined, and refused, when it is none. */
export function listOf(value: JsonValue, place: KeywordPlace, keyword: string): readonly JsonValue[] | undefined {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  place.refuse('must be a list', keyword);
  return undefined;
}

/** The different names that a keyword's value lists; undefined, and refused, when it is none. */
export function namesOf(
  value: JsonValue,
  place: KeywordPlace,
  ...path: readonly (string | number)[]
): readonly string[] | undefined {
  if (Array.isArray(value) && value.every((name) => typeof name === 'string')) return [...new Set(value)];
  place.refuse('must be a list of names', ...path);
  return undefined;
}
