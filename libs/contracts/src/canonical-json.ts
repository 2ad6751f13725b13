import type { JsonObject, JsonValue } from './json.js';

/**
 * The RFC 8785 (JCS) form of a JSON value: equal values have the same text, however they were written. A member that is
 * undefined is absent.
 * @throws TypeError for a value that JSON does not have: a number that is not finite, or half of a surrogate pair.
 */
export function canonicalJson(value: JsonValue | undefined): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value === 'string') return canonicalText(value);
  if (typeof value === 'object')
    return isList(value) ? `[${value.map(canonicalJson).join(',')}]` : canonicalObject(value);
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${String(value)} is no JSON number`);
  return String(value);
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
