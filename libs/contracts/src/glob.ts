/**
 * Returns whether a name matches a glob: `*` matches any run of characters, `?` one, everything else itself. Two
 * pointers and one backtracking position: linear in practice, quadratic at worst, without a regular expression.
 */
export function matchesGlob(glob: string, name: string): boolean {
  let at = 0;
  let star = -1;
  let starAt = 0;
  let index = 0;
  while (index < name.length) {
    const wanted = glob[at];
    if (wanted === '*') {
      star = at;
      starAt = index;
      at += 1;
    } else if (wanted === '?') {
      at += 1;
      // A character such as an emoji takes two places of a text.
      index += (name.codePointAt(index) ?? 0) > 0xffff ? 2 : 1;
    } else if (wanted === name[index]) {
      at += 1;
      index += 1;
    } else if (star >= 0) {
      at = star + 1;
      starAt += 1;
      index = starAt;
    } else {
      return false;
    }
  }
  while (glob[at] === '*') at += 1;
  return at === glob.length;
}

/** Returns why a glob is invalid, or `undefined` when it is valid. */
export function globProblem(glob: string): string | undefined {
  if (glob === '') return 'is empty';
  if (glob.length > 256) return 'is longer than 256 characters';
  if (/[[\]{}\\]/.test(glob)) return 'uses [, ], {, } or \\, which have no meaning here: only * and ? do';
  if (/[\s\p{Cc}]/u.test(glob)) return 'contains white space or control characters';
  return undefined;
}
