import { describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@countersign/contracts';
import type { z } from 'zod';
import { templateOf } from '../route.js';
import type { Route } from '../route.js';
import { allRoutes } from '../routes.js';
import { createOpenApiDocument } from './document.js';
import { exampleOf } from './examples.js';

const document = createOpenApiDocument();
const { schemas } = document.components;

/** A member of a request with bounds, by its path. */
interface Bounded {
  readonly path: readonly (string | number)[];
  readonly schema: JsonSchema;
}

function resolved(schema: JsonSchema): JsonSchema {
  const [only] = (schema['allOf'] ?? []) as readonly JsonSchema[];
  const reference = schema['$ref'] ?? only?.['$ref'];
  return typeof reference === 'string' ? (schemas[reference.split('/').at(-1) ?? ''] ?? {}) : schema;
}

/** The members of a schema that have bounds. Of alternatives, those of the first one. */
function boundedIn(given: JsonSchema, path: Bounded['path'] = []): readonly Bounded[] {
  const schema = resolved(given);
  const [first] = (schema['oneOf'] ?? schema['anyOf'] ?? []) as readonly JsonSchema[];
  if (first !== undefined) return boundedIn(first, path);
  const properties = Object.entries((schema['properties'] ?? {}) as Record<string, JsonSchema>);
  return [
    { path, schema },
    ...properties.flatMap(([name, member]) => boundedIn(member, [...path, name])),
    ...(schema['items'] === undefined ? [] : boundedIn(schema['items'] as JsonSchema, [...path, 0])),
  ];
}

/** Values just within and just beyond each bound of a member. */
function edgesOf({ schema }: Bounded): readonly { bound: string; within: unknown; beyond: unknown }[] {
  const { maxLength, maximum, minimum, maxItems, maxProperties, pattern } = schema as Readonly<
    Record<string, number | undefined>
  >;
  const text = (length: number): string => 'a'.repeat(length);
  return [
    ...(maxLength === undefined || pattern?.toString().includes('label') === true
      ? []
      : [{ bound: 'maxLength', within: text(maxLength), beyond: text(maxLength + 1) }]),
    ...(maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
      ? []
      : [{ bound: 'maximum', within: maximum, beyond: maximum + 1 }]),
    ...(minimum === undefined ? [] : [{ bound: 'minimum', within: minimum, beyond: minimum - 1 }]),
    ...(maxProperties === undefined
      ? []
      : [{ bound: 'maxProperties', within: namesUpTo(maxProperties), beyond: namesUpTo(maxProperties + 1) }]),
    ...(maxItems === undefined
      ? []
      : [{ bound: 'maxItems', within: undefined, beyond: itemsOf(schema, maxItems + 1) }]),
  ];
}

function namesUpTo(count: number): JsonSchema {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`name${String(index)}`, 'a']));
}

function itemsOf(schema: JsonSchema, count: number): readonly unknown[] {
  return Array.from({ length: count }, () => exampleOf(schema['items'] as JsonSchema, schemas));
}

/** A copy of the value with another one at the path; missing objects and lists are made. */
function withAt(value: unknown, [key, ...rest]: Bounded['path'], other: unknown): unknown {
  if (key === undefined) return other;
  if (typeof key === 'number') return [withAt((value as readonly unknown[] | undefined)?.[0], rest, other)];
  const object = (value ?? {}) as Readonly<Record<string, unknown>>;
  return { ...object, [key]: withAt(object[key], rest, other) };
}

/** The paths at which a schema refuses a value. */
const refusedBy = (schema: z.ZodType, value: unknown): readonly string[] =>
  schema.safeParse(value).error?.issues.map(({ path }) => path.join('.')) ?? [];

const withBody = allRoutes.filter((route): route is Route & { body: z.ZodType } => route.body !== undefined);

describe('a bound that the document declares is the one that the server enforces', () => {
  it.each(withBody)('in the body of $method $path', (route) => {
    const operation = document.paths[templateOf(route)]?.[route.method.toLowerCase()] as {
      requestBody: { content: { 'application/json': { schema: JsonSchema; example: unknown } } };
    };
    const { schema, example } = operation.requestBody.content['application/json'];
    for (const bounded of boundedIn(schema)) {
      const at = bounded.path.join('.');
      for (const { bound, within, beyond } of edgesOf(bounded)) {
        const isRefused = (value: unknown): boolean =>
          refusedBy(route.body, withAt(example, bounded.path, value)).includes(at);
        expect([at, bound, isRefused(beyond)]).toEqual([at, bound, true]);
        if (within !== undefined) expect([at, bound, isRefused(within)]).toEqual([at, bound, false]);
      }
    }
  });

  it.each(allRoutes.filter(({ query }) => query !== undefined))('in the query of $method $path', (route) => {
    const operation = document.paths[templateOf(route)]?.[route.method.toLowerCase()] as {
      parameters: readonly { name: string; in: string; schema: JsonSchema }[];
    };
    for (const { name, in: place, schema } of operation.parameters.filter((parameter) => parameter.in === 'query')) {
      for (const { bound, within, beyond } of edgesOf({ path: [], schema: resolved(schema) })) {
        const isRefused = (value: unknown): boolean =>
          refusedBy(route.query as z.ZodType, { [name]: String(value) }).length > 0;
        expect([place, name, bound, isRefused(beyond)]).toEqual([place, name, bound, true]);
        if (within !== undefined) expect([name, bound, isRefused(within)]).toEqual([name, bound, false]);
      }
    }
  });
});
