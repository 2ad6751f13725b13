import { describe, expect, it } from '@jest/globals';
import canonicalize from 'canonicalize';
import fc from 'fast-check';
import { canonicalJson } from './canonical-json.js';
import type { JsonValue } from './json.js';

describe('the canonical form', () => {
  it('is that of the example in RFC 8785', () => {
    const numbers = [Number('333333333.33333329'), 1e30, 4.5, 2e-3, 1e-27, -0];
    const string = '€$\u000F\u000aA\'\u0042\u0022\u005c\\"\u002f';
    expect(canonicalJson({ numbers, string, literals: [null, true, false] })).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27,0],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  it('is what the package canonicalize writes, for any value', () => {
    const text = fc.string({ unit: 'grapheme' });
    const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
      value: fc.oneof(
        fc.jsonValue() as fc.Arbitrary<JsonValue>,
        text,
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(text, tie('value'), { maxKeys: 4 }),
      ),
    }));
    fc.assert(fc.property(value, (any) => expect(canonicalJson(any)).toBe(canonicalize(any))));
  });

  it('sorts names by their UTF-16 units, as RFC 8785 demands', () => {
    const names = ['\u20ac', '\r', '\ufb33', '1', '\ud83d\ude00', '\u0080', '\u00f6'];
    const value = JSON.parse(canonicalJson(Object.fromEntries(names.map((name) => [name, 0])))) as object;
    expect(Object.keys(value)).toEqual(['1', '\r', '\u0080', '\u00f6', '\u20ac', '\ud83d\ude00', '\ufb33']);
  });

  it('has an own member of any name, and none that is undefined', () => {
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1},"constructor":2}') as JsonValue)).toBe(
      '{"__proto__":{"a":1},"constructor":2}',
    );
    expect(canonicalJson({ a: undefined, b: 1 } as unknown as JsonValue)).toBe('{"b":1}');
  });

  it.each([NaN, Infinity, -Infinity, '\ud800', 'a\udc00', { '\ud83d': 1 }])('does not exist for %j', (value) => {
    expect(() => canonicalJson([value] as JsonValue)).toThrow();
  });
});
