import type { JsonObject, JsonValue } from '@countersign/contracts';
import { canonicalForm } from '../canonical.js';

/** Whether a value fits a schema. `unsure`: only a part decides that is not compared. */
export type Fit = 'fits' | 'unfit' | 'unsure';

/** Beyond them a schema of a stranger is not compared. */
const [stepsMax, depthMax] = [50_000, 64];

/** One comparison. */
interface Look {
  readonly root: JsonObject;
  steps: number;
  readonly fit: (schema: JsonValue | undefined, value: JsonValue, depth: number) => Fit;
}

interface At {
  readonly schema: JsonObject;
  readonly depth: number;
  readonly look: Look;
}

/** What a keyword with its word says of a value. */
type Keyword = (word: JsonValue, value: JsonValue, at: At) => Fit;

/**
 * Compares a value with a JSON Schema, by the keywords that mean the same in each of its drafts. What it does not compare, and what is
 * not well-formed, makes it unsure, and never says that a value does not fit.
 */
export function fitOf(schema: JsonObject, value: JsonValue): Fit {
  const look: Look = {
    root: schema,
    steps: 0,
    fit: (part, one, depth) => {
      look.steps += 1;
      if (look.steps > stepsMax || depth > depthMax) return 'unsure';
      if (typeof part === 'boolean') return part ? 'fits' : 'unfit';
      if (Array.isArray(part)) return part.length === 0 ? 'fits' : 'unsure';
      return isObject(part) ? fitOfObject(part, one, { depth, look }) : 'unsure';
    },
  };
  return look.fit(schema, value, 0);
}

function fitOfObject(schema: JsonObject, value: JsonValue, { depth, look }: Omit<At, 'schema'>): Fit {
  if (value === null && schema['nullable'] === true) return 'fits';
  // A schema with an address of its own is where references inside of it begin.
  if (schema !== look.root && isAddressed(schema)) return 'unsure';
  const at = { schema, depth: depth + 1, look };
  const isReferenceAlone = '$ref' in schema && isBefore2019(look.root);
  const names = isReferenceAlone ? ['$ref'] : Object.keys(schema);
  return allOf(
    names.map((name) => {
      const keyword = keywords.get(name);
      if (keyword === undefined) return notCompared.has(name) ? 'unsure' : 'fits';
      return keyword(schema[name] ?? null, value, at);
    }),
  );
}

function allOf(fits: readonly Fit[]): Fit {
  if (fits.includes('unfit')) return 'unfit';
  return fits.includes('unsure') ? 'unsure' : 'fits';
}

function anyOf(fits: readonly Fit[]): Fit {
  if (fits.includes('fits')) return 'fits';
  return fits.includes('unsure') ? 'unsure' : 'unfit';
}

function oneOf(fits: readonly Fit[]): Fit {
  const count = fits.filter((one) => one === 'fits').length;
  if (count > 1) return 'unfit';
  return fits.includes('unsure') ? 'unsure' : count === 1 ? 'fits' : 'unfit';
}

const opposite = { fits: 'unfit', unfit: 'fits', unsure: 'unsure' } as const;

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isAddressed(schema: JsonObject): boolean {
  return ['$id', 'id', '$schema'].some((name) => typeof schema[name] === 'string');
}

function isBefore2019({ $schema }: JsonObject): boolean {
  return typeof $schema === 'string' && $schema.includes('/draft-0');
}

function when(holds: boolean): Fit {
  return holds ? 'fits' : 'unfit';
}

const typeNames = ['null', 'boolean', 'object', 'array', 'number', 'string', 'integer'];

function isOfType(value: JsonValue, name: JsonValue): boolean {
  if (name === 'integer') return Number.isInteger(value);
  if (value === null) return name === 'null';
  return (Array.isArray(value) ? 'array' : typeof value) === name;
}

const type: Keyword = (word, value) => {
  const names: readonly JsonValue[] = Array.isArray(word) ? word : [word];
  const isKnown = names.length > 0 && names.every((name) => typeof name === 'string' && typeNames.includes(name));
  return isKnown ? when(names.some((name) => isOfType(value, name))) : 'unsure';
};

function isEqual(one: JsonValue, other: JsonValue): boolean {
  return canonicalForm(one) === canonicalForm(other);
}

/** Parts of a keyword that is a list of schemas. */
function parts(combine: (fits: readonly Fit[]) => Fit): Keyword {
  return (word, value, { depth, look }) =>
    Array.isArray(word) && word.length > 0
      ? combine(word.map((part: JsonValue) => look.fit(part, value, depth)))
      : 'unsure';
}

/** A bound of a number, or of a length. Undefined: the keyword is not about such values. */
function bound(
  measure: (value: JsonValue) => number | undefined,
  holds: (size: number, limit: number) => boolean,
): Keyword {
  return (word, value) => {
    const size = measure(value);
    if (size === undefined) return 'fits';
    return typeof word === 'number' ? when(holds(size, word)) : 'unsure';
  };
}

