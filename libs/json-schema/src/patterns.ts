import { RE2JS, RE2JSCompileException, RE2JSSyntaxException } from 're2js';
import { characterCount } from './canonical.js';
import { schemaLimits } from './limits.js';
import { insideOf, shapeOf, textOfAtoms, timesOf } from './pattern-shape.js';
import type { Atom } from './pattern-shape.js';
import { hasSetNotation, toRe2Text } from './pattern-text.js';
import { estimatedProgram } from './program-size.js';

/** A compiled pattern, linear in the length of every text. */
export interface Pattern {
  readonly program: number;
  readonly test: (text: string) => boolean;
}

/** A pattern, or why it cannot be checked. */
export type PatternResult = { readonly pattern: Pattern } | { readonly reason: string };

const notSupported: PatternResult = { reason: 'uses a construct that patterns here do not support' };
const tooLarge: PatternResult = { reason: 'is too large: shorten it or its repetitions' };

const compiled = new Map<string, Pattern>();
let compiledPrograms = 0;
/** A compiled pattern takes about 20 kB, and about 100 bytes for each instruction. */
const compiledMax = 500;
const compiledProgramsMax = 150_000;

/** Compiles a pattern, once for all schemas that have it. */
export function compilePattern(text: string): PatternResult {
  const known = compiled.get(text);
  if (known !== undefined) {
    compiled.delete(text);
    compiled.set(text, known);
    return { pattern: known };
  }
  const { patternCharsMax, programMax } = schemaLimits;
  if (text.length > patternCharsMax) return { reason: `has more than ${patternCharsMax} characters` };
  // Before it is taken apart: a class ends at another place there.
  if (hasSetNotation(text)) return notSupported;
  const result = anyOf(text, 0);
  if (!('pattern' in result)) return result;
  if (result.pattern.program > programMax) return tooLarge;
  keep(text, result.pattern);
  return result;
}

function keep(text: string, pattern: Pattern): void {
  compiled.set(text, pattern);
  compiledPrograms += pattern.program;
  for (const [oldest, { program }] of compiled) {
    if (compiled.size <= compiledMax && compiledPrograms <= compiledProgramsMax) return;
    compiled.delete(oldest);
    compiledPrograms -= program;
  }
}

/** More alternatives are compiled as one. */
const alternativesMax = 8;

/** Attack: groups in groups, to have each of them read again and again. */
const depthMax = 3;

/** A pattern matches where one of its alternatives does. One by one they have simpler forms. */
function anyOf(text: string, depth: number): PatternResult {
  const shape = depth > depthMax ? undefined : shapeOf(text);
  const isShort = shape !== undefined && shape.length <= alternativesMax;
  const alternatives = isShort ? shape.map((atoms) => allOf(atoms, depth)) : undefined;
  if (alternatives === undefined || !alternatives.some((one) => one.isSimpler)) return compileWhole(text);
  return together(
    alternatives.map(({ result }) => result),
    (tests) => (value) => tests.some((test) => test(value)),
  );
}

interface Simplified {
  readonly result: PatternResult;
  readonly isSimpler: boolean;
}

const looks = /^\(\?([=!])([^]*)\)$/;

/**
 * A look-ahead at the begin is a pattern of its own for the same text: `^(?=A)B` matches where `^A` and `^B` do,
 * `^(?!A)B` where `^B` does and `^A` does not.
 */
function allOf(atoms: readonly Atom[], depth: number): Simplified {
  const [begin, ...rest] = atoms;
  if (begin?.kind !== 'begin') return { result: compileWhole(textOfAtoms(atoms)), isSimpler: false };
  const isOther = (atom: Atom): boolean => atom.quantifier !== '' || !looks.test(atom.text);
  const end = rest.findIndex(isOther);
  const ahead = end < 0 ? rest : rest.slice(0, end);
  const own = counted([begin, ...rest.slice(ahead.length)], depth);
  if (ahead.length === 0) return own;
  const asked = ahead.map((atom) => {
    const [, sign, inside = ''] = looks.exec(atom.text) ?? [];
    return negatedIf(sign === '!', anyOf(atBegin(inside), depth + 1));
  });
  const result = together([own.result, ...asked], (tests) => (value) => tests.every((test) => test(value)));
  return { result, isSimpler: true };
}

