import { describe, expect, it } from '@jest/globals';
import { prepareSchema } from '@countersign/json-schema';
import type { JsonObject } from '@countersign/contracts';
import { z } from 'zod';
import * as v3 from 'zod/v3';
import { whyUnrecordable } from './recordable.js';
import { asJson, inputSchemaOf, type JsonSchema } from './schema.js';

class Filter {
  readonly #given: object;

  constructor(given: object) {
    this.#given = given;
  }

  get given(): object {
    return this.#given;
  }
}

const hidden = (given: object): object => Object.defineProperty({}, 'given', { value: given, enumerable: false });

describe('the input to approve', () => {
  it('is the validated form, with the defaults that an approver must see', async () => {
    const schema = inputSchemaOf(z.object({ path: z.string(), recursive: z.boolean().default(true) }));
    expect(await schema.parse({ path: '/x', note: 'please approve' })).toEqual({
      valid: true,
      input: { path: '/x', recursive: true },
      arguments: { path: '/x', recursive: true },
      isAsAsked: true,
    });
  });

  it('is the proposal itself where the validated form is not what the schema takes', async () => {
    const schema = inputSchemaOf(z.object({ url: z.string().transform((text) => new URL(text)) }));
    const parsed = await schema.parse({ url: 'http://x.test/' });
    expect(parsed).toMatchObject({ valid: true, arguments: { url: 'http://x.test/' } });
    expect(parsed.valid && parsed.input.url.hostname).toBe('x.test');
  });

  it.each<[string, z.ZodType, JsonObject]>([
    ['a Map', z.record(z.string(), z.string()).transform((given) => new Map(Object.entries(given))), { tenant: '1' }],
    ['a Set', z.array(z.string()).transform((given) => new Set(given)), ['1'] as unknown as JsonObject],
    [
      'search parameters',
      z.record(z.string(), z.string()).transform((given) => new URLSearchParams(given)),
      { id: '7' },
    ],
    ['headers', z.record(z.string(), z.string()).transform((given) => new Headers(given)), { accept: 'x' }],
    ['an object of a class', z.record(z.string(), z.string()).transform((given) => new Filter(given)), { tenant: '1' }],
    [
      'an object that writes such a one',
      z.looseObject({}).transform((given) => ({ toJSON: () => new Filter(given) })),
      { tenant: '1' },
    ],
    ['hidden members', z.looseObject({}).transform((given) => hidden(given)), { tenant: '1' }],
    ['a function', z.looseObject({}).transform((given) => ({ matches: () => given })), { tenant: '1' }],
  ])('is the proposal itself where the validated form has %s, which JSON would empty', async (_what, filter, given) => {
    const schema = inputSchemaOf(z.object({ filter, many: z.array(filter).optional() }));
    const args = { filter: given, many: [given] };
    expect(await schema.parse(args)).toMatchObject({ valid: true, arguments: args, isAsAsked: false });
  });

  it.each<[string, z.ZodType, string]>([
    ['no number', z.string().transform(Number).nullable(), '1,000'],
    ['an endless number', z.string().transform(Number).nullable(), '1e999'],
    [
      'no date',
      z
        .string()
        .transform((text) => new Date(text))
        .nullable(),
      'soon',
    ],
  ])('is the proposal itself where a value became %s, which JSON would make null', async (_what, limit, given) => {
    const schema = inputSchemaOf(z.object({ limit }));
    expect(await schema.parse({ limit: given })).toMatchObject({ arguments: { limit: given }, isAsAsked: false });
  });

  it('is the validated form with dates as texts, and without members that are not there', async () => {
    const schema = inputSchemaOf(z.object({ at: z.coerce.date(), n: z.int().default(1) }));
    const settled = { at: '2026-01-02T00:00:00.000Z', n: 1 };
    expect(await schema.parse({ at: '2026-01-02' })).toMatchObject({ arguments: settled, isAsAsked: true });
    const optional = z
      .string()
      .optional()
      .transform((text) => text?.trim());
    const trimmed = inputSchemaOf(z.object({ optional, n: z.int().default(1) }));
    expect(await trimmed.parse({})).toMatchObject({ arguments: { n: 1 }, isAsAsked: true });
  });

  it('is the proposal itself where the validated form is no JSON', async () => {
    const big = inputSchemaOf(z.object({ n: z.string().transform(BigInt) }));
    expect(await big.parse({ n: '12' })).toMatchObject({ valid: true, arguments: { n: '12' }, input: { n: 12n } });
  });
});

