import { describe, expect, it } from '@jest/globals';
import { comparedIdentity } from './compared-identity.js';

/** Those whose case or form can change. */
const characters = Array.from({ length: 0x11_00_00 }, (_, code) => code)
  .filter((code) => code < 0xd8_00 || code > 0xdf_ff)
  .map((code) => String.fromCodePoint(code))
  .filter((character) => /[\p{Cased}\p{CWKCF}]/u.test(character));

describe('the compared form of a name', () => {
  it.each([
    ['Kim', ' kim '],
    ['ΟΔΟΣ', 'οδοσ'],
    ['ΟΔΟΣ', 'οδος'],
    ['Straße', 'STRASSE'],
    ['STRAẞE', 'strasse'],
    ['İpek', 'i\u0307pek'],
    ['ŉdaba', 'ʼNDABA'],
    ['ᾼδης', 'αιδησ'],
    ['ΐ', 'Ϊ\u0301'],
    ['Ꭰ', 'ꭰ'],
    ['ﬁona', 'Fiona'],
  ])('is that of another spelling of the same name: %s, %s', (one, other) => {
    expect(comparedIdentity(one)).toBe(comparedIdentity(other));
  });

  it.each([
    ['alı', 'ali'],
    ['kim', 'kìm'],
    ['a b', 'ab'],
  ])('is not that of another name: %s, %s', (one, other) => {
    expect(comparedIdentity(one)).not.toBe(comparedIdentity(other));
  });

  it('has itself as compared form, and that of each capital and small letter', () => {
    const broken = characters.filter((character) => {
      const form = comparedIdentity(`x${character}x`);
      if (comparedIdentity(form) !== form) return true;
      const other = [character.toLowerCase(), character.toUpperCase()].map((one) => comparedIdentity(`x${one}x`));
      return character !== 'ı' && other.some((one) => one !== form);
    });
    expect(broken).toEqual([]);
  });
});