function atBegin(inside: string): string {
  return (shapeOf(inside) ?? []).map((atoms) => `^${textOfAtoms(atoms)}`).join('|');
}

function negatedIf(isNegated: boolean, result: PatternResult): PatternResult {
  if (!isNegated || !('pattern' in result)) return result;
  const { program, test } = result.pattern;
  return { pattern: { program, test: (text) => !test(text) } };
}

function together(
  results: readonly PatternResult[],
  combine: (tests: readonly Pattern['test'][]) => Pattern['test'],
): PatternResult {
  const patterns: Pattern[] = [];
  for (const result of results) {
    if (!('pattern' in result)) return result;
    patterns.push(result.pattern);
  }
  const program = patterns.reduce((sum, one) => sum + one.program, 0);
  return { pattern: { program, test: combine(patterns.map(({ test }) => test)) } };
}

/** Fewer repetitions are cheap as they are. */
const repeatsMin = 16;

/**
 * A counted repetition of one character is a check of the length, where all else in the pattern has one length:
 * `^[a-z]{1,255}$` matches texts of `^[a-z]*$` with 1 to 255 characters. As a program it has 255 copies of the class.
 */
function counted(atoms: readonly Atom[], depth: number): Simplified {
  const [begin, ...rest] = atoms;
  const end = rest.pop();
  if (begin?.kind !== 'begin' || end?.kind !== 'end') return asItIs(atoms);
  const [only, ...others] = rest;
  const inside = only === undefined || others.length > 0 ? undefined : insideOf(only);
  if (inside !== undefined) return each(inside, depth);
  const many = countableIn(rest);
  if (many === undefined) return asItIs(atoms);
  const free = rest.map((atom) => (atom === many ? { ...atom, quantifier: '*' } : atom));
  const result = compileWhole(textOfAtoms([begin, ...free, end]));
  return 'pattern' in result ? withLength(result.pattern, rest) : { result, isSimpler: false };
}

/** The atom whose repetitions can be counted by the length of the text: no other one has a length of its own. */
function countableIn(atoms: readonly Atom[]): Atom | undefined {
  if (!atoms.every(({ kind }) => kind === 'character')) return undefined;
  const variable = atoms.filter((atom) => timesOf(atom).min !== timesOf(atom).max);
  const many = (variable.length === 0 ? atoms : variable).find((atom) => {
    const { min, max } = timesOf(atom);
    return Math.max(min, max === Infinity ? 0 : max) > repeatsMin;
  });
  return variable.length <= 1 ? many : undefined;
}

function withLength({ program, test }: Pattern, atoms: readonly Atom[]): Simplified {
  const min = atoms.reduce((sum, atom) => sum + timesOf(atom).min, 0);
  const max = atoms.reduce((sum, atom) => sum + timesOf(atom).max, 0);
  const hasLength = (text: string): boolean => {
    // A character takes one or two units.
    if (text.length < min || text.length > 2 * max) return false;
    const length = characterCount(text);
    return length >= min && length <= max;
  };
  return { result: { pattern: { program, test: (text) => hasLength(text) && test(text) } }, isSimpler: true };
}

/** `^(?:a|b)$` matches what `^(?:a)$` or `^(?:b)$` does. */
function each(inside: string, depth: number): Simplified {
  const shape = shapeOf(inside) ?? [];
  const all = shape.map((atoms) => `^${textOfAtoms(atoms)}$`).join('|');
  return { result: anyOf(all, depth + 1), isSimpler: true };
}

function asItIs(atoms: readonly Atom[]): Simplified {
  return { result: compileWhole(textOfAtoms(atoms)), isSimpler: false };
}

function compileWhole(text: string): PatternResult {
  if (estimatedProgram(text) > 2 * schemaLimits.programMax) return tooLarge;
  const re2Text = toRe2Text(text);
  if (re2Text === undefined) return notSupported;
  try {
    const re2 = RE2JS.compile(RE2JS.translateRegExp(re2Text));
    return { pattern: { program: re2.programSize(), test: (value) => re2.test(value) } };
  } catch (error) {
    // Any other error is a failure of the engine, and says nothing about the pattern.
    if (!(error instanceof RE2JSSyntaxException || error instanceof RE2JSCompileException)) throw error;
    return { reason: `is not a linear-time pattern (RE2): ${error.message}` };
  }
}
