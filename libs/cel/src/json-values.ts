import { celList } from '@bufbuild/cel';
import type { CelMap, CelValue } from '@bufbuild/cel';
import { concealed } from '@countersign/contracts';
import type { JsonObject, JsonValue } from '@countersign/contracts';

/** The library recognises its maps by this symbol. */
const mapMark = Symbol.for('@bufbuild/cel/map');

/**
 * A JSON object as a CEL map, converted as far as an expression looks. The library's own conversion fails on a member
 * named `constructor`, and its maps say that a member whose value is null does not exist.
 */
function jsonMap(json: JsonObject): CelMap {
  // An own member only: `args.constructor` must not find what every object of JavaScript inherits.
  const has = (key: unknown): key is string => typeof key === 'string' && Object.hasOwn(json, key);
  const converted = new Map<string, () => CelValue>();
  // Attack: a long list that each of many rules looks at. It is converted once, and a hidden value in it is found once.
  const member = (key: string): CelValue => {
    const value = json[key] ?? null;
    if (value === null || typeof value !== 'object') return value;
    const known = converted.get(key) ?? keepResult(() => toCelValue(value));
    converted.set(key, known);
    return known();
  };
  const get = (key: unknown): CelValue | undefined => (has(key) ? member(key) : undefined);
  const entries = (): MapIterator<[string, CelValue]> =>
    Object.keys(json)
      .map((key): [string, CelValue] => [key, member(key)])
      .values();
  const map = {
    [mapMark]: {},
    get size() {
      return Object.keys(json).length;
    },
    has,
    get,
    keys: () => Object.keys(json).values(),
    values: () => Object.keys(json).map(member).values(),
    entries,
    forEach: (visit: (value: CelValue, key: string) => void) => {
      for (const [key, value] of entries()) visit(value, key);
    },
    [Symbol.iterator]: entries,
  };
  // The library's interface has a private symbol, which `mapMark` stands for.
  return map as unknown as CelMap;
}

/** Runs a conversion at once, and returns what gives or throws its result. */
function keepResult(convert: () => CelValue): () => CelValue {
  try {
    const value = convert();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}

function isList(json: JsonValue): json is readonly JsonValue[] {
  return Array.isArray(json);
}

/**
 * A JSON value as CEL sees it. Every number is a `double`, as in JSON.
 * @throws Error for a concealed value, also as a member of a list: what depends on it has no answer.
 */
export function toCelValue(json: JsonValue): CelValue {
  if (json === concealed) throw new Error('it reads a hidden value');
  if (json === null || typeof json !== 'object') return json;
  if (isList(json)) return celList(json.map(toCelValue));
  return jsonMap(json);
}

/** How many values a JSON value has, itself included, up to `most`. */
export function countValues(json: JsonValue, most: number): number {
  let count = 0;
  const open: JsonValue[] = [json];
  while (open.length > 0 && count < most) {
    const value = open.pop() ?? null;
    count += 1;
    if (value === null || typeof value !== 'object') continue;
    for (const member of isList(value) ? value : Object.values(value)) open.push(member);
  }
  return count;
}
