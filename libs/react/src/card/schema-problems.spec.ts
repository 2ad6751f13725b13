import { describe, expect, it } from '@jest/globals';
import { schemaProblems } from './schema-problems.js';

const schema = {
  type: 'object',
  properties: { pin: { type: 'integer' }, amount: { type: 'integer' } },
  required: ['amount'],
};

describe('the problems of edited arguments', () => {
  it('name what does not fit the schema', () => {
    expect(schemaProblems({ amount: 'ten' }, schema, [])).toEqual([expect.stringMatching(/^\/amount: /)]);
    expect(schemaProblems({ amount: 10 }, schema, [])).toEqual([]);
    expect(schemaProblems({}, schema, [])).toHaveLength(1);
  });

  it('accept the mask of a hidden value for any type in the schema', () => {
    const masked = { pin: '[masked sha256:0123456789abcdef]', amount: 10 };
    expect(schemaProblems(masked, schema, ['/pin'])).toEqual([]);
    expect(schemaProblems(masked, schema, [])).toHaveLength(1);
    expect(schemaProblems({ ...masked, pin: 'x' }, schema, ['/pin'])).toHaveLength(1);
    expect(schemaProblems({ ...masked, amount: 'ten' }, schema, ['/pin'])).toHaveLength(1);
  });

  it('are found without following references, branches and patterns of the agent', () => {
    const branching = { anyOf: Array.from({ length: 10 }, () => ({ additionalProperties: { $ref: '#/$defs/x' } })) };
    const hostile = { $defs: { x: branching }, $ref: '#/$defs/x', pattern: '^(a+)+$' };
    const deep = { b: { b: { b: { b: { b: { b: { b: { b: {} } } } } } } } };
    expect(schemaProblems(deep, hostile, [])).toEqual([]);
  });

  it.each([
    ['a null that `nullable` allows', { nullable: true, type: 'string', enum: ['a'] }, null],
    ['a bound of draft-04', { minimum: 0, exclusiveMinimum: true }, 1],
    ['a type that is none', { type: 'strng' }, 'x'],
    ['a keyword of null', { enum: null, type: 'string', minLength: null }, 'x'],
    ['a name that a pattern allows', { patternProperties: { '^x-': {} }, additionalProperties: false }, { 'x-a': 1 }],
    ['an item that is described by its place', { prefixItems: [{}], items: false }, [1]],
    ['a schema that is none', { properties: { b: null }, required: 'b' }, { b: 1 }],
  ])('are not seen in %s', (_, part, value) => {
    const whole = { properties: { a: part, n: { type: 'integer' } } };
    expect(schemaProblems({ a: value, n: 1 }, whole, [])).toEqual([]);
    expect(schemaProblems({ a: value, n: 'x' }, whole, [])).toHaveLength(1);
  });
});
