/** A glob as a test of names: `*` stands for any characters, `?` for one. */
export function globOf(glob: string): (name: string) => boolean {
  if (!/[*?]/.test(glob)) return (name) => name === glob;
  const [first = [], ...others] = glob.split('*').map((part) => Array.from(part));
  const last = others.pop();
  return (name) => {
    const letters = Array.from(name);
    if (!isAt(letters, 0, first)) return false;
    if (last === undefined) return letters.length === first.length;
    const from = others.reduce((place, part) => behind(letters, place, part), first.length);
    const tail = letters.length - last.length;
    return tail >= from && isAt(letters, tail, last);
  };
}

/** The place behind the first occurrence of a part; beyond every name where there is none. */
function behind(letters: readonly string[], from: number, part: readonly string[]): number {
  for (let place = from; place + part.length <= letters.length; place += 1) {
    if (isAt(letters, place, part)) return place + part.length;
  }
  return Infinity;
}

function isAt(letters: readonly string[], from: number, part: readonly string[]): boolean {
  return part.every((letter, index) => {
    const found = letters[from + index];
    return found !== undefined && (letter === '?' || letter === found);
  });
}
