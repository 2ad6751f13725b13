import { Validator } from '@cfworker/json-schema';
import type { Schema } from '@cfworker/json-schema';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { membersOf } from '@countersign/text';
import { isObject } from '../text/json-tree.js';

/** A text as the object that it writes, or why it writes none. */
export type Parsed =
  { readonly status: 'ok'; readonly value: JsonObject } | { readonly status: 'wrong'; readonly problem: string };

/** Arguments are an object. */
export function parseObject(text: string): Parsed {
  try {
    const value = JSON.parse(text) as JsonValue;
    if (isObject(value)) return { status: 'ok', value };
    return { status: 'wrong', problem: 'Arguments are a JSON object: { … }' };
  } catch (error) {
    return { status: 'wrong', problem: `Not JSON yet: ${error instanceof Error ? error.message : ''}` };
  }
}

/** Said of a parent when something below it is wrong: the words below it say more. */
const parents = new Set(['properties', 'items', 'allOf', 'anyOf', 'oneOf', '$ref', 'prefixItems']);

/**
 * What does not fit the tool's schema, by path. A help while one types: the server judges, also by the parts that are left
 * out here.
 */
export function schemaProblems(value: JsonObject, schema: JsonObject | null): string[] {
  if (schema === null) return [];
  try {
    const result = new Validator(withoutPatterns(schema) as Schema, '2020-12', false).validate(value);
    const told = result.errors.filter(({ keyword }) => !parents.has(keyword));
    const words = (told.length > 0 ? told : result.errors).map(
      ({ instanceLocation, error }) => `${instanceLocation.replace(/^#/, '') || 'the arguments'}: ${error}`,
    );
    return [...new Set(words)];
  } catch {
    // A schema that this validator cannot read: the server's can.
    return [];
  }
}

/** The attack: a schema comes from the agent, and a pattern of it could keep the browser busy for ever. */
function withoutPatterns(schema: JsonValue): JsonValue {
  if (typeof schema !== 'object' || schema === null) return schema;
  if (Array.isArray(schema)) return schema.map((one: JsonValue) => withoutPatterns(one));
  const kept = membersOf(schema, '').filter(
    ({ name, value }) =>
      !(['pattern', 'format'].includes(name) && typeof value === 'string') && name !== 'patternProperties',
  );
  return Object.fromEntries(kept.map(({ name, value }) => [name, withoutPatterns(value)]));
}
