import type { JsonValue } from '@countersign/contracts';
import { spend } from './work.js';
import type { Work } from './work.js';

/** The canonical texts of containers, each written once. */
export type CanonicalTexts = Map<JsonValue, string>;

/**
 * A text that is equal for two JSON values exactly when JSON Schema treats them as equal: `1` and `1.0`, members in any
 * order.
 */
export function canonicalText(value: JsonValue, texts: CanonicalTexts, work: Work): string {
  if (typeof value === 'string') {
    spend(work, value.length >> 4);
    return JSON.stringify(value);
  }
  if (typeof value !== 'object' || value === null) return String(value === 0 ? 0 : value);
  const known = texts.get(value);
  if (known !== undefined) return known;
  const text = containerText(value, texts, work);
  texts.set(value, text);
  return text;
}

function containerText(value: JsonValue & object, texts: CanonicalTexts, work: Work): string {
  if (!spend(work, 1)) return '';
  const parts = Array.isArray(value)
    ? (value as readonly JsonValue[]).map((item) => canonicalText(item, texts, work))
    : Object.entries(value as Record<string, JsonValue>)
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, item]) => `${JSON.stringify(key)}:${canonicalText(item, texts, work)}`);
  const text = Array.isArray(value) ? `[${parts.join()}]` : `{${parts.join()}}`;
  spend(work, parts.length + (text.length >> 4));
  return text;
}

/** Returns whether a number is a multiple of another, in exact decimal arithmetic: 0.3 of 0.1, 1e308 of 0.5. */
export function isMultiple(value: number, divisor: number): boolean {
  if (!Number.isFinite(value)) return false;
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0;
  const [digits, exponent] = decimalOf(value);
  const [divisorDigits, divisorExponent] = decimalOf(divisor);
  const shift = exponent - divisorExponent;
  if (shift >= 0) return (digits * 10n ** BigInt(shift)) % divisorDigits === 0n;
  return digits % (divisorDigits * 10n ** BigInt(-shift)) === 0n;
}

function decimalOf(value: number): readonly [bigint, number] {
  const [mantissa = '0', exponent = '0'] = Math.abs(value).toString().split('e');
  const point = mantissa.indexOf('.');
  const decimals = point < 0 ? 0 : mantissa.length - point - 1;
  return [BigInt(mantissa.replace('.', '')), Number(exponent) - decimals];
}

/** The length of a text in code points. */
export function characterCount(text: string): number {
  let count = text.length;
  for (let at = 1; at < text.length; at += 1) {
    const isLow = (text.charCodeAt(at) & 0xfc00) === 0xdc00;
    if (isLow && (text.charCodeAt(at - 1) & 0xfc00) === 0xd800) count -= 1;
  }
  return count;
}
