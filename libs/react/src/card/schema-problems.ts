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

/** Reported for a parent of a wrong value. The message of the child is more precise. */
const parents = new Set(['properties', 'items', 'allOf', 'anyOf', 'oneOf', '$ref', 'prefixItems']);

/** The mask of a hidden value. The server puts the value back. */
const mask = /^\[masked( sha256:[0-9a-f]{16})?\]$/;

/**
 * Returns the violations of the tool's schema, by path, as a help while typing. The server decides, also with the parts
 * of the schema that are ignored here. A mask at a hidden path is valid: only the server knows the value.
 */
export function schemaProblems(value: JsonObject, schema: JsonObject | null, hidden: readonly string[]): string[] {
  if (schema === null) return [];
  try {
    const { errors } = new Validator(simplePartOf(schema) as Schema, '2020-12', false).validate(value);
    const own = errors.filter(({ keyword }) => !parents.has(keyword));
    const words = (own.length > 0 ? own : errors)
      .map(({ instanceLocation, error }) => ({ pointer: instanceLocation.replace(/^#/, ''), error }))
      .filter(({ pointer }) => !(hidden.includes(pointer) && isMask(valueAt(value, pointer))))
      .map(({ pointer, error }) => `${pointer || 'the arguments'}: ${error}`);
    return [...new Set(words)];
  } catch {
    // A schema that this validator cannot read: the server's can.
    return [];
  }
}

function isMask(value: JsonValue | undefined): boolean {
  return typeof value === 'string' && mask.test(value);
}

function valueAt(value: JsonValue, pointer: string): JsonValue | undefined {
  let at: JsonValue | undefined = value;
  for (const step of pointer.split('/').slice(1)) {
    if (typeof at !== 'object' || at === null) return undefined;
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~');
    at = (at as Readonly<Record<string, JsonValue>>)[name];
  }
  return at;
}

const types = /^(?:null|boolean|object|array|number|string|integer)$/;
const numeric = /^(?:multipleOf|m(?:in|ax)|exclusiveM)/;
const enumMax = 100;

/** Returns whether a keyword is well-formed, and its work grows with the size of the value alone. */
function isSimple(name: string, value: JsonValue, schema: JsonObject): boolean {
  const isSchema = isObject(value) || typeof value === 'boolean';
  switch (name) {
    case 'const':
      return true;
    case 'type':
      return [value].flat().every((one) => typeof one === 'string' && types.test(one));
    case 'enum':
      return Array.isArray(value) && value.length <= enumMax;
    case 'required':
      return Array.isArray(value);
    case 'properties':
      return isObject(value);
    case 'items':
      return isSchema && !('prefixItems' in schema);
    case 'additionalProperties':
      return isSchema && !('patternProperties' in schema);
    default:
      return typeof value === 'number' && numeric.test(name);
  }
}

/**
 * Attack: the agent writes the schema, and a pattern, a reference or a branch could block the browser. What cannot be
 * checked here, such as `nullable`, is right.
 */
function simplePartOf(schema: JsonValue): JsonValue {
  if (!isObject(schema)) return schema !== false;
  if (schema['nullable'] === true) return true;
  const kept = membersOf(schema, '').filter(({ name, value }) => isSimple(name, value, schema));
  return Object.fromEntries(kept.map(({ name, value }) => [name, simplePart(name, value)]));
}

function simplePart(name: string, value: JsonValue): JsonValue {
  if (name === 'items' || name === 'additionalProperties') return simplePartOf(value);
  if (name !== 'properties' || !isObject(value)) return value;
  return Object.fromEntries(membersOf(value, '').map((member) => [member.name, simplePartOf(member.value)]));
}
