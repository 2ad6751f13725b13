import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { parseStrictJson } from './parse-json.js';
import { scanJson } from './strict-json.js';

const faultsOf = (text: string) => scanJson(text, 64).faults;
/** The digits of a number without zeros at either end. */
const digitsOf = (printed: string) =>
  printed
    .replace(/e.*/, '')
    .replace('.', '')
    .replaceAll(/^0+|0+$/g, '');
const pathsOf = (text: string) => faultsOf(text).map(({ path }) => path);

describe('duplicate keys', () => {
  it.each([
    ['{"a":1,"a":2}', ['a']],
    ['{"a":1,"\\u0061":2}', ['a']],
    ['{"to":{"x":1,"y":2,"x":3}}', ['to.x']],
    ['[0,{"a":[{"b":1,"b":1}]}]', ['1.a.0.b']],
    ['{"":1,"":2}', ['']],
    ['{"a":1,"b":{"a":2},"a":[{"a":1}]}', ['a']],
  ])('%s', (text, paths) => {
    expect(pathsOf(text)).toEqual(paths);
  });

  it.each([1, 11, 12, 13, 14, 500])('is found after %s keys, whichever is repeated', (count) => {
    const keys = Array.from({ length: count }, (_, index) => `k${index}`);
    for (const again of [keys[0], keys.at(-1)]) {
      const text = `{${[...keys, again].map((key) => `"${key}":1`).join(',')}}`;
      expect(pathsOf(text)).toEqual([again]);
    }
    expect(faultsOf(`{${keys.map((key) => `"${key}":1`).join(',')}}`)).toEqual([]);
  });

  it('are those of one object, not of its neighbours or members', () => {
    expect(faultsOf('{"a":{"a":{"a":[{"a":1},{"a":2}]}},"b":{"a":1}}')).toEqual([]);
  });
});

describe('numbers', () => {
  it.each([
    '9007199254740991',
    '-9007199254740991',
    '0',
    '-0',
    '1.5',
    '1.50',
    '1e5',
    '15E-1',
    '6.02e23',
    '1e300',
    '5e-324',
    '0.1',
    '0.30000000000000004',
    '123456789.125',
    '0e999',
    '100000000000000000000000e-20',
    // All 17 digits of a double, as C# and many serializers write it.
    '48.858370000000001',
    '0.10000000000000001',
    '19.989999999999998',
    '3.1415926535897931',
    '-122.41941550000001',
    '1.0000000000000001e-7',
    // Whole doubles as Python, Java and C# write them.
    '1e16',
    '1e+16',
    '1.0E16',
    '-1E+20',
    '9007199254740992.0',
    '1.2345678901234568e+18',
    '90071992547409936e0',
  ])('%s is kept as it is', (text) => {
    expect(faultsOf(`[${text}]`)).toEqual([]);
  });

  it.each([
    '9007199254740992',
    '9007199254740993',
    '-9007199254740992',
    '12345678901234567890',
    '9007199254740993.0',
    '10000000000000000',
    '100000000000000000000',
    '1.0000000000000001e16',
    '9007199254740993e0',
    '1e400',
    '-1e400',
    '1e-400',
    '0.1234567890123456789',
    '3.14159265358979323846',
    '0.1000000000000000055511151231257827',
    '12345678901234567.5',
    '0.30000000000000001',
    '100000000000000000000000',
  ])('%s would be changed', (text) => {
    expect(pathsOf(`{"n":[${text}]}`)).toEqual(['n.0']);
  });

  it('of the schema of a tool may be rounded, because they are no values that run', () => {
    const bound = '{"maximum":9223372036854775807,"multipleOf":0.1000000000000000055511151231257827}';
    expect(faultsOf(`{"calls":[{"toolSchema":${bound}}]}`)).toEqual([]);
    expect(pathsOf(`{"calls":[{"arguments":{"toolSchema":${bound}}}]}`)).toHaveLength(2);
  });

  it('of the schema of a tool are the nearest double, and half of a character in it is replaced', () => {
    const toolSchema = { maximum: 'MAX', minimum: 'MIN', description: 'HALF' };
    const text = JSON.stringify({ calls: [{ toolSchema, arguments: { n: 1.5 } }] })
      .replace('"MAX"', '1.79769313486232E+308')
      .replace('"MIN"', '-1e400')
      .replace('HALF', String.raw`a \ud83d`);
    expect(parseStrictJson(Buffer.from(text), 'the body')).toEqual({
      status: 'ok',
      value: {
        calls: [
          {
            toolSchema: { maximum: Number.MAX_VALUE, minimum: -Number.MAX_VALUE, description: 'a \ufffd' },
            arguments: { n: 1.5 },
          },
        ],
      },
    });
  });

  it('inside strings are text', () => {
    expect(faultsOf('{"n":"9007199254740993","12345678901234567890":true}')).toEqual([]);
  });
});

describe('keys that reach a prototype', () => {
  it.each([
    ['{"__proto__":{"admin":true}}', '__proto__'],
    ['{"a":{"\\u005f_proto__":1}}', 'a.__proto__'],
    ['{"constructor":{"prototype":{"x":1}}}', 'constructor.prototype'],
  ])('%s', (text, path) => {
    expect(pathsOf(text)).toEqual([path]);
  });

  it('are no others: a constructor of a building is fine', () => {
    expect(faultsOf('{"constructor":"Hinz & Sohn","prototype":{"constructor":1},"proto":1}')).toEqual([]);
  });
});

