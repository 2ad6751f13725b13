import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { exactNumber, inexactNumberIn } from './exact-numbers.js';

describe('a number that a person types', () => {
  it.each([
    ['0', 0],
    ['-12.50', -12.5],
    ['1e3', 1000],
    ['0.1', 0.1],
    ['9007199254740992', 2 ** 53],
    ['5e-324', 5e-324],
  ])('%s is kept', (text, number) => {
    expect(exactNumber(text)).toBe(number);
  });

  it.each(['9007199254740993', '0.1000000000000000055511151231257827', '1e400', '01', '1.', '+1', '', 'NaN', '0x10'])(
    '%j would become another one, or is none',
    (text) => {
      expect(exactNumber(text)).toBeUndefined();
    },
  );

  it('is kept however JavaScript writes it', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (number) => {
        expect(exactNumber(JSON.stringify(number))).toBe(number === 0 ? 0 : number);
      }),
    );
  });

  it('is found in a JSON text, and not inside of its strings', () => {
    expect(inexactNumberIn('{"a":"12345678901234567890 \\" 1e999","b":[1,2.5]}')).toBeUndefined();
    expect(inexactNumberIn('{"a":[1,12345678901234567891]}')).toBe('12345678901234567891');
  });
});
