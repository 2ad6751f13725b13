import { expect, it } from '@jest/globals';
import { comparedIdentity } from '@countersign/contracts';
import { isSameIdentity } from '@countersign/domain';

it('the domain compares names as the contracts do', () => {
  const changing = /[\p{Cased}\p{CWKCF}]/u;
  for (let code = 0; code < 0x11_00_00; code += 1) {
    if (code >= 0xd8_00 && code <= 0xdf_ff) continue;
    const name = `A${String.fromCodePoint(code)}ς`;
    if (changing.test(name.slice(1, -1)) && !isSameIdentity(name, comparedIdentity(name)))
      expect(code.toString(16)).toBe('');
  }
  expect([isSameIdentity('Straße', 'STRASSE'), isSameIdentity('alı', 'ali')]).toEqual([true, false]);
});
