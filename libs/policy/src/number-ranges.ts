import type { JsonObject, JsonValue } from '@countersign/contracts';

/** The numbers of one member of the arguments in all calls so far. */
interface NumberRange {
  readonly least: number;
  readonly most: number;
  readonly calls: number;
}

/** The ranges by path, such as `args.payment.amount`; null when a number cannot be named in an expression. */
export type NumberRanges = ReadonlyMap<string, NumberRange> | null;

const memberName = /^[A-Za-z_][A-Za-z0-9_]{0,31}$/;
const rangesMax = 8;

/**
 * The ranges with the numbers of one more call. Attack: twenty cheap calls, approved without a look, and then a rule that
 * lets any amount through.
 */
export function withNumbersOf(ranges: NumberRanges, args: JsonObject): NumberRanges {
  const found = numbersIn('args', args);
  if (ranges === null || found === null) return null;
  const next = new Map(ranges);
  for (const [path, value] of found) {
    const before = next.get(path) ?? { least: value, most: value, calls: 0 };
    const { least, most, calls } = before;
    next.set(path, { least: Math.min(least, value), most: Math.max(most, value), calls: calls + 1 });
  }
  return next.size > rangesMax ? null : next;
}

/** The numbers with their paths; null when one is in a list, or under a name that an expression would have to quote. */
function numbersIn(path: string, object: JsonObject): readonly (readonly [string, number])[] | null {
  const all: (readonly [string, number])[] = [];
  for (const [name, value] of Object.entries(object)) {
    if (!hasNumber(value)) continue;
    const inner = `${path}.${name}`;
    if (!memberName.test(name) || Array.isArray(value)) return null;
    const found = typeof value === 'number' ? [[inner, value] as const] : numbersIn(inner, value as JsonObject);
    if (found === null) return null;
    all.push(...found);
  }
  return all;
}

function hasNumber(value: JsonValue): boolean {
  if (typeof value === 'number') return true;
  return typeof value === 'object' && value !== null && Object.values(value).some(hasNumber);
}

/** Conditions that hold for the numbers so far, and for none beyond them. `calls`: how many calls there were. */
export function rangeConditions(ranges: NonNullable<NumberRanges>, calls: number): readonly string[] {
  return [...ranges].map(([path, { least, most, calls: having }]) => {
    const within =
      least === most ? `${path} == ${literal(most)}` : `${path} >= ${literal(least)} && ${path} <= ${literal(most)}`;
    return having === calls ? within : `(!has(${path}) || ${within})`;
  });
}

/** An integer beyond 2^53 is no integer of the expression language. */
function literal(value: number): string {
  return Number.isInteger(value) && !Number.isSafeInteger(value) ? value.toExponential() : String(value);
}
