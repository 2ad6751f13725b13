import type { JsonSchema } from '@countersign/contracts';

/** A limit of a member of a body. */
export interface Bound {
  /** As the errors of a refusal name the member. */
  readonly path: string;
  /** A keyword of the schema and its value. */
  readonly limit: string;
  /** A body with a value at the limit. */
  readonly at: unknown;
  /** A body with a value beyond it. */
  readonly beyond: unknown;
}

interface Place {
  readonly path: string;
  /** The body with this value at the place. */
  readonly put: (value: unknown) => unknown;
  /** What the example of the body has there. */
  readonly example: unknown;
}

type Schemas = Readonly<Record<string, JsonSchema>>;
type Members = Readonly<Record<string, JsonSchema>>;

/** The limits of all members of a body, also of those that its example leaves out. */
export function boundsOf(schema: JsonSchema, example: unknown, schemas: Schemas): readonly Bound[] {
  const resolve = (given: JsonSchema): JsonSchema => {
    const { $ref } = given;
    return typeof $ref === 'string' ? resolve(schemas[$ref.split('/').at(-1) ?? ''] ?? {}) : given;
  };
  const sample = (given: JsonSchema): unknown => sampleOf(resolve(given), resolve, sample);
  const walk = (given: JsonSchema, place: Place): readonly Bound[] => {
    const one = resolve(given);
    return [...limitsAt(one, place, sample), ...below(one, place)];
  };
  const below = (one: JsonSchema, place: Place): readonly Bound[] => {
    const branches = [...listOf(one, 'oneOf'), ...listOf(one, 'anyOf')].map(resolve);
    const container = isObject(place.example) ? place.example : (sample(one) as object);
    const at = (name: string, value: unknown): unknown => place.put({ ...container, [name]: value });
    const members = Object.entries((one['properties'] ?? {}) as Members);
    const { items, additionalProperties: others } = one as Readonly<Record<string, JsonSchema | undefined>>;
    const [first] = Array.isArray(place.example) ? (place.example as readonly unknown[]) : [];
    return [
      ...listOf(one, 'allOf').flatMap((part) => walk(part, place)),
      ...branches.flatMap((branch) => walk(branch, { ...place, example: fitting(branch, place.example) })),
      ...members.flatMap(([name, member]) =>
        walk(member, {
          path: place.path === '' ? name : `${place.path}.${name}`,
          put: (value) => at(name, value),
          example: (container as Record<string, unknown>)[name],
        }),
      ),
      ...(isObject(items)
        ? walk(items, { path: `${place.path}.0`, put: (value) => place.put([value]), example: first })
        : []),
      ...(isObject(others)
        ? walk(others, { path: `${place.path}.name`, put: (value) => at('name', value), example: undefined })
        : []),
    ];
  };
  return walk(schema, { path: '', put: (value) => value, example });
}

/** The example, if it is of this branch: all its members are, with the words that they may have. */
function fitting(branch: JsonSchema, example: unknown): unknown {
  if (!isObject(example)) return undefined;
  const members = (branch['properties'] ?? {}) as Members;
  const isKnown = Object.keys(example).every((name) => Object.hasOwn(members, name));
  const isOther = Object.entries(members).some(
    ([name, { enum: words }]) => Array.isArray(words) && !words.includes(example[name]),
  );
  return isKnown && !isOther ? example : undefined;
}

