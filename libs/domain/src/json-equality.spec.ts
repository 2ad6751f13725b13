import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonValue } from '@countersign/contracts';
import { areEqualJson } from './json-equality.js';

const json = fc.jsonValue() as fc.Arbitrary<JsonValue>;

describe('equality of JSON values', () => {
  it('compares values and ignores the order of members', () => {
    expect(areEqualJson({ a: 1, b: [true, null] }, { b: [true, null], a: 1 })).toBe(true);
  });

  it.each([
    [{ a: 1 }, { a: 2 }],
    [{ a: 1 }, { b: 1 }],
    [{ a: 1 }, { a: 1, b: 1 }],
    [{ constructor: 1 }, {}],
    [{ toString: 1 }, { a: 1 }],
    [[1, 2], [1]],
    [[1], [2]],
    [[], {}],
    [null, {}],
    ['1', 1],
  ] as [JsonValue, JsonValue][])('tells %j from %j', (one, other) => {
    expect(areEqualJson(one, other)).toBe(false);
    expect(areEqualJson(other, one)).toBe(false);
  });

  it('holds of every value and its copy', () => {
    fc.assert(fc.property(json, (value) => areEqualJson(value, structuredClone(value))));
  });
});
