import { describe, expect, it } from '@jest/globals';
import { parseBody } from '@countersign/contracts';
import type { JsonSchema } from '@countersign/contracts';
import { templateOf } from '../route.js';
import { allRoutes } from '../routes.js';
import { createOpenApiDocument } from './document.js';

const document = createOpenApiDocument();

interface Schema {
  readonly $ref?: string;
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
}

const resolved = (schema: JsonSchema): Schema => {
  const { $ref } = schema as Schema;
  if ($ref === undefined) return schema;
  return document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {};
};

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same value, with null in each described member that it lacks, at every level. */
function withNulls(value: unknown, schema: JsonSchema): unknown {
  const { properties, required = [], items } = resolved(schema);
  if (Array.isArray(value)) return items === undefined ? value : value.map((item) => withNulls(item, items));
  if (!isObject(value) || properties === undefined) return value;
  const inner = Object.entries(value).map(
    ([name, member]) => [name, withNulls(member, properties[name] ?? {})] as const,
  );
  const absent = Object.keys(properties).filter((name) => !required.includes(name) && !Object.hasOwn(value, name));
  return { ...Object.fromEntries(absent.map((name) => [name, null])), ...Object.fromEntries(inner) };
}

const nullsIn = (value: unknown): number => JSON.stringify(value).split(':null').length - 1;

const bodies = allRoutes.flatMap((route) => {
  const operation = document.paths[templateOf(route)]?.[route.method.toLowerCase()] as
    | {
        readonly requestBody?: { readonly content: Readonly<Record<string, { schema: JsonSchema; example: unknown }>> };
      }
    | undefined;
  const described = operation?.requestBody?.content['application/json'];
  return route.body === undefined || described === undefined ? [] : [{ id: route.id, body: route.body, ...described }];
});

describe('null in every optional member of a body', () => {
  it.each(bodies)('means absent in $id', ({ body, schema, example }) => {
    const nulled = withNulls(example, schema);
    const [expected, given] = [parseBody(body, example), parseBody(body, nulled)];
    expect(given.error?.issues ?? []).toEqual([]);
    expect(given.data).toEqual(expected.data);
  });

  it('is tried in many members of many bodies', () => {
    const tried = bodies.reduce(
      (sum, { schema, example }) => sum + nullsIn(withNulls(example, schema)) - nullsIn(example),
      0,
    );
    expect(bodies.length).toBeGreaterThan(15);
    expect(tried).toBeGreaterThan(25);
  });
});
