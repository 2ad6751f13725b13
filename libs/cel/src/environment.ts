import { celEnv, celFunc, celMethod, CelScalar, isCelError, isCelList, isCelMap } from '@bufbuild/cel';
import type { CelEnv, CelFunc, CelInput, CelValue } from '@bufbuild/cel';
import { strings } from '@bufbuild/cel/ext';
import { checkOrder, checkText, conversions } from './conversions.js';
import { limits } from './limits.js';
import { meterProblems } from './meter.js';
import type { Meter } from './meter.js';
import { compilePattern } from './patterns.js';
import { textFunctions } from './texts.js';
import { timeParts } from './times.js';

/**
 * Functions that only the guard's own calls may name: `@` cannot be written in an expression. `@range` charges for the
 * whole of a range before a loop copies it; `@tick` charges for each step. `@has` is `has(value.member)`, and `@key` the
 * key in `value[key]`: the library takes a text for a map without members, and `true` for the index 1 of a list.
 */
export const guardFunctions = { range: '@range', tick: '@tick', has: '@has', key: '@key' } as const;

/** Left out: `quote` is of no use in a rule; each of the others builds a text of any length from a short one. */
const leftOut = new Set(['replace', 'format', 'join', 'strings.quote']);

/** They compare whole values, so they cost what the input is large. */
const comparisons = new Set(['_==_', '_!=_', '@in']);

/** Functions that search one text in another. The worst cost is the product of both lengths. */
const searches = new Set(['contains', 'indexOf', 'lastIndexOf', 'split']);
/** How many comparisons of characters are one unit of cost, about a microsecond. */
const comparisonsPerUnit = 4096;

const timePart = /^get[A-Z]/;
/** A part of a time in a named zone makes the runtime load the zone. */
const zoneCost = 100;

/** How much work one look at the whole of a value is. */
function weight(value: CelValue | undefined): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length / 16;
  return isCelList(value) || isCelMap(value) ? value.size : 0;
}

function isAggregate(value: CelValue | undefined): boolean {
  return isCelList(value) || isCelMap(value);
}

/** The functions of an expression, and the names by which it may call them. */
export interface Environment {
  readonly env: CelEnv;
  readonly functionNames: ReadonlySet<string>;
  /** The functions that may return true or false. */
  readonly conditions: ReadonlySet<string>;
}

/**
 * The standard functions and the string extension, each of which charges for its work.
 * @param inputSize how many values the variables have, for the cost of a comparison
 */
export function createEnvironment(meter: Meter, inputSize: () => number): Environment {
  const re2 = { compile: compilePattern };
  const own = [...conversions, ...textFunctions, ...timeParts];
  const known = [...celEnv({ funcs: [...strings, ...own], re2 }).funcs].filter(({ name }) => !leftOut.has(name));
  const funcs = [
    ...known.map((func) => metered(func, meter, inputSize)),
    ...loopFunctions(meter),
    ...accessFunctions(meter),
  ];
  const namesOf = (some: readonly CelFunc[]): ReadonlySet<string> => new Set(some.map(({ name }) => name));
  const conditions = known.filter(({ result }) => result === CelScalar.BOOL || result === CelScalar.DYN);
  const returning = new Set([...namesOf(conditions), guardFunctions.has]);
  return { env: celEnv({ funcs }), functionNames: namesOf(known), conditions: returning };
}

function metered(func: CelFunc, meter: Meter, inputSize: () => number): CelFunc {
  const work = (target: CelValue | undefined, args: readonly CelValue[]): CelInput => {
    meter.charge(costOf(func.name, target, args, inputSize));
    checkText(func, args);
    checkOrder(func, args);
    const result = func.call(0, target, [...args]);
    // Thrown to the library, which turns it into an error value again.
    if (isCelError(result)) throw result;
    if (result === undefined) throw new Error(`${func.name} does not take these types`);
    checkSize(result, meter);
    return result;
  };
  const { name, target, arguments: types, result } = func;
  if (target === undefined) return celFunc(name, types, result, (...args) => work(undefined, args) as never);
  return celMethod(name, target, types, result, function (...args) {
    return work(this, args);
  });
}

function costOf(
  name: string,
  target: CelValue | undefined,
  args: readonly CelValue[],
  inputSize: () => number,
): number {
  const [first] = args;
  if (name === 'matches') {
    // A linear engine: the length of the text times that of the pattern.
    return 20 + ((lengthOf(target) + 16) * (lengthOf(first) + 4)) / 8;
  }
  if (timePart.test(name)) return args.length === 0 ? 1 : zoneCost;
  const searched = searches.has(name) ? (lengthOf(target) * lengthOf(first)) / comparisonsPerUnit : 0;
  const looked = args.reduce<number>((sum, value) => sum + weight(value), 1 + weight(target));
  return comparisons.has(name) && args.some(isAggregate) ? looked + inputSize() : looked + searched;
}

function lengthOf(value: CelValue | undefined): number {
  return typeof value === 'string' ? value.length : 0;
}

function checkSize(result: CelValue, meter: Meter): void {
  if (typeof result === 'string' && result.length > limits.text) meter.stop(meterProblems.text);
  if (isCelList(result) && result.size > limits.items) meter.stop(meterProblems.list);
}

function loopFunctions(meter: Meter): CelFunc[] {
  const range = celFunc(guardFunctions.range, [CelScalar.DYN], CelScalar.DYN, (value) => {
    meter.charge(isAggregate(value) ? 2 + 2 * weight(value) : 1);
    return value;
  });
  const tick = celFunc(guardFunctions.tick, [], CelScalar.BOOL, () => {
    meter.charge(1);
    return true;
  });
  return [range, tick];
}

function accessFunctions(meter: Meter): CelFunc[] {
  const has = celFunc(guardFunctions.has, [CelScalar.DYN, CelScalar.STRING], CelScalar.BOOL, (value, member) => {
    meter.charge(1);
    if (!isCelMap(value)) throw new Error('no matching overload: only a map has members');
    return value.has(member);
  });
  const key = celFunc(guardFunctions.key, [CelScalar.DYN], CelScalar.DYN, (value) => {
    if (typeof value === 'boolean') throw new Error('no matching overload: a truth value is no index');
    return value;
  });
  return [has, key];
}