describe('text', () => {
  it.each([['"\\ud800"'], ['"a\\udfffb"'], ['"\\udc00\\ud800"']])('%s is a lone surrogate', (text) => {
    expect(pathsOf(`[${text}]`)).toEqual(['0']);
  });

  it('may hold pairs, escapes, and anything in UTF-8', () => {
    expect(faultsOf('["\\ud83d\\ude00","😀","\\\\","\\"","\\u0000","{\\"a\\":1,\\"a\\":2}"]')).toEqual([]);
  });
});

describe('depth', () => {
  const nested = (levels: number) => `${'['.repeat(levels)}${']'.repeat(levels)}`;

  it('may be 64 levels', () => {
    expect(scanJson(nested(64), 64)).toEqual({ depth: 'ok', faults: [], needsRepair: false });
  });

  it('stops at the 65th, before a parser sees it', () => {
    const { depth, faults } = scanJson(nested(65), 64);
    expect(depth).toBe('too-deep');
    expect(faults).toHaveLength(1);
  });

  it('is told in no time for a text of two million brackets', () => {
    const before = process.cpuUsage().user;
    expect(scanJson('[{"a":'.repeat(1_000_000), 64).depth).toBe('too-deep');
    expect((process.cpuUsage().user - before) / 1000).toBeLessThan(10_000);
  });
});

describe('as properties', () => {
  /** Doubles within what is passed, so that any JSON is fair. */
  const json = fc.jsonValue({ maxDepth: 6 }).filter((value) => !JSON.stringify(value).includes('__proto__'));

  it('finds nothing in what JSON.stringify wrote, unless it holds an integer beyond 2^53', () => {
    fc.assert(
      fc.property(json, fc.nat(3), (value, indent) => {
        const text = JSON.stringify(value, null, indent);
        const faults = faultsOf(text).filter(({ message }) => !message.includes('beyond'));
        expect(faults.filter(({ message }) => !message.includes('surrogate'))).toEqual([]);
      }),
    );
  });

  it('finds every key that is repeated anywhere', () => {
    fc.assert(
      fc.property(fc.array(fc.string(), { minLength: 1, maxLength: 5 }), fc.string(), json, (around, key, value) => {
        fc.pre(key !== '__proto__' && !around.includes('__proto__'));
        const member = `${JSON.stringify(key)}:${JSON.stringify(value)}`;
        const text = around.reduce(
          (inner, name) => `{${JSON.stringify(name)}:[${inner}]}`,
          `{${member},"between":0,${member}}`,
        );
        expect(faultsOf(text).some(({ message }) => message === 'is a duplicate key')).toBe(true);
      }),
    );
  });

  it('says that a number is kept exactly when its digits come back', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        const isWhole = Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21;
        expect(faultsOf(`[${JSON.stringify(value)}]`)).toHaveLength(isWhole ? 1 : 0);
      }),
    );
  });

  it('takes every double with an exponent, in its shortest form and with all 17 digits', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(faultsOf(`[${value.toExponential()},${value.toExponential(16)}]`)).toEqual([]);
      }),
    );
  });

  it('takes the shortest print of a double that lies between two decimals of 17 digits', () => {
    expect(faultsOf('[19690123682919452e-1]')).toEqual([]);
    expect(faultsOf('[1969012368291945.3]')).toEqual([]);
    expect(faultsOf('[1969012368291945.4]')).toHaveLength(1);
  });

  it('takes a number of up to 17 digits in any spelling but digits alone exactly when they are those of its double', () => {
    const wholes = fc.bigInt({ min: 1n, max: 10n ** 17n - 1n });
    fc.assert(
      fc.property(wholes, fc.integer({ min: -30, max: 30 }), fc.boolean(), (digits, power, isNegative) => {
        const bare = String(digits).replace(/0+$/, '');
        const sign = isNegative ? '-' : '';
        const texts = [
          `${bare}e${power}`,
          `${bare[0]}.${bare.slice(1)}0e${power + bare.length - 1}`,
          `0.${bare}E${power + bare.length}`,
        ];
        for (const text of texts) {
          const value = Number(text);
          // Between two decimals of 17 digits the shortest print may be the lower one, and `toPrecision` takes the upper one.
          const isSame = [value.toPrecision(bare.length), String(value)].some(
            (printed) => Number(printed) === value && digitsOf(printed) === bare,
          );
          expect(faultsOf(`[${sign}${text}]`)).toHaveLength(isSame ? 0 : 1);
        }
      }),
    );
  });

  it('refuses every whole number of digits alone beyond ±(2^53−1)', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 2n ** 53n, max: 10n ** 30n }), fc.constantFrom('', '-'), (whole, sign) => {
        expect(faultsOf(`[${sign}${whole}]`)).toHaveLength(1);
      }),
    );
  });

  it('ends without throwing on any text', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('{', '}', '[', ']', '"', ',', ':', '\\', 'u', '0', '1', 'e', '-', '.', 'a', ' '),
          maxLength: 60,
        }),
        (text) => {
          expect(() => scanJson(text, 64)).not.toThrow();
        },
      ),
      { numRuns: 1000 },
    );
  });
});
