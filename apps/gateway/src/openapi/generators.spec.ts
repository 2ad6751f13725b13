import { describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@countersign/contracts';
import { createOpenApiDocument } from './document.js';

const document = createOpenApiDocument();

/** A schema of the document, and where it is. */
interface Found {
  readonly path: string;
  readonly schema: JsonSchema;
}

const isObject = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null;
/** Values, and conditions, which generators do not read. */
const values = new Set(['enum', 'example', 'examples', 'default', 'mapping', 'required', 'if', 'then']);

/** Every object of the document that is a schema or may be one. */
function partsOf(value: unknown, path = ''): readonly Found[] {
  if (!isObject(value)) return [];
  const inner = Object.entries(value).flatMap(([name, child]) =>
    values.has(name) && !path.endsWith('/properties') ? [] : partsOf(child, `${path}/${name}`),
  );
  const isByName = Array.isArray(value) || path.endsWith('/properties') || path.endsWith('/schemas');
  return isByName ? inner : [{ path, schema: value }, ...inner];
}

const parts = partsOf(document);
const isComponent = ({ path }: Found): boolean => /^\/components\/schemas\/[^/]+$/.test(path);
const optionsOf = ({ anyOf, oneOf }: JsonSchema): readonly JsonSchema[] =>
  ((anyOf ?? oneOf ?? []) as readonly JsonSchema[]).filter(({ type }) => type !== 'null');

interface Members {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
}

/** Null, or a component, a map, a list or one of some values. */
function mayBeNullAndMore({ anyOf, type, enum: values, additionalProperties }: JsonSchema): boolean {
  const types = JSON.stringify(anyOf ?? type ?? '');
  const isMore = [anyOf, values, additionalProperties].some((one) => one !== undefined) || types.includes('"array"');
  return types.includes('"null"') && isMore;
}

type Answers = Readonly<Record<string, { readonly content?: JsonSchema }>>;
const withoutExamples = (name: string, value: unknown): unknown => (name === 'example' ? undefined : value);

describe('for generators of clients, the OpenAPI document', () => {
  it('names each object and union', () => {
    const unnamed = parts.filter(
      (part) =>
        !isComponent(part) &&
        !/\/(allOf\/1|not)$/.test(part.path) &&
        (part.schema['properties'] !== undefined || optionsOf(part.schema).length > 1),
    );
    expect(unnamed.map(({ path }) => path)).toEqual([]);
  });

  it('has one success answer for each operation: clients take the first one that they find for any other', () => {
    const twice = Object.values(document.paths).flatMap((path) =>
      Object.values(path).flatMap(({ operationId, responses }) => {
        const successes = Object.entries(responses as Answers).filter(([status]) => status.startsWith('2'));
        const schemas = successes.map(([, { content }]) => JSON.stringify(content, withoutExamples));
        return new Set(schemas).size > 1 ? [operationId] : [];
      }),
    );
    expect(twice).toEqual([]);
  });

  it('names nothing as the generator for Go names the constructor of something else', () => {
    const names = Object.keys(document.components.schemas);
    expect(names.filter((name) => names.includes(name.replace(/^New/, '')) && name.startsWith('New'))).toEqual([]);
  });

  it('names each enumeration that is used twice, but the codes of problems', () => {
    const counts = new Map<string, string[]>();
    for (const { path, schema } of parts) {
      const values = (schema['enum'] ?? []) as readonly unknown[];
      if (values.length < 2 || path.endsWith('/code') || path.includes('/not')) continue;
      const text = JSON.stringify(values);
      counts.set(text, [...(counts.get(text) ?? []), path]);
    }
    const twice = [...counts.values()].filter((paths) => paths.length > 1).flat();
    expect(twice.filter((path) => !path.startsWith('/components/schemas/') || path.split('/').length > 4)).toEqual([]);
  });

  it('has no `const`, and no member next to a `$ref`', () => {
    const hard = parts.filter(
      ({ schema }) => 'const' in schema || ('$ref' in schema && Object.keys(schema).length > 1),
    );
    expect(hard.map(({ path }) => path)).toEqual([]);
  });

  it('describes no member in place whose component has a condition: the generator for Java would give it no type', () => {
    const conditional = new Set(
      Object.entries(document.components.schemas).flatMap(([name, schema]) => ('if' in schema ? [name] : [])),
    );
    const untyped = parts.filter(({ schema }) => {
      const [only, ...others] = (schema['allOf'] ?? []) as readonly JsonSchema[];
      const name = String(only?.['$ref']).replace('#/components/schemas/', '');
      return others.length === 0 && conditional.has(name);
    });
    expect(untyped.map(({ path }) => path)).toEqual([]);
  });

  it('has no object or list as a default: the generator for Python would leave out the operations with that member', () => {
    const hard = parts.filter(
      ({ path, schema }) => typeof schema['default'] === 'object' && !path.endsWith('responses'),
    );
    expect(hard.map(({ path }) => path)).toEqual([]);
  });

  it('allows null only next to something else', () => {
    const bare = parts.filter(({ path, schema }) => schema['type'] === 'null' && !/\/anyOf\/1$/.test(path));
    expect(bare.map(({ path }) => path)).toEqual([]);
  });

  it('has null in a required member only where it is a simple value, which every generated client takes', () => {
    const refused = Object.entries(document.components.schemas).flatMap(([component, schema]) => {
      const { properties = {}, required = [] } = schema as Members;
      return required.filter((name) => mayBeNullAndMore(properties[name] ?? {})).map((name) => `${component}.${name}`);
    });
    expect(refused).toEqual([]);
    expect(document.components.schemas['ToolCall']).toMatchObject({ if: {}, then: { required: ['approval'] } });
  });

  it('says which member tells the alternatives of a union apart', () => {
    const told = parts.filter(({ schema }) => 'discriminator' in schema);
    expect(told.map(({ path }) => path.replace('/components/schemas/', ''))).toEqual([
      'Decision',
      'ReportExecution',
      'SubmitClientOutput',
    ]);
    expect(document.components.schemas['Decision']).toMatchObject({
      discriminator: { propertyName: 'type', mapping: { edit: '#/components/schemas/DecisionEdit' } },
    });
  });

  it('has no other unions than those of simple values or of one member each', () => {
    const others = parts.filter(
      ({ path, schema }) => optionsOf(schema).length > 1 && !('discriminator' in schema) && !path.endsWith('/not'),
    );
    expect(others.map(({ path }) => path.replace('/components/schemas/', ''))).toEqual([
      'CreateGrantMatch',
      'DurationMs',
      'GrantMatch',
      'StreamEventsAfter',
    ]);
  });

  it('declares each tag that an operation has', () => {
    const declared = (document['tags'] as readonly JsonSchema[]).map(({ name }) => name);
    const used = Object.values(document.paths).flatMap((path) => Object.values(path).flatMap(({ tags }) => tags));
    expect([...new Set(used)].toSorted()).toEqual(declared.toSorted());
  });
});
