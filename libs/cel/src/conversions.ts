import { celFunc, CelScalar, objectType } from '@bufbuild/cel';
import type { CelFunc, CelValue } from '@bufbuild/cel';
import { create } from '@bufbuild/protobuf';
import { DurationSchema, TimestampSchema } from '@bufbuild/protobuf/wkt';

/**
 * The texts that the language converts. The library accepts more of them, as JavaScript does: a text that is no number
 * becomes NaN, and every comparison with NaN is false.
 * Attack: an amount of "60 USD", which a rule takes for a small one.
 */
const grammars: ReadonlyMap<string, (text: string) => boolean> = new Map([
  ['double', (text) => decimal.test(text) && Number.isFinite(Number(text))],
  ['int', (text) => /^[+-]?\d+$/.test(text)],
  ['uint', (text) => /^\d+$/.test(text)],
  ['duration', (text) => duration.test(text)],
  ['timestamp', isTimestamp],
]);

const decimal = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const duration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|ms|s|m|h))+)$/;
const timestamp = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d{1,9})?(?:Z|[+-](\d{2}):(\d{2}))$/;

/** RFC 3339 with a day that the calendar has. */
function isTimestamp(text: string): boolean {
  const [, year, month, day, ...times] = timestamp.exec(text) ?? [];
  if (year === undefined) return false;
  const [hour = 0, minute = 0, second = 0, offsetHour = 0, offsetMinute = 0] = times.map((time: string | undefined) =>
    Number(time ?? 0),
  );
  return (
    isDay(Number(year), Number(month), Number(day)) &&
    Math.max(hour, offsetHour) < 24 &&
    Math.max(minute, second, offsetMinute) < 60
  );
}

function isDay(year: number, month: number, day: number): boolean {
  return day >= 1 && day <= daysOf(year, month);
}

function daysOf(year: number, month: number): number {
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  return month === 2 && isLeap ? 29 : ([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] ?? 0);
}

/** Returns whether a conversion accepts a text, as far as its grammar says. */
export function isConvertible(name: string, text: string): boolean {
  return grammars.get(name)?.(text) ?? true;
}

/** Checks the text that a conversion is called with. @throws Error that quotes nothing of the text. */
export function checkText({ name, target, arguments: types }: CelFunc, [text]: readonly CelValue[]): void {
  if (target !== undefined || types[0] !== CelScalar.STRING || typeof text !== 'string') return;
  if (!isConvertible(name, text)) throw new Error(`the text is no ${name}`);
}

const orders = new Set(['_<_', '_<=_', '_>_', '_>=_']);

/**
 * Checks what is compared by its order. Attack: `!(args.part / args.whole > 0.5)` with two zeros, of which the library says
 * that it is true. @throws Error for a result of a division that is no number.
 */
export function checkOrder({ name }: CelFunc, values: readonly CelValue[]): void {
  if (orders.has(name) && values.some(Number.isNaN)) throw new Error('a value that is no number has no order');
}

const secondsMin = -62_135_596_800n;
const secondsMax = 253_402_300_799n;
const timestampType = objectType(TimestampSchema);
const durationType = objectType(DurationSchema);

function undefinedConversion(): never {
  throw new Error('the language has no such conversion');
}

interface Seconds {
  readonly seconds: bigint;
  readonly nanos: number;
}

/** Without zeros at the end; nothing for a whole second. */
function fractionOf(nanos: number): string {
  const fraction = String(Math.abs(nanos)).padStart(9, '0').replace(/0+$/, '');
  return fraction === '' ? '' : `.${fraction}`;
}

/** The conversions in which the library differs from the language. */
export const conversions: readonly CelFunc[] = [
  celFunc('timestamp', [CelScalar.INT], timestampType, (seconds) => {
    if (seconds < secondsMin || seconds > secondsMax) throw new Error('timestamp out of range');
    return create(TimestampSchema, { seconds });
  }),
  celFunc('string', [durationType], CelScalar.STRING, ({ message }) => {
    const { seconds, nanos } = message as unknown as Seconds;
    const sign = seconds < 0n || nanos < 0 ? '-' : '';
    return `${sign}${String(seconds < 0n ? -seconds : seconds)}${fractionOf(nanos)}s`;
  }),
  celFunc('string', [timestampType], CelScalar.STRING, ({ message }) => {
    const { seconds, nanos } = message as unknown as Seconds;
    return `${new Date(Number(seconds) * 1000).toISOString().slice(0, -'.000Z'.length)}${fractionOf(nanos)}Z`;
  }),
  // Seconds for one implementation of the language, nanoseconds for another.
  celFunc('int', [durationType], CelScalar.INT, undefinedConversion),
  celFunc('duration', [CelScalar.INT], durationType, undefinedConversion),
];
