import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { JsonSchema } from '@countersign/contracts';
import * as fc from 'fast-check';
import { createApi } from '../testing/api.js';
import type { Api, Reply, Sent } from '../testing/api.js';
import { documented } from '../testing/documented.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createOpenApiDocument } from './document.js';

// The API as a client knows it that has nothing but the document. `createApi` compares each response with the document.

interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly schema: JsonSchema;
  readonly example?: unknown;
}

interface Operation {
  readonly method: string;
  readonly path: string;
  readonly isPublic: boolean;
  readonly isEndless: boolean;
  readonly parameters: readonly Parameter[];
  readonly body: unknown;
}

const document = createOpenApiDocument();
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]): Operation => {
    const { security, parameters, requestBody, responses } = operation as {
      readonly security?: readonly unknown[];
      readonly parameters: readonly Parameter[];
      readonly requestBody?: { readonly content: Readonly<Record<string, { readonly example: unknown }>> };
      readonly responses: Readonly<Record<string, { readonly content?: object }>>;
    };
    return {
      ...{ method: method.toUpperCase(), path, parameters, isPublic: security?.length === 0 },
      isEndless: Object.hasOwn(responses['200']?.content ?? {}, 'text/event-stream'),
      body: requestBody?.content['application/json']?.example,
    };
  }),
);
const guarded = operations.filter(({ isPublic }) => !isPublic);
const read = operations.filter(({ method }) => method === 'GET');

let world: World;
let api: Api;
/** The ids that answers have named so far, by the member that names them. */
const known = new Map<string, string>();

beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
  for (const operation of operations.filter(({ path }) => /^\/v1\/(tool-calls|grants)$/.test(path)))
    if (operation.method === 'POST') note((await send(operation)).body);
});
afterAll(() => world.close());

function note(value: unknown): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member === 'string' && /^(call|approval|run|grant)Id$/.test(name) && !known.has(name))
      known.set(name, member);
    note(member);
  }
}

/** The path with an id of each kind. */
function pathOf({ path, parameters }: Operation): string {
  return path.replaceAll(/\{([A-Za-z]+)\}/g, (_, name: string) =>
    encodeURIComponent(known.get(name) ?? String(parameters.find((one) => one.name === name)?.example)),
  );
}

/** Sends the example of the operation, as one who has every role, or what is given in its place. */
function send(operation: Operation, { query = '', ...sent }: Sent & { query?: string } = {}): Promise<Reply<Problem>> {
  const body = operation.body === undefined ? {} : { body: operation.body };
  return api.send<Problem>(operation.method, pathOf(operation) + query, { as: 'other', ...body, ...sent });
}

interface Problem {
  readonly code: string;
  readonly errors?: readonly { readonly path: string }[];
}

/** Sends the request without reading the answer: a stream of events does not end. */
async function headersOf(operation: Operation, method: string): Promise<Response> {
  const headers = { authorization: 'Bearer other-token' };
  const response = await fetch(`${world.url}${pathOf(operation)}`, { method, headers });
  await response.body?.cancel();
  return response;
}

const typesOf = ({ type }: JsonSchema): readonly unknown[] => [type].flat();

/** A value that the schema of a parameter does not allow; undefined: it allows every text. */
function wrongValueOf({ schema: given }: Parameter): string | undefined {
  const schema = resolved(given);
  const { maximum, maxLength } = schema as Readonly<Record<string, number | undefined>>;
  if (schema['enum'] !== undefined || schema['anyOf'] !== undefined) return 'nosuch';
  if (typesOf(schema).includes('integer')) return String((maximum ?? 0) + 1);
  // Any text is a list of names, but for the empty one.
  if (typesOf(schema).includes('array') && resolved(schema['items'] as JsonSchema)['enum'] === undefined) return '';
  if (typesOf(schema).includes('array') || schema['format'] === 'date-time') return 'yesterday';
  return maxLength === undefined ? undefined : 'a'.repeat(maxLength + 1);
}

function resolved(schema: JsonSchema): JsonSchema {
  const { $ref } = schema;
  return typeof $ref === 'string' ? (document.components.schemas[$ref.split('/').at(-1) ?? ''] ?? {}) : schema;
}

const parametersOf = (place: Parameter['in']) =>
  guarded.flatMap((operation) =>
    operation.parameters
      .filter((parameter) => parameter.in === place)
      .map((parameter) => ({ ...operation, name: parameter.name, operation, parameter })),
  );

