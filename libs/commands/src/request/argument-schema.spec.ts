import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { checkValue, prepareSchema } from '@countersign/json-schema';
import { createArgumentSchemas, SchemaEngineError } from './argument-schema.js';

const json = (text: string): JsonObject => JSON.parse(text) as JsonObject;
const nested = (levels: number, open = '{"a":', close = '}'): JsonObject =>
  json(`${open.repeat(levels)}{}${close.repeat(levels)}`);
const list = <T>(length: number, item: (index: number) => T): T[] => Array.from({ length }, (_, index) => item(index));

describe('a common schema', () => {
  const schema = {
    type: 'object',
    properties: { path: { type: 'string' }, mode: { enum: ['r', 'w'] }, password: { type: 'string' } },
    required: ['path'],
    additionalProperties: false,
  };
  const schemas = createArgumentSchemas();

  it('accepts arguments that fit, and finds what is to be hidden', () => {
    expect(schemas.check(schema, { path: '/a', password: 'x' })).toEqual({ status: 'valid', sensitive: ['/password'] });
    expect(schemas.check(null, { token: 'x' })).toEqual({ status: 'valid', sensitive: ['/token'] });
  });

  it('names each thing that is wrong, with its path', () => {
    expect(schemas.check(schema, { mode: 'x', password: 1, more: 1 })).toEqual({
      status: 'invalid',
      errors: [
        { path: '', message: "must have required property 'path'" },
        { path: 'mode', message: 'must be equal to one of the allowed values' },
        { path: 'password', message: 'must be string' },
        { path: '', message: 'must NOT have additional properties (more)' },
      ],
    });
  });

  it.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])(
    'requires a property named %s of its own',
    (name) => {
      const required = { required: [name] };
      expect(schemas.check(required, {}).status).toBe('invalid');
      expect(schemas.check(required, json(`{"${name}":1}`)).status).toBe('valid');
      const only = json(`{"properties":{"${name}":{"type":"string"}},"additionalProperties":false}`);
      expect(schemas.check(only, {}).status).toBe('valid');
      expect(schemas.check(only, json(`{"${name}":1}`)).status).toBe('invalid');
    },
  );
});

