import { celFunc, celList, celMethod, CelScalar, listType } from '@bufbuild/cel';
import type { CelFunc } from '@bufbuild/cel';

const { BOOL, INT, STRING } = CelScalar;

/** The characters of a text: an emoji is one, as for `size`. */
const charactersOf = (text: string): readonly string[] => Array.from(text);

/** @throws RangeError when an index is not in `0..max` */
function indexUpTo(max: number, index: bigint): number {
  if (index < 0n || index > BigInt(max)) throw new RangeError('the index is out of range');
  return Number(index);
}

function charAt(text: string, index: bigint): string {
  const characters = charactersOf(text);
  return characters[indexUpTo(characters.length, index)] ?? '';
}

function substring(text: string, from: bigint, to?: bigint): string {
  const characters = charactersOf(text);
  const end = to === undefined ? characters.length : indexUpTo(characters.length, to);
  return characters.slice(indexUpTo(end, from), end).join('');
}

/** The place of a part; `from`: where the search begins. */
function placeOf(text: string, part: string, which: 'indexOf' | 'lastIndexOf', from?: bigint): bigint {
  const start = from === undefined ? undefined : unitsBefore(text, from);
  const at = start === undefined ? text[which](part) : text[which](part, start);
  return at < 0 ? -1n : BigInt(charactersOf(text.slice(0, at)).length);
}

function unitsBefore(text: string, index: bigint): number {
  const characters = charactersOf(text);
  return characters.slice(0, indexUpTo(characters.length - 1, index)).join('').length;
}

/** At most `count` parts, of which the last has the rest. */
function split(text: string, separator: string, count: bigint): readonly string[] {
  const parts = separator === '' ? charactersOf(text) : text.split(separator);
  if (count < 0n || count >= BigInt(parts.length)) return parts;
  const last = Number(count) - 1;
  return last < 0 ? [] : [...parts.slice(0, last), parts.slice(last).join(separator)];
}

/** Halves of characters rank above all others: a character of two halves comes after those of one. */
const rank = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? unit + 0x2800 : unit);

function compare(one: string, other: string): number {
  const length = Math.min(one.length, other.length);
  for (let at = 0; at < length; at += 1) {
    const [left, right] = [one.charCodeAt(at), other.charCodeAt(at)];
    if (left !== right) return rank(left) - rank(right);
  }
  return one.length - other.length;
}

const trueTexts = ['1', 't', 'T', 'true', 'TRUE', 'True'];
const falseTexts = ['0', 'f', 'F', 'false', 'FALSE', 'False'];

function toBool(text: string): boolean {
  if (trueTexts.includes(text)) return true;
  if (falseTexts.includes(text)) return false;
  throw new Error('the text is no bool');
}

const order = (name: string, holds: (compared: number) => boolean): CelFunc =>
  celFunc(name, [STRING, STRING], BOOL, (one, other) => holds(compare(one, other)));

/**
 * The functions of texts that count and order characters. The library counts and orders the units of UTF-16, so that an
 * emoji is two, and cuts off what `split` leaves over.
 */
export const textFunctions: readonly CelFunc[] = [
  order('_<_', (compared) => compared < 0),
  order('_<=_', (compared) => compared <= 0),
  order('_>_', (compared) => compared > 0),
  order('_>=_', (compared) => compared >= 0),
  celFunc('bool', [STRING], BOOL, toBool),
  celMethod('charAt', STRING, [INT], STRING, function (index) {
    return charAt(this, index);
  }),
  celMethod('substring', STRING, [INT], STRING, function (from) {
    return substring(this, from);
  }),
  celMethod('substring', STRING, [INT, INT], STRING, function (from, to) {
    return substring(this, from, to);
  }),
  ...(['indexOf', 'lastIndexOf'] as const).flatMap((name) => [
    celMethod(name, STRING, [STRING], INT, function (part) {
      return placeOf(this, part, name);
    }),
    celMethod(name, STRING, [STRING, INT], INT, function (part, from) {
      return placeOf(this, part, name, from);
    }),
  ]),
  celMethod('split', STRING, [STRING], listType(STRING), function (separator) {
    return celList(split(this, separator, -1n));
  }),
  celMethod('split', STRING, [STRING, INT], listType(STRING), function (separator, count) {
    return celList(split(this, separator, count));
  }),
];