describe('each operation of the document', () => {
  it.each(operations)('takes its example: $method $path', async (operation) => {
    if (operation.isEndless) {
      expect((await headersOf(operation, 'GET')).status).toBe(200);
      return;
    }
    const { status, body } = await send(operation);
    expect([status, body]).not.toEqual([400, body]);
    expect(status).toBeLessThan(500);
    note(body);
  });

  it.each(read)('answers HEAD like GET, without a body: $path', async (operation) => {
    const head = await headersOf(operation, 'HEAD');
    expect([head.status, await head.text()]).toEqual([(await headersOf(operation, 'GET')).status, '']);
    documented().checkHeaders('GET', operation.path, head.status, head.headers);
  });

  it.each(guarded)('is refused without a token, and without its role: $method $path', async (operation) => {
    expect((await send(operation, { as: null })).status).toBe(401);
    expect((await send(operation, { as: 'nobody' })).status).toBe(403);
  });

  it.each(guarded)('refuses a parameter that it does not name: $method $path', async (operation) => {
    const { status, body } = await send(operation, { query: '?nosuch=1' });
    expect([status, body.errors?.map(({ path }) => path)]).toEqual([400, ['nosuch']]);
  });

  it.each(guarded.filter(({ body }) => body !== undefined))(
    'refuses another body: $method $path',
    async (operation) => {
      const more = await send(operation, { raw: JSON.stringify({ ...(operation.body as object), nosuch: 1 }) });
      expect(more).toMatchObject({ status: 400, body: { errors: [{ path: 'nosuch' }] } });
      for (const raw of ['{', '[]', '"text"', 'null']) expect((await send(operation, { raw })).status).toBe(400);
      const typed = await send(operation, { raw: '<a/>', headers: { 'content-type': 'application/xml' } });
      expect(typed).toMatchObject({ status: 415, body: { code: 'unsupported-media-type' } });
    },
  );

  it.each(parametersOf('query'))('refuses a wrong value: $method $path?$name', async ({ operation, parameter }) => {
    const { name } = parameter;
    const wrong = name === 'labels' ? `label.${'a'.repeat(200)}=x` : `${name}=${wrongValueOf(parameter) ?? ''}`;
    const { status, body } = await send(operation, { query: `?${wrong}` });
    expect([status, body.code]).toEqual([400, 'invalid-request']);
  });

  it.each(parametersOf('header'))('refuses a wrong value: $method $path, $name', async ({ operation, parameter }) => {
    const { name } = parameter;
    const { status, body } = await send(operation, { headers: { [name]: wrongValueOf(parameter) ?? '' } });
    expect([status, body.errors?.map(({ path }) => path)]).toEqual([400, [name]]);
  });
});

describe('a parameter of a query', () => {
  /** Parameters that need another one. */
  const needed: Readonly<Record<string, Record<string, string>>> = { ocsf: { format: 'ocsf' } };
  const isRefused = async (operation: Operation, name: string, value: string | number): Promise<boolean> => {
    const query = `?${new URLSearchParams({ [name]: String(value), ...needed[name] }).toString()}`;
    return (await send(operation, { query })).status === 400;
  };
  const ended = parametersOf('query').filter(({ operation }) => !operation.isEndless);
  const isInteger = ({ parameter }: (typeof ended)[number]) => typesOf(resolved(parameter.schema)).includes('integer');
  const hasEnum = ({ parameter }: (typeof ended)[number]) => resolved(parameter.schema)['enum'] !== undefined;

  it.each(ended.filter(isInteger))('takes just the numbers of its range: $method $path?$name', async (one) => {
    const { operation, name } = one;
    const { minimum, maximum } = resolved(one.parameter.schema) as { minimum: number; maximum: number };
    const isWithin = (value: number): boolean => value >= minimum && value <= maximum;
    const anywhere = fc.oneof(fc.integer({ min: minimum, max: maximum }), fc.maxSafeInteger());
    await fc.assert(
      // A wait for a state that has come is none.
      fc.asyncProperty(name === 'waitMs' ? fc.constantFrom(0, 1, -1) : anywhere, async (value) => {
        expect(await isRefused(operation, name, value)).toBe(!isWithin(value));
      }),
      { numRuns: 5, examples: name === 'waitMs' ? [] : [[minimum], [maximum], [minimum - 1], [maximum + 1]] },
    );
  });

  it.each(ended.filter(hasEnum))('takes just the words of its list: $method $path?$name', async (one) => {
    const { operation, name } = one;
    const words = resolved(one.parameter.schema)['enum'] as readonly string[];
    for (const word of words) expect(await isRefused(operation, name, word)).toBe(false);
    await fc.assert(
      fc.asyncProperty(fc.string(), async (word) => {
        expect(await isRefused(operation, name, word)).toBe(!words.includes(word));
      }),
      { numRuns: 3, examples: [[`${words[0] ?? ''} `], [(words[0] ?? '').toUpperCase()]] },
    );
  });
});