describe('a hostile schema', () => {
  const schemas = createArgumentSchemas();
  const branches = list(10, () => ({ additionalProperties: { $ref: '#/$defs/x' } }));

  it.each<[string, JsonObject, JsonObject, string]>([
    ['ten branches a level', { $defs: { x: { anyOf: branches } }, $ref: '#/$defs/x' }, nested(60), 'valid'],
    [
      'ten branches a level, none of which fits',
      { $defs: { x: { anyOf: branches, not: { maxProperties: 0 } } }, $ref: '#/$defs/x' },
      nested(60),
      'invalid',
    ],
    [
      'an error for each of many members',
      { properties: { a: { items: { allOf: list(40, () => ({ type: 'string' })) } } } },
      { a: list(60_000, () => 1) },
      'invalid',
    ],
    ['unique objects', { properties: { a: { uniqueItems: true } } }, { a: list(12_000, (id) => ({ id })) }, 'valid'],
    [
      'equal texts of a long list under a long list of constants',
      { properties: { a: { items: { enum: list(500, (id) => ({ id })) } } } },
      { a: list(5000, (id) => ({ id: id % 500 })) },
      'valid',
    ],
    [
      'a pattern that backtracks',
      { properties: { a: { pattern: '^(a+)+$' } } },
      { a: `${'a'.repeat(250_000)}!` },
      'invalid',
    ],
    [
      'more work than there is',
      { properties: { a: { items: { allOf: list(100, () => ({ type: 'number' })) } } } },
      { a: list(100_000, () => 1) },
      'refused',
    ],
    ['a schema of itself', { anyOf: [{ $ref: '#' }] }, {}, 'refused'],
    [
      'a schema of itself, by two',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      {},
      'refused',
    ],
    ['more than 64 KiB', { description: 'x'.repeat(64 * 1024) }, {}, 'refused'],
    ['more than 2,000 schemas', { anyOf: list(2000, () => true) }, {}, 'refused'],
    ['more than 32 levels', nested(33, '{"not":'), {}, 'refused'],
    ['a pattern with a large program', { pattern: '(a?){300}a{300}' }, {}, 'refused'],
    ['patterns that are large together', { allOf: list(20, (at) => ({ pattern: `(a?){200}${at}` })) }, {}, 'refused'],
    ['a long chain of references', chain(600), nested(60), 'refused'],
    ['a back-reference', { pattern: '(a)\\1' }, {}, 'refused'],
    ['another document', { $ref: 'https://example.com/x' }, {}, 'refused'],
    ['another draft', { $schema: 'http://json-schema.org/draft-04/schema#' }, {}, 'refused'],
    ['a type that is none', { type: 'nonsense' }, {}, 'refused'],
  ])('with %s has a verdict', (_what, schema, args, expected) => {
    const result = schemas.check(schema, args);
    expect([result.status, result.status === 'invalid' && result.errors.length > 20]).toEqual([expected, false]);
  });

  function chain(length: number): JsonObject {
    const $defs = Object.fromEntries(list(length, (at) => [`n${at}`, { $ref: `#/$defs/n${at + 1}` }]));
    return { $ref: '#/$defs/n0', $defs: { ...$defs, [`n${length}`]: { additionalProperties: { $ref: '#' } } } };
  }

  it('names the place and the reason of a refusal', () => {
    const result = schemas.check({ properties: { a: { items: { pattern: '(?=a)' } } } }, {});
    expect(result).toMatchObject({ status: 'refused', about: 'toolSchema' });
    expect(result.status === 'refused' && result.message).toMatch(
      /^\/properties\/a\/items\/pattern is not a linear-time pattern/,
    );
  });

  it('shares one budget with the other schemas of its request', () => {
    const schema = { properties: { a: { items: { type: 'number' } } } };
    const args = { a: list(60_000, () => 1) };
    const request = schemas.forOneRequest();
    const statuses = list(20, () => request.check(schema, args).status);
    expect([statuses[0], statuses.at(-1)]).toEqual(['valid', 'refused']);
    expect(schemas.check(schema, args).status).toBe('valid');
  });

  it.each([
    ['that their names hide', list(10_000, () => ({ pin: 1 }))],
    ['that hide a part of themselves', list(10_000, () => 'a://b:c@d')],
  ])('does not multiply the arguments by the paths of values %s', (_, values) => {
    for (const args of [{ ['k'.repeat(100_000)]: values }, { ['\u0001'.repeat(10)]: values }])
      expect(schemas.check(null, args)).toMatchObject({ status: 'refused', about: 'arguments' });
    expect(schemas.check(null, { k: values.slice(0, 1000) })).toMatchObject({ status: 'valid' });
  });
});

it('takes any number of schemas with patterns, one after the other', () => {
  const schemas = createArgumentSchemas();
  const statuses = list(600, (at) => {
    const a = { type: 'string', pattern: '^[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}$', description: String(at) };
    const b = { type: 'string', pattern: `^[^@ ]+@[^@ ]+\\.[a-z]{2,}${at}$` };
    return schemas.check({ properties: { a, b } }, { a: 'x' }).status;
  });
  expect(new Set(statuses)).toEqual(new Set(['invalid']));
});

it('takes a failure of the engine for nothing else', () => {
  const broken = createArgumentSchemas({
    prepareSchema,
    checkValue: () => {
      throw new RangeError('out of memory');
    },
  });
  expect(() => broken.check({}, {})).toThrow(SchemaEngineError);
  expect(createArgumentSchemas({ prepareSchema, checkValue }).check({}, {}).status).toBe('valid');
});
