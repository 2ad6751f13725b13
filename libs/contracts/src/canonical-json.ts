import type { JsonObject, JsonValue } from './json.js';

/**
 * The RFC 8785 (JCS) form of a JSON value: equal values have the same text, however they were written. A member that is
 * undefined is absent.
 * @throws TypeError for a value that JSON does not have: a number that is not finite, or half of a surrogate pair.
 */
export function canonicalJson(value: JsonValue | undefined): string {
  switch (typeof value) {
    case 'string':
      return canonicalText(value);
    case 'number':
      if (!Number.isFinite(value)) throw new TypeError(`${String(value)} is no JSON number`);
      return String(value);
    case 'boolean':
      return value ? 'true' : 'false';
    case 'undefined':
      return 'null';
    case 'object':
      if (value === null) return 'null';
      return isList(value) ? `[${value.map(canonicalJson).join(',')}]` : canonicalObject(value);
  }
}

function isList(value: object): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** JavaScript sorts and compares texts by their UTF-16 units, as RFC 8785 demands. */
function canonicalObject(value: JsonObject): string {
  let members = '';
  const names = Object.keys(value);
  if (!isSorted(names)) names.sort();
  for (const name of names) {
    const member = value[name];
    if (member === undefined) continue;
    if (members !== '') members += ',';
    members += `${canonicalText(name)}:${canonicalJson(member)}`;
  }
  return `{${members}}`;
}

/** To sort costs more than to look, and what has few members has them in order as often as not. */
function isSorted(names: readonly string[]): boolean {
  return names.every((name, index) => index === 0 || (names[index - 1] ?? '') < name);
}

/** The JCS form of a text. RFC 8785 takes its escapes from JSON.stringify. */
export function canonicalText(text: string): string {
  if (!text.isWellFormed()) throw new TypeError('half of a surrogate pair is no JSON text');
  return JSON.stringify(text);
}
