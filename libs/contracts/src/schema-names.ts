import { alternativesOf, isNull, mapSubschemas, membersOf, type JsonSchema, type Place } from './json-schema.js';

/** The place of the parts that get names. */
export interface Naming {
  /** Adds a schema under a name, and returns a reference to it. */
  readonly define: (name: string, schema: JsonSchema) => JsonSchema;
  /** Also enumerations that are written once, even of one value. */
  readonly hasEnumerations: boolean;
}

/**
 * Returns the schema with every part defined that a generator would otherwise have to name by itself: objects with members and
 * unions. The name of a part is that of the whole and of the member.
 */
export function withNamedParts(schema: JsonSchema, name: string, naming: Naming): JsonSchema {
  return mapSubschemas(schema, (part, place) =>
    place.keyword === 'allOf'
      ? withNamedParts(part, name, naming)
      : asNamed(part, partName(name, part, place, alternativesOf(schema)), naming),
  );
}

/** Returns a reference to the schema if it needs a name, else the schema with its parts named. */
export function asNamed(schema: JsonSchema, name: string, naming: Naming): JsonSchema {
  const named = withNamedParts(schema, name, naming);
  return needsName(named, naming) ? naming.define(name, named) : named;
}

/** The words as one name, such as `ToolCallState`. */
export function nameOf(...words: readonly string[]): string {
  return words
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}

function needsName(schema: JsonSchema, { hasEnumerations }: Naming): boolean {
  const isUnion = alternativesOf(schema).filter((alternative) => !isNull(alternative)).length > 1;
  const values = Array.isArray(schema['enum']) ? schema['enum'] : [];
  return isUnion || (hasEnumerations && values.length > 0) || schema['properties'] !== undefined;
}

function partName(
  name: string,
  part: JsonSchema,
  { keyword, key }: Place,
  alternatives: readonly JsonSchema[],
): string {
  if (keyword === 'properties' || keyword === '$defs') return nameOf(name, String(key));
  if (keyword === 'items') return name.endsWith('s') ? name.slice(0, -1) : `${name}Item`;
  if (keyword === 'additionalProperties') return `${name}Value`;
  const isUnion = alternatives.filter((alternative) => !isNull(alternative)).length > 1;
  return isUnion ? nameOf(name, wordOf(part)) : name;
}

/** What tells an alternative from the others: the only value of its first member, or the name of that. */
function wordOf(alternative: JsonSchema): string {
  for (const member of Object.values(membersOf(alternative))) {
    const [value, ...more] = (member['enum'] ?? []) as readonly unknown[];
    if (typeof value === 'string' && more.length === 0) return value;
  }
  return Object.keys(membersOf(alternative))[0] ?? String(alternative['type']);
}