describe('an input schema', () => {
  it('goes to the server as the JSON Schema of what the model may send', () => {
    const { json, hash } = inputSchemaOf(
      z.strictObject({ key: z.string().meta({ sensitive: true }), n: z.int().default(1) }),
    );
    expect(json).toMatchObject({
      required: ['key'],
      additionalProperties: false,
      properties: { key: { sensitive: true } },
    });
    expect(hash).toMatch(/^sha256:[0-9a-f]{64}$/);
  });

  it('goes there whole, and is enforced whole here', async () => {
    const schema = inputSchemaOf(
      z.object({ to: z.email(), host: z.hostname(), code: z.string().regex(/(?<!x)y/), word: z.enum(['(?=x)']) }),
    );
    expect(JSON.stringify(schema.json['properties']).match(/"pattern"/g)?.length).toBeGreaterThanOrEqual(3);
    expect(schema.notes.map(({ pointer }) => pointer)).toEqual(['/properties/code/pattern']);
    const good = { to: 'ada@example.com', host: 'example.com', code: 'y', word: '(?=x)' };
    expect((await schema.parse(good)).valid).toBe(true);
    expect((await schema.parse({ ...good, to: '.ada@example.com' })).valid).toBe(false);
    expect((await schema.parse({ ...good, code: 'xy' })).valid).toBe(false);
  });

  it('goes there without patterns whose flags JSON Schema cannot carry', () => {
    const shape = {
      one: z.string().regex(/^yes$/i).min(2),
      two: z.string().regex(/a/).regex(/b/i),
      three: z.string().regex(/c/u),
    };
    const { json, notes } = inputSchemaOf(z.object(shape));
    expect(notes.map(({ pointer }) => pointer).toSorted()).toEqual([
      '/properties/one/pattern',
      '/properties/two/pattern',
    ]);
    expect(json['properties']).toEqual({
      one: { type: 'string', minLength: 2 },
      two: { type: 'string' },
      three: { type: 'string', pattern: 'c' },
    });
  });

  it('may be a JSON Schema, which is enforced', async () => {
    const json = { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] };
    const schema = inputSchemaOf(json);
    expect(schema.json).toEqual(json);
    expect(await schema.parse({ n: 2 })).toMatchObject({ valid: true, arguments: { n: 2 } });
    expect(await schema.parse({ n: 0 })).toMatchObject({ valid: false, issues: [{ path: '/n' }] });
  });

  it('may be a JSON Schema with defaults, which people see', async () => {
    const limit = { type: 'integer', default: 20 };
    const schema = inputSchemaOf({
      properties: { limit, page: { properties: { limit } }, odd: { type: 'string', default: 'x' } },
    });
    expect(await schema.parse({ page: {}, odd: 'y' })).toEqual({
      ...{ valid: true, isAsAsked: true },
      input: { page: { limit: 20 }, odd: 'y', limit: 20 },
      arguments: { page: { limit: 20 }, odd: 'y', limit: 20 },
    });
    const wrong = inputSchemaOf({ properties: { limit: { type: 'integer', default: 'many' } } });
    expect(await wrong.parse({})).toMatchObject({ valid: true, arguments: {} });
  });

  it('that can be enforced in part only is enforced in part, and says which', async () => {
    const odd = { type: 'string', pattern: '(a)\\1', maxLength: 2 };
    const schema = inputSchemaOf({ type: 'object', properties: { odd } });
    expect(schema.json).toEqual({ type: 'object', properties: { odd } });
    expect(schema.notes.map(({ pointer }) => pointer)).toEqual(['/properties/odd/pattern']);
    expect((await schema.parse({ odd: 'b' })).valid).toBe(true);
    expect((await schema.parse({ odd: 'bbb' })).valid).toBe(false);
  });

  it('that cannot be sent is one that the server does not take for checked whole', () => {
    const schema = inputSchemaOf(JSON.parse('{"properties":{"__proto__":{},"pin":{"sensitive":true}}}') as JsonSchema);
    expect(schema.notes).toEqual([{ pointer: '', why: 'cannot be sent: the key `__proto__` is forbidden' }]);
    expect(prepareSchema(schema.json)).toMatchObject({
      status: 'prepared',
      schema: { notes: [{ pointer: '', why: expect.stringContaining('was not sent') }], nodes: [{ isMarked: true }] },
    });
  });

  it('names the place of what is wrong', async () => {
    const schema = inputSchemaOf(z.object({ 'a/b': z.array(z.string()) }));
    expect(await schema.parse({ 'a/b': ['x', 1] })).toMatchObject({ issues: [{ path: '/a~1b/1' }] });
    expect(await schema.parse('text')).toMatchObject({ valid: false, issues: [{ path: '' }] });
  });

  it('whose own code throws has not said yes', async () => {
    const schema = inputSchemaOf(
      z.object({
        x: z.string().refine(() => {
          throw new Error('bug');
        }),
      }),
    );
    expect(await schema.parse({ x: 'y' })).toEqual({
      valid: false,
      issues: [{ path: '', message: 'the validation failed to run' }],
    });
  });

  it('may validate asynchronously', async () => {
    const schema = inputSchemaOf(z.object({ x: z.string().refine(async (x) => x === 'yes') }));
    expect((await schema.parse({ x: 'yes' })).valid).toBe(true);
    expect((await schema.parse({ x: 'no' })).valid).toBe(false);
  });
});

