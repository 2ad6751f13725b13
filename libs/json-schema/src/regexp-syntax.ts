const parts = /\\[pP]\{([^{}]*)\}|\\[dDwWsS]|\\[^]|\(\?([ims]*)(-[ims]*)?:/g;

/** The names of properties that exist: some hundred. */
const known = new Set<string>();

/**
 * Returns whether a text is a pattern of JavaScript with this flag.
 *
 * Attack: a class of 50,000 `\p{L}`, which the engine builds for half a minute, or of `\W` without regard to case, which
 * fills the memory. It reads the pattern with one cheap class in place of every other, and without flags.
 */
export function isRegExp(text: string, flag: 'u' | 'v' = 'u'): boolean {
  if (/[^\\]\\Z/.test(text)) return false;
  const rights: boolean[] = [];
  const cheap = text.replace(parts, (part: string, property?: string, flags?: string, without?: string) => {
    if (property !== undefined) rights.push(isProperty(property));
    else if (flags !== undefined) rights.push(areFlags(flags, without));
    else if (!/^\\[dDwWsS]/.test(part)) return part;
    return flags === undefined ? String.raw`\d` : '(?:';
  });
  return rights.every(Boolean) && isPattern(cheap, flag);
}

function isProperty(name: string): boolean {
  if (known.has(name)) return true;
  if (!isPattern(`\\p{${name}}`, 'u')) return false;
  known.add(name);
  return true;
}

/** Each flag once, and at least one. */
function areFlags(flags: string, without: string | undefined): boolean {
  const all = flags + (without ?? '').slice(1);
  return new Set(all).size === all.length && (all !== '' || without === undefined);
}

function isPattern(text: string, flag: 'u' | 'v'): boolean {
  try {
    new RegExp(text, flag);
    return true;
  } catch {
    return false;
  }
}
