import { tokenAt } from './pattern-text.js';

/** One piece of a pattern between two others, such as `[a-z]{1,255}`. */
export interface Atom {
  readonly kind: 'character' | 'group' | 'begin' | 'end' | 'other';
  /** Without its quantifier. */
  readonly text: string;
  readonly quantifier: string;
}

/** The alternatives of a pattern, each as its atoms; undefined when it is malformed. */
export type Shape = readonly (readonly Atom[])[];

const quantifiers = /(?:[*+?]|\{\d+(?:,\d*)?\})\??/y;

/** Takes a pattern apart, at its outermost level. */
export function shapeOf(pattern: string): Shape | undefined {
  const alternatives: Atom[][] = [[]];
  for (let at = 0; at < pattern.length;) {
    if (pattern[at] === '|') {
      alternatives.push([]);
      at += 1;
      continue;
    }
    const end = endOfAtom(pattern, at);
    if (end === undefined) return undefined;
    quantifiers.lastIndex = end;
    const quantifier = quantifiers.exec(pattern)?.[0] ?? '';
    const text = pattern.slice(at, end);
    alternatives.at(-1)?.push({ kind: kindOf(text), text, quantifier });
    at = end + quantifier.length;
  }
  return alternatives;
}

function kindOf(text: string): Atom['kind'] {
  if (text === '^') return 'begin';
  if (text === '$') return 'end';
  if (text.startsWith('(')) return 'group';
  return /^\\[bB1-9k]/.test(text) || /^[*+?{}]/.test(text) ? 'other' : 'character';
}

/** Escapes of one character that have more than two signs. */
const escapes = /\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|c[A-Za-z])/y;

function lengthOfToken(pattern: string, at: number): number {
  const { length } = tokenAt(pattern, at);
  escapes.lastIndex = at;
  return length === 2 ? (escapes.exec(pattern)?.[0].length ?? length) : length;
}

/** A class or a group ends where it is closed. */
function endOfAtom(pattern: string, start: number): number | undefined {
  let depth = 0;
  let inClass = false;
  for (let at = start; at < pattern.length;) {
    const token = pattern.slice(at, at + lengthOfToken(pattern, at));
    at += token.length;
    if (inClass) inClass = token !== ']';
    else if (token.startsWith('[')) inClass = true;
    else if (token === '(') depth += 1;
    else if (token === ')') depth -= 1;
    if (depth < 0) return undefined;
    if (depth === 0 && !inClass) return at;
  }
  return undefined;
}

/** The text of a group that stands once; undefined for a look-around, or a group with another meaning. */
export function insideOf({ kind, text, quantifier }: Atom): string | undefined {
  if (kind !== 'group' || quantifier !== '') return undefined;
  const [, inside] = /^\((?:\?:)?(?!\?)([^]*)\)$/.exec(text) ?? [];
  return inside;
}

/** How often an atom repeats; `max` may be infinite. */
export function timesOf({ quantifier }: Atom): { readonly min: number; readonly max: number } {
  const sign = quantifier.charAt(0);
  if (sign === '') return { min: 1, max: 1 };
  if (sign !== '{') return { min: sign === '+' ? 1 : 0, max: sign === '?' ? 1 : Infinity };
  const [min = '', max] = quantifier.replace(/[{}?]/g, '').split(',');
  return { min: Number(min), max: max === undefined ? Number(min) : max === '' ? Infinity : Number(max) };
}

/** Atoms as a pattern again. */
export function textOfAtoms(atoms: readonly Atom[]): string {
  return atoms.map(({ text, quantifier }) => text + quantifier).join('');
}
