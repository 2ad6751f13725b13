/**
 * The RFC 8785 (JCS) form of a JSON value; undefined for a value that JSON does not have, such as half a character or a number that is
 * not finite. A member that is undefined is absent.
 */
export function canonicalForm(value: unknown): string | undefined {
  if (value === null || typeof value === 'boolean') return String(value);
  if (typeof value === 'number') return Number.isFinite(value) ? JSON.stringify(value) : undefined;
  if (typeof value === 'string') return value.isWellFormed() ? JSON.stringify(value) : undefined;
  if (Array.isArray(value)) return joined(value.map(canonicalForm), '[', ']');
  return typeof value === 'object' && isPlain(value) ? formOfObject(value) : undefined;
}

/** Attack: arguments in a Map, which has no members of its own, look like none. An object of another realm is plain too. */
function isPlain(value: object): value is Readonly<Record<string, unknown>> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

function formOfObject(members: Readonly<Record<string, unknown>>): string | undefined {
  // The standard sorts by UTF-16 units, and so does `sort`.
  const names = Object.keys(members)
    .filter((name) => members[name] !== undefined)
    .sort();
  const forms = names.map((name) => {
    const [key, form] = [canonicalForm(name), canonicalForm(members[name])];
    return key === undefined || form === undefined ? undefined : `${key}:${form}`;
  });
  return joined(forms, '{', '}');
}

function joined(forms: readonly (string | undefined)[], open: string, close: string): string | undefined {
  return forms.includes(undefined) ? undefined : `${open}${forms.join(',')}${close}`;
}
