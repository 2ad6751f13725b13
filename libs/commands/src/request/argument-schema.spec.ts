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
    const whole = { status: 'valid', notes: [], isOverBudget: false, standIn: null };
    expect(schemas.check(schema, { path: '/a', password: 'x' })).toEqual({ ...whole, sensitive: ['/password'] });
    expect(schemas.check(null, { token: 'x' })).toEqual({ ...whole, sensitive: ['/token'] });
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
  ])('with %s has a verdict', (_what, schema, args, expected) => {
    const result = schemas.check(schema, args);
    expect([result.status, result.status === 'invalid' && result.errors.length > 20]).toEqual([expected, false]);
  });

  it.each<[string, JsonObject, JsonObject, string]>([
    [
      'more work than there is',
      { properties: { a: { items: { allOf: list(100, () => ({ type: 'number' })) } } } },
      { a: list(100_000, () => 1) },
      ' takes more work to check',
    ],
    [
      'divisions of long numbers',
      { properties: { a: { items: { allOf: list(10, () => ({ multipleOf: 1e-300 })) } } } },
      { a: list(20_000, (at) => 1.7e308 - at * 1e300) },
      ' takes more work to check',
    ],
    ['a schema of itself', { anyOf: [{ $ref: '#' }] }, {}, '/anyOf/0/$ref refers to itself'],
    [
      'a schema of itself, by two',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
      {},
      '/$defs/a/$ref refers to itself',
    ],
    ['more than 256 KiB', { description: 'x'.repeat(256 * 1024) }, {}, ' has more than 256 KiB'],
    ['more than 8,000 schemas', { anyOf: list(8000, () => true) }, {}, ' has more than 8000 schemas in it'],
    ['more than 64 levels', nested(65, '{"allOf":[', ']}'), {}, `${'/allOf/0'.repeat(64)} is more than 64 levels deep`],
    ['a pattern with a large program', { pattern: '(a?){600}a{600}' }, {}, '/pattern is too large'],
    [
      'patterns that are large together',
      { allOf: list(30, (at) => ({ pattern: `(a?){200}${at}` })) },
      {},
      ' is one pattern too many',
    ],
    ['a long chain of references', chain(600), nested(60), ' takes more work to check'],
    ['a back-reference', { pattern: '(a)\\1' }, {}, '/pattern is not a linear-time pattern'],
    ['another document', { $ref: 'https://example.com/x' }, {}, '/$ref leads to no schema of this document'],
    ['an unknown dialect', { $schema: 'https://example.com/mine' }, {}, '/$schema is a dialect that is not known here'],
    ['a type that is none', { type: 'nonsense' }, {}, '/type must be one or some of'],
  ])('with %s is not checked there, and says so', (_what, schema, args, expected) => {
    const result = schemas.check(schema, args);
    const notes = result.status === 'valid' ? result.notes.map(({ pointer, why }) => `${pointer} ${why}`) : [];
    expect([result.status, notes.some((note) => note.includes(expected)) ? expected : notes]).toEqual([
      'valid',
      expected,
    ]);
  });

  function chain(length: number): JsonObject {
    const $defs = Object.fromEntries(list(length, (at) => [`n${at}`, { $ref: `#/$defs/n${at + 1}` }]));
    return { $ref: '#/$defs/n0', $defs: { ...$defs, [`n${length}`]: { additionalProperties: { $ref: '#' } } } };
  }

  it.each<[string, JsonObject]>([
    [
      'parts that name their dialect, in a schema that names none',
      { properties: { a: { $schema: 'http://json-schema.org/draft-07/schema#', type: 'string' } } },
    ],
    [
      'keywords of null',
      { $schema: null, $id: null, properties: { a: { type: 'string', pattern: null, $ref: null } } },
    ],
    ['lists for empty objects', { properties: { a: [] }, $defs: [], dependencies: [], dependentRequired: [] }],
  ])('with %s is checked whole', (_what, schema) => {
    expect(schemas.check(schema, { a: 'x' })).toMatchObject({ status: 'valid', notes: [] });
  });

  it('lists at most 20 notes, and counts the others', () => {
    const result = schemas.check({ allOf: list(100, () => ({ pattern: '(a)\\1' })) }, {});
    const notes = result.status === 'valid' ? result.notes : [];
    expect([notes.length, notes.at(-1)?.pointer]).toEqual([20, '/allOf/80/pattern']);
    expect(notes.at(-1)?.why).toMatch(/ \(80 more parts are not checked\)$/);
  });

  it('leaves each of its siblings a share of the budget of their request', () => {
    const schema = { properties: { a: { items: { type: 'number' } } } };
    const args = { a: list(60_000, () => 1) };
    const request = schemas.forOneRequest(40);
    const checked = list(40, (at) => request.check(schema, at === 39 ? { a: ['x'] } : args));
    const isChecked = checked.map((one) => one.status !== 'valid' || !one.isOverBudget);
    expect([isChecked[0], isChecked.includes(false), checked.at(-1)?.status]).toEqual([true, true, 'invalid']);
  });

  it.each<[string, JsonObject]>([
    ['more than 256 KiB', { description: 'x'.repeat(256 * 1024) }],
    ['more than 8,000 schemas', { anyOf: list(8000, () => true) }],
    ['patterns that take too much work to read', { allOf: list(400, (at) => ({ pattern: `(a?){200}b{${at}}` })) }],
  ])('hides everything if it has a mark and %s', (_what, large) => {
    const sensitive = { properties: { a: { type: 'string', writeOnly: true } } };
    const hidden = (schema: JsonObject) => {
      const result = schemas.check(schema, { a: 'x', b: 'y' });
      return result.status === 'valid' ? result.sensitive : result;
    };
    expect(hidden({ ...large, ...sensitive })).toEqual(['/a', '/b']);
    expect(hidden(large)).toEqual([]);
  });

  it.each<[string, JsonObject | null, JsonObject, boolean]>([
    ['many constants', { enum: list(9000, (a) => ({ a })) }, { a: 1 }, true],
    ['many values that are no schemas', { 'x-a': list(60_000, () => ({})) }, {}, true],
    ['many names', null, Object.fromEntries(list(15_000, (at) => [`n${at}`, at])), true],
    ['an ordinary size', { properties: { a: { enum: ['b'] } } }, { a: 'b' }, false],
  ])('with %s: others have their turn after it only if it takes long', (_, schema, args, isLaborious) => {
    const request = schemas.forOneRequest(16);
    request.check(schema, args);
    expect(request.wasLaborious()).toBe(isLaborious);
  });

  it('hides everything where the search for its marks takes too much work', () => {
    const parts = list(60, (at) => ({ additionalProperties: { $ref: `#/$defs/n${at}` } }));
    const $defs = Object.fromEntries(list(60, (at) => [`n${at}`, { anyOf: parts }]));
    const schema = { anyOf: parts, $defs: { ...$defs, n0: { anyOf: parts, properties: { x: { sensitive: true } } } } };
    const args = Object.fromEntries(list(300, (at) => [`k${at}`, { [`l${at}`]: { x: 1, y: 1 } }]));
    const result = schemas.check(schema, args);
    expect(result.status === 'valid' && result.sensitive.length).toBe(300);
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
