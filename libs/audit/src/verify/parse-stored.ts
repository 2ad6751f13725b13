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

function isFinite(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value !== 'object' || value === null || Object.values(value).every(isFinite);
}