function limitsAt(schema: JsonSchema, { path, put }: Place, sample: (schema: JsonSchema) => unknown): readonly Bound[] {
  const bound = (keyword: string, make: (count: number) => unknown, step: 1 | -1): readonly Bound[] => {
    const limit = schema[keyword];
    if (typeof limit !== 'number') return [];
    const named = { path, limit: `${keyword} ${limit}` };
    return [{ ...named, at: put(make(limit)), beyond: put(make(limit + step)) }];
  };
  const numbers = (value: number): number => value;
  const items = (count: number): readonly unknown[] =>
    Array.from({ length: count }, (_, index) => numbered(sample(schema['items'] as JsonSchema), index));
  const members = (count: number): object =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`name-${index}`, 'x']));
  const names = schema['propertyNames'] as Readonly<Record<string, number>> | undefined;
  const others = schema['additionalProperties'];
  const value = isObject(others) ? sample(others) : 'x';
  return [
    ...bound('maxLength', (count) => textOf(schema, path, count), 1),
    ...bound('minLength', (count) => textOf(schema, path, count), -1),
    ...[...bound('maximum', numbers, 1), ...bound('minimum', numbers, -1)],
    ...[...bound('maxItems', items, 1), ...bound('minItems', items, -1)],
    ...bound('maxProperties', members, 1),
    ...patternAt(schema, { path, put }),
    ...(names?.['maxLength'] === undefined
      ? []
      : limitsAt(names, { path, put: (name) => put({ [String(name)]: value }), example: undefined }, sample)),
  ];
}

/** Calls of one request have ids of their own. */
function numbered(item: unknown, index: number): unknown {
  return isObject(item) ? { ...item, toolCallId: `call-${index}` } : item;
}

const texts = ['text', 'A'.repeat(22), `sha256:${'0'.repeat(64)}`, `tc_${'a'.repeat(26)}`];
const oddTexts = [' '.repeat(30), 'a\u0000b', 'not this!'];

function patternAt(schema: JsonSchema, { path, put }: Omit<Place, 'example'>): readonly Bound[] {
  const { pattern } = schema;
  if (typeof pattern !== 'string') return [];
  const odd = oddTexts.find((text) => !allowsOf(schema)(text));
  return [{ path, limit: `pattern ${pattern}`, at: put(texts.find(allowsOf(schema))), beyond: put(odd) }];
}

function allowsOf({ pattern, minLength = 0 }: JsonSchema): (text: string) => boolean {
  return (text) =>
    text.length >= Number(minLength) && (typeof pattern !== 'string' || new RegExp(pattern, 'u').test(text));
}

/** A text of so many characters, outside the first plane where the pattern lets them be. An expression is a text with a grammar. */
function textOf({ pattern }: JsonSchema, path: string, count: number): string {
  if (path.endsWith('.when')) return 'true'.padEnd(count).slice(0, count);
  const isAllowed = allowsOf({ pattern });
  return ['😀', 'a'].map((character) => character.repeat(count)).find(isAllowed) ?? 'a'.repeat(count);
}

function sampleOf(
  schema: JsonSchema,
  resolve: (schema: JsonSchema) => JsonSchema,
  sample: (schema: JsonSchema) => unknown,
): unknown {
  const [example] = listOf(schema, 'examples');
  if (example !== undefined) return example;
  const [branch] = [...listOf(schema, 'oneOf'), ...listOf(schema, 'anyOf')];
  if (branch !== undefined) return sample(branch);
  const parts = listOf(schema, 'allOf').map(resolve);
  if (parts.length > 0) return Object.assign({}, ...parts.map(sample)) as unknown;
  const [word] = listOf(schema, 'enum');
  if (word !== undefined) return word;
  switch ([schema['type']].flat()[0]) {
    case 'string':
      return texts.find(allowsOf(schema));
    case 'integer':
    case 'number':
      return schema['minimum'] ?? 1;
    case 'boolean':
      return true;
    case 'array':
      return [];
    default: {
      const required = (schema['required'] ?? []) as readonly string[];
      const members = (schema['properties'] ?? {}) as Members;
      return Object.fromEntries(required.map((name) => [name, sample(members[name] ?? {})]));
    }
  }
}

function listOf(schema: JsonSchema, keyword: string): readonly JsonSchema[] {
  const list = schema[keyword];
  return Array.isArray(list) ? (list as readonly JsonSchema[]) : [];
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
