import canonicalize from 'canonicalize';
import type { JsonObject, JsonValue } from './json.js';

/**
 * The RFC 8785 (JCS) form of a JSON value: equal values have the same text, however they were written. A member that is
 * undefined is absent.
 * @throws Error for a value that JSON does not have: a number that is not finite, or half of a surrogate pair.
 */
export function canonicalJson(value: JsonValue | undefined): string {
  if (typeof value === 'string') return canonicalText(value);
  if (Array.isArray(value)) return `[${Array.from(value as readonly JsonValue[], canonicalJson).join(',')}]`;
  if (typeof value === 'object' && value !== null) return canonicalObject(value as JsonObject);
  if (value === null || typeof value === 'boolean' || (typeof value === 'number' && Number.isFinite(value)))
    return String(value);
  // The package refuses what JSON does not have. It is slow: it makes a set for each value.
  return canonicalize(value) ?? 'null';
}

function canonicalObject(members: Readonly<Record<string, JsonValue | undefined>>): string {
  let written = '';
  // The standard sorts by UTF-16 units, and so does `sort`.
  for (const name of Object.keys(members).sort()) {
    const member = members[name];
    if (member !== undefined) written += `${written === '' ? '' : ','}${canonicalText(name)}:${canonicalJson(member)}`;
  }
  return `{${written}}`;
}

/** A text that JSON writes as it is, between quotes: most names and texts. */
const plain = /^[ !#-[\]-~]*$/;
/** In a longer text `JSON.stringify` searches by itself. */
const plainMax = 128;

/** The JCS form of a text, without the work of a tree: most members of a digest are texts. */
export function canonicalText(text: string): string {
  if (text.length <= plainMax && plain.test(text)) return `"${text}"`;
  return text.isWellFormed() ? JSON.stringify(text) : (canonicalize(text) ?? 'null');
}