const numeric = (value: JsonValue): number | undefined => (typeof value === 'number' ? value : undefined);
const letters = (value: JsonValue): number | undefined =>
  typeof value === 'string' ? Array.from(value).length : undefined;
const items = (value: JsonValue): number | undefined => (Array.isArray(value) ? value.length : undefined);
const members = (value: JsonValue): number | undefined => (isObject(value) ? Object.keys(value).length : undefined);
const atLeast = (size: number, limit: number): boolean => size >= limit;
const atMost = (size: number, limit: number): boolean => size <= limit;

const required: Keyword = (word, value) => {
  if (!isObject(value)) return 'fits';
  if (!Array.isArray(word)) return 'unsure';
  const names: readonly JsonValue[] = word;
  if (!names.every((name) => typeof name === 'string')) return 'unsure';
  return when(names.every((name) => Object.hasOwn(value, name)));
};

const properties: Keyword = (word, value, { depth, look }) => {
  if (!isObject(value)) return 'fits';
  if (!isObject(word)) return Array.isArray(word) && word.length === 0 ? 'fits' : 'unsure';
  const named = Object.keys(word).filter((name) => Object.hasOwn(value, name));
  return allOf(named.map((name) => look.fit(word[name], value[name] ?? null, depth)));
};

const additionalProperties: Keyword = (word, value, { schema, depth, look }) => {
  if (!isObject(value)) return 'fits';
  const known = isObject(schema['properties']) ? schema['properties'] : {};
  const more = Object.keys(value).filter((name) => !Object.hasOwn(known, name));
  if (more.length > 0 && 'patternProperties' in schema) return 'unsure';
  return allOf(more.map((name) => look.fit(word, value[name] ?? null, depth)));
};

const eachItem: Keyword = (word, value, { schema, depth, look }) => {
  if (!Array.isArray(value)) return 'fits';
  if (Array.isArray(word) || 'prefixItems' in schema) return 'unsure';
  return allOf(value.map((item: JsonValue) => look.fit(word, item, depth)));
};

const condition: Keyword = (word, value, { schema, depth, look }) => {
  const tested = look.fit(word, value, depth);
  if (tested === 'unsure') return tested;
  const name = tested === 'fits' ? 'then' : 'else';
  return name in schema ? look.fit(schema[name], value, depth) : 'fits';
};

const reference: Keyword = (word, value, { depth, look }) => {
  const target = typeof word === 'string' ? targetOf(word, look.root) : undefined;
  return target === undefined ? 'unsure' : look.fit(target, value, depth);
};

/** What a JSON pointer of the schema itself leads to; undefined: it leads elsewhere. */
function targetOf(ref: string, root: JsonObject): JsonValue | undefined {
  if (!/^#(?:\/[\w$.~/-]*)?$/.test(ref)) return undefined;
  let found: JsonValue | undefined = root;
  for (const step of ref.split('/').slice(1)) {
    const name = step.replaceAll('~1', '/').replaceAll('~0', '~');
    if (!isObject(found) || (found !== root && isAddressed(found)) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}

const keywords = new Map<string, Keyword>([
  ['$ref', reference],
  ['type', type],
  [
    'enum',
    (word, value) => (Array.isArray(word) ? when(word.some((one: JsonValue) => isEqual(one, value))) : 'unsure'),
  ],
  ['const', (word, value) => when(isEqual(word, value))],
  ['allOf', parts(allOf)],
  ['anyOf', parts(anyOf)],
  ['oneOf', parts(oneOf)],
  ['not', (word, value, { depth, look }) => opposite[look.fit(word, value, depth)]],
  ['if', condition],
  ['required', required],
  ['properties', properties],
  ['additionalProperties', additionalProperties],
  ['items', eachItem],
  ['minimum', bound(numeric, atLeast)],
  ['maximum', bound(numeric, atMost)],
  ['exclusiveMinimum', bound(numeric, (size, limit) => size > limit)],
  ['exclusiveMaximum', bound(numeric, (size, limit) => size < limit)],
  ['minLength', bound(letters, atLeast)],
  ['maxLength', bound(letters, atMost)],
  ['minItems', bound(items, atLeast)],
  ['maxItems', bound(items, atMost)],
  ['minProperties', bound(members, atLeast)],
  ['maxProperties', bound(members, atMost)],
]);

/** Keywords that say something about a value, and are left to the server. Others are words about the schema. */
const notCompared: ReadonlySet<string> = new Set([
  ...[
    'pattern',
    'format',
    'multipleOf',
    'uniqueItems',
    'contains',
    'prefixItems',
    'propertyNames',
    'patternProperties',
  ],
  ...['unevaluatedProperties', 'unevaluatedItems', 'dependentSchemas', 'dependentRequired', 'dependencies'],
  ...['$dynamicRef', '$recursiveRef'],
]);