describe('arguments that the server would refuse', () => {
  it('are known before they spoil the whole step', async () => {
    const deep = JSON.parse(`${'[{"a":'.repeat(40)}1${'}]'.repeat(40)}`) as never;
    expect(whyUnrecordable({ deep })).toMatch(/deeper than 64/);
    for (const n of [2 ** 60, 1e20, -(2 ** 53)]) expect(whyUnrecordable({ n })).toMatch(/beyond ±9007199254740991/);
    expect(whyUnrecordable({ n: 1e20 }, true)).toBeUndefined();
    expect(whyUnrecordable({ n: Infinity })).toMatch(/not finite/);
    expect(whyUnrecordable({ list: [Number.MAX_SAFE_INTEGER, 1e-20, 1.5e15] })).toBeUndefined();
    expect(whyUnrecordable({ text: 'ä'.repeat(140_000) })).toMatch(/bytes/);
    expect(whyUnrecordable({ n: 1.5, list: [null, true] })).toBeUndefined();
    expect(whyUnrecordable({ list: ['\ud800'] })).toMatch(/lone surrogate/);
    expect(whyUnrecordable({ ['\ud800']: 1 })).toMatch(/lone surrogate/);
    expect(whyUnrecordable({ n: 1n } as never)).toMatch(/bigint/);
    expect(whyUnrecordable(JSON.parse('{"a":[{"__proto__":1}]}') as never)).toMatch(/`__proto__`/);
    expect(whyUnrecordable({ constructor: { prototype: 1 } })).toMatch(/`prototype`/);
    expect(whyUnrecordable({ constructor: 1, prototype: 1 })).toBeUndefined();
    expect(await inputSchemaOf(z.looseObject({})).parse({ n: 2 ** 60 })).toMatchObject({ valid: false });
  });

  it('asJson keeps what is JSON and gives up on what is not', () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    expect(asJson({ at: new Date(0) })).toEqual({ at: '1970-01-01T00:00:00.000Z' });
    expect([asJson(circular), asJson(1n), asJson(undefined)]).toEqual([undefined, undefined, undefined]);
  });
});

describe('a schema of another library', () => {
  it('is refused, because as a JSON Schema it would accept every value', () => {
    const ofZod3 = v3.object({ amount: v3.number() }) as unknown as JsonSchema;
    expect(() => inputSchemaOf(ofZod3)).toThrow(/neither a schema of zod 4 nor a JSON Schema/);
  });
});
