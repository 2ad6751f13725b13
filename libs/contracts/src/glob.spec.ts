import fc from 'fast-check';
import { globProblem, matchesGlob } from './glob.js';

describe('matchesGlob', () => {
  it.each([
    ['delete_*', 'delete_file', true],
    ['delete_*', 'undelete_file', false],
    ['*', '', true],
    ['*', 'anything', true],
    ['get_?', 'get_a', true],
    ['get_?', 'get_', false],
    ['a?c', 'a\u{1f600}c', true],
    ['a??c', 'a\u{1f600}c', false],
    ['*?c', 'a\u{1f600}bc', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*b*c', 'a-b-b', false],
    ['exact', 'exact', true],
    ['exact', 'exactly', false],
    ['', '', true],
    ['a.c', 'abc', false],
  ])('"%s" on "%s" is %s', (glob, name, expected) => {
    expect(matchesGlob(glob, name)).toBe(expected);
  });

  it('agrees with the regular expression that means the same', () => {
    const part = fc.constantFrom('a', 'b', '*', '?');
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 8 }),
        fc.array(fc.constantFrom('a', 'b'), { maxLength: 8 }),
        (glob, name) => {
          const pattern = new RegExp(`^${glob.join('').replaceAll('*', '.*').replaceAll('?', '.')}$`);
          expect(matchesGlob(glob.join(''), name.join(''))).toBe(pattern.test(name.join('')));
        },
      ),
    );
  });

  it('does not blow up on a pattern that makes backtracking engines hang', () => {
    expect(matchesGlob(`${'*a'.repeat(100)}b`, 'a'.repeat(2000))).toBe(false);
  });
});

describe('globProblem', () => {
  it.each([
    ['', 'is empty'],
    ['a b', 'white space'],
    ['{a,b}', 'no meaning here'],
    ['[ab]', 'no meaning here'],
    ['x'.repeat(257), 'longer than 256'],
  ])('finds what is wrong with "%s"', (glob, problem) => {
    expect(globProblem(glob)).toContain(problem);
  });

  it('finds nothing wrong with a plain name or glob', () => {
    expect(globProblem('get_*')).toBeUndefined();
  });
});
