import type { JsonObject, JsonValue } from '@countersign/contracts';
import { membersOf } from '@countersign/text';
import { isObject } from '../../text/json-tree.js';

/** A part of a schema, and the schema that its references point into. */
export interface Part {
  readonly schema: JsonValue;
  readonly root: JsonObject | null;
}

/** What a form uses of a schema. What it says beyond is checked, and not shown. */
export interface Shape {
  readonly title: string;
  readonly hint: string;
  readonly kind: 'text' | 'number' | 'boolean' | 'choice' | 'group' | 'list' | undefined;
  readonly isNullable: boolean;
  readonly choices: readonly JsonValue[] | undefined;
  readonly properties: ReadonlyMap<string, Part>;
  /** The names of properties beyond those. */
  readonly cutNames: readonly string[];
  readonly required: ReadonlySet<string>;
  readonly items: Part;
  /** The schema of members that are not named. */
  readonly others: Part;
}

const choicesMax = 100;
const propertiesMax = 200;
const referencesMax = 8;
const wordsMax = 300;

const kinds: Readonly<Record<string, Shape['kind']>> = {
  string: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  object: 'group',
  array: 'list',
};

/** Attack: the agent writes the schema. Each part is read once, for one value, and with bounds. */
export function shapeOf(part: Part): Shape {
  const { schema: given, isNullable: isOptional } = resolved(part);
  const schema = isObject(given) ? given : {};
  const child = (schemaOfChild: JsonValue | undefined): Part => ({ schema: schemaOfChild ?? true, root: part.root });
  const types = typesOf(schema);
  const choices = choicesOf(schema);
  const named = membersOf(schema['properties'] ?? null, '');
  const properties = named.slice(0, propertiesMax);
  const required = Array.isArray(schema['required']) ? (schema['required'] as readonly JsonValue[]) : [];
  return {
    title: words(schema['title']),
    hint: words(schema['description']),
    kind: choices === undefined ? kindOf(types, properties.length > 0) : 'choice',
    isNullable: isOptional || types.includes('null') || schema['nullable'] === true,
    choices,
    properties: new Map(properties.map(({ name, value }) => [name, child(value)])),
    cutNames: named.slice(propertiesMax).map(({ name }) => name),
    required: new Set(required.filter((name) => typeof name === 'string')),
    items: child(schema['items']),
    others: child(schema['additionalProperties']),
  };
}

function typesOf(schema: JsonObject): readonly string[] {
  return [schema['type'] ?? []].flat().filter((one) => typeof one === 'string');
}

/** The kind of the one type that is not null. A schema with properties alone is that of an object. */
function kindOf(types: readonly string[], hasProperties: boolean): Shape['kind'] {
  const [type = hasProperties ? 'object' : '', ...more] = types.filter((one) => one !== 'null');
  return more.length === 0 && Object.hasOwn(kinds, type) ? kinds[type] : undefined;
}

function words(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value.slice(0, wordsMax) : '';
}

function choicesOf(schema: JsonObject): readonly JsonValue[] | undefined {
  const { const: only, enum: all } = schema;
  const choices = only === undefined ? all : [only];
  if (!Array.isArray(choices) || choices.length === 0 || choices.length > choicesMax) return undefined;
  const plain = choices as readonly JsonValue[];
  return plain.every((one) => typeof one !== 'object' || one === null) ? plain : undefined;
}

/** Follows references within the schema, and "this or null", which generators write as `anyOf`. Each is a step. */
function resolved({ schema, root }: Part): { readonly schema: JsonValue; readonly isNullable: boolean } {
  let [at, isNullable] = [schema, false];
  for (let step = 0; step < referencesMax && isObject(at); step += 1) {
    const target = at['$ref'];
    const others = orNull(at);
    if (typeof target === 'string') at = { ...targetOf(root, target), ...without(at, '$ref') };
    else if (others !== undefined) {
      isNullable = true;
      at = isObject(others) ? { ...others, ...without(at, 'anyOf', 'oneOf') } : others;
    } else return { schema: at, isNullable };
  }
  return { schema: true, isNullable };
}

function without(schema: JsonObject, ...names: readonly string[]): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)));
}

function targetOf(root: JsonObject | null, reference: string): JsonObject {
  if (!reference.startsWith('#/')) return {};
  let at: JsonValue | undefined = root ?? undefined;
  for (const name of reference.slice(2).split('/', 16)) {
    const member: string = name.replaceAll('~1', '/').replaceAll('~0', '~');
    at = at !== undefined && isObject(at) && Object.hasOwn(at, member) ? at[member] : undefined;
  }
  return at !== undefined && isObject(at) ? at : {};
}

function orNull(schema: JsonObject): JsonValue | undefined {
  const branches = schema['anyOf'] ?? schema['oneOf'];
  if (!Array.isArray(branches) || branches.length !== 2) return undefined;
  const isNull = (one: JsonValue): boolean => isObject(one) && one['type'] === 'null';
  const others = (branches as readonly JsonValue[]).filter((one) => !isNull(one));
  return others.length === 1 ? others[0] : undefined;
}
