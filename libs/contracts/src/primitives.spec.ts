import { externalIdSchema } from './primitives.js';

describe('an id that somebody else chose', () => {
  const problems = (id: string): readonly string[] =>
    (externalIdSchema.safeParse(id).error?.issues ?? []).map(({ message }) => message);

  it.each([
    ['r-1', []],
    ['größer 😀', []],
    ['x'.repeat(256), []],
    ['', ['Too small: expected string to have >=1 characters']],
    ['x'.repeat(257), ['Too big: expected string to have <=256 characters']],
    ['a\u0007b', ['must not contain control characters']],
    ['a\u2028b', ['must not contain control characters']],
  ])('%j', (id, expected) => {
    expect(problems(id)).toEqual(expected);
  });
});
