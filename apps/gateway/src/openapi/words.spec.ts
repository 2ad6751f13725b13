import { describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@countersign/contracts';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { componentWords } from './component-words.js';
import { isDescribed } from './described.js';
import { createOpenApiDocument } from './document.js';
import { memberWords } from './member-words.js';

const document = createOpenApiDocument();
const { schemas, responses } = document.components;
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ name: `${method} ${path}`, operation })),
);
const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);
ajv.addSchema({ $id: 'openapi', ...document });

interface Media {
  readonly schema: JsonSchema;
  readonly example?: unknown;
}
type Body = JsonSchema & { readonly content?: Readonly<Record<string, Media>> };

/** Each body of the operation, and the name of the place. */
function bodiesOf({ name, operation }: (typeof operations)[number]): readonly (readonly [string, Media])[] {
  const all: Readonly<Record<string, Body>> = {
    ...(operation['responses'] as Readonly<Record<string, Body>>),
    ...(operation['requestBody'] === undefined ? {} : { request: operation['requestBody'] as Body }),
  };
  return Object.entries(all).flatMap(([place, body]) => {
    const shared = responses[String(body['$ref']).replace('#/components/responses/', '')];
    return Object.entries((shared ?? body).content ?? {}).map(
      ([type, media]) => [`${name} ${place} ${type}`, media] as const,
    );
  });
}

/** The violations of an example. References of the document are those of the schema that ajv knows. */
function problemsOf([place, { schema, example }]: readonly [string, Media]): readonly string[] {
  if (example === undefined) return [`${place}: no example`];
  const own = JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"openapi#/')) as JsonSchema;
  if (ajv.validate(own, example)) return [];
  return ajv.errors?.map(({ instancePath, message = '' }) => `${place}${instancePath}: ${message}`) ?? [];
}

describe('the OpenAPI document', () => {
  it('has an example of each request and response, valid against its schema', () => {
    expect(operations.flatMap(bodiesOf).flatMap(problemsOf)).toEqual([]);
  });

  it('describes each component and each of its members', () => {
    const missing = Object.entries(schemas).flatMap(([name, schema]) => {
      const parts = [schema, ...((schema['allOf'] ?? []) as readonly JsonSchema[])];
      const members = parts.flatMap((part) => Object.entries((part['properties'] ?? {}) as Record<string, JsonSchema>));
      const bare = members.filter(([, member]) => !isDescribed(member, schemas));
      return [...(schema['description'] === undefined ? [name] : []), ...bare.map(([member]) => `${name}.${member}`)];
    });
    expect(missing).toEqual([]);
  });

  it('describes each operation and each parameter', () => {
    const missing = operations.flatMap(({ name, operation }) => [
      ...(operation['description'] === undefined || operation['summary'] === undefined ? [name] : []),
      ...(operation['parameters'] as readonly JsonSchema[])
        .filter(({ description }) => description === undefined)
        .map((parameter) => `${name} ${String(parameter['name'])}`),
    ]);
    expect(missing).toEqual([]);
  });

  it('has no words for what there is not', () => {
    const members = new Set<string>(operations.flatMap(({ operation }) => namesOf(operation['parameters'])));
    for (const [name, schema] of Object.entries(schemas))
      for (const part of [schema, ...((schema['allOf'] ?? []) as readonly JsonSchema[])])
        for (const member of Object.keys(part['properties'] ?? {})) {
          const own = /^OversightReport(Others|Row|Total)$/.test(name) ? 'OversightFigures' : name;
          members.add(member).add(`${own}.${member}`);
        }
    expect(Object.keys(memberWords).filter((name) => !members.has(name))).toEqual([]);
    expect(Object.keys(componentWords).filter((name) => schemas[name] === undefined)).toEqual([]);
  });
});

function namesOf(parameters: unknown): readonly string[] {
  return (parameters as readonly { readonly name: string }[]).map(({ name }) => name);
}
