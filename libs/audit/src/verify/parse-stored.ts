/** A number that is too large for a JSON number: it would be read as infinite, and written as null. */
const mayBeTooLarge = /[0-9][eE]\+?[0-9]{3}|[0-9]{309}/;

/**
 * Reads a stored JSON text. Undefined for a text that is none, and for one with a number beyond all JSON numbers. Attack: null
 * is replaced by such a number, whose RFC 8785 form would be the same.
 */
export function parseStored(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return mayBeTooLarge.test(text) && !isFinite(value) ? undefined : value;
  } catch {
    return undefined;
  }
}

/**
 * Reads a JSON text that was handed over. Undefined also for one with a member that is there twice: programs differ in which
 * of the two they show.
 */
export function parseShown(text: string): unknown {
  const value = parseStored(text);
  return value === undefined || JSON.stringify(value) === text || !hasMemberTwice(text) ? value : undefined;
}

/** Looks through a text that is JSON. */
function hasMemberTwice(text: string): boolean {
  const open: (Set<unknown> | undefined)[] = [];
  for (const [token, colon] of text.matchAll(/"[^"\\]*(?:\\.[^"\\]*)*"(\s*:)?|[[\]{}]/g)) {
    if (token === '{') open.push(new Set());
    else if (token === '[') open.push(undefined);
    else if (token === '}' || token === ']') open.pop();
    else if (colon !== undefined) {
      const [names, name] = [open.at(-1), JSON.parse(token.slice(0, -colon.length)) as unknown];
      if (names?.has(name) === true) return true;
      names?.add(name);
    }
  }
  return false;
}

function isFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isFinite);
}
