import canonicalize from 'canonicalize';
import type { JsonValue } from './json.js';

/**
 * The RFC 8785 (JCS) form of a JSON value: equal values have the same text, however they were written. A member that is
 * undefined is absent.
 * @throws Error for a value that JSON does not have: a number that is not finite, or half of a surrogate pair.
 */
export function canonicalJson(value: JsonValue | undefined): string {
  return canonicalize(value) ?? 'null';
}

/** The JCS form of a text, without the work of a tree: most members of a digest are texts. */
export function canonicalText(text: string): string {
  return text.isWellFormed() ? JSON.stringify(text) : canonicalJson(text);
}
