/**
 * Returns whether JSON says all of a value that it can carry: plain objects and arrays, texts, finite numbers, and objects that
 * write themselves, such as a date. JSON would write a Map, search parameters or an object of a class as `{}`, and NaN as null.
 */
export function isWholeInJson(value: unknown): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true;
    case 'number':
      return Number.isFinite(value);
    case 'object':
      return value === null || (writesItself(value) ? isWholeText(value.toJSON()) : isPlain(value));
    default:
      return false;
  }
}

function writesItself(value: object): value is { readonly toJSON: () => unknown } {
  return 'toJSON' in value && typeof value.toJSON === 'function';
}

/** A date that is none writes null. */
function isWholeText(written: unknown): boolean {
  if (written === null) return false;
  return typeof written === 'object' ? isPlain(written) : isWholeInJson(written);
}

function isPlain(value: object): boolean {
  if (Array.isArray(value)) return value.every(isWholeInJson);
  const prototype: unknown = Object.getPrototypeOf(value);
  // That of an object literal, also of another realm.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  const members = Object.entries(value);
  if (members.length !== Object.getOwnPropertyNames(value).length) return false;
  return members.every(([, member]) => member === undefined || isWholeInJson(member));
}
