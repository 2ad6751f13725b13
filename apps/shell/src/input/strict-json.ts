/** One place in a JSON text that another parser would read differently, or that cannot be canonicalised. */
export interface JsonFault {
  /** Such as `calls.0.arguments.amount`; empty for the whole text. */
  readonly path: string;
  readonly message: string;
}

/** The result of a scan. `too-deep`: the text must not reach a parser. */
export interface JsonScan {
  readonly depth: 'ok' | 'too-deep';
  readonly faults: readonly JsonFault[];
  /** The schema of a tool has a number that a double cannot hold, or a text with half of a character in it. */
  readonly needsRepair: boolean;
}

/** A list is faster than a set for the few keys of most objects. Attack: an object with 100,000 keys. */
const listedMax = 12;

/** An object or array that is open at the moment. */
interface Frame {
  /** The first keys seen; null in an array. */
  readonly keys: string[] | null;
  /** All of them, as soon as they are many. */
  many: Set<string> | undefined;
  key: string;
  index: number;
}

const [quote, comma, minus, zero, nine, openArray, backslash, closeArray, openObject, closeObject] = [
  0x22, 0x2c, 0x2d, 0x30, 0x39, 0x5b, 0x5c, 0x5d, 0x7b, 0x7d,
] as const;
/** More faults are not listed; a hostile body may consist of nothing else. */
const faultsMax = 1000;

/**
 * Finds what `JSON.parse` would silently change or accept: duplicate keys, integers beyond ±(2^53−1) without an exponent or
 * a point, numbers that lose precision, `__proto__`, lone surrogates, nesting deeper than `depthMax`. In the schema of a tool numbers may lose precision,
 * texts may be cut in the middle of a character, and the nesting may be four times as deep, since each of its levels takes
 * two. One pass over the text, no recursion.
 *
 * It expects valid JSON. For other text its findings mean nothing, but it never throws and never loops, so it can run
 * first and keep a text that is nested a million levels deep away from the parser.
 */
export function scanJson(text: string, depthMax: number): JsonScan {
  const faults: JsonFault[] = [];
  const frames: Frame[] = [];
  let frame: Frame | undefined;
  let expectsKey = false;
  let needsRepair = false;
  let at = 0;

  const fault = (message: string): void => {
    if (faults.length < faultsMax) faults.push({ path: pathOf(frames), message });
  };
  const bracket = (code: number): void => {
    if (code === openObject || code === openArray) {
      expectsKey = code === openObject;
      frame = { keys: expectsKey ? [] : null, many: undefined, key: '', index: 0 };
      frames.push(frame);
    } else if (code === closeObject || code === closeArray) {
      frames.pop();
      frame = frames.at(-1);
      expectsKey = false;
    }
  };
  const next = (): void => {
    if (frame === undefined) return;
    frame.index += 1;
    expectsKey = frame.keys !== null;
  };
  const string = (): void => {
    const end = endOfString(text, at);
    const isEscaped = end < 0;
    const closing = Math.abs(end);
    const value = expectsKey || isEscaped ? textOf(text, at, closing, isEscaped) : '';
    const isKey = expectsKey;
    if (expectsKey && frame?.keys) {
      frame.key = value;
      judgeKey(frame, frame.keys, value, frames, fault);
      expectsKey = false;
    }
    // UTF-8 cannot encode lone surrogates: only an escape can make one.
    if (isEscaped && !value.isWellFormed()) {
      if (!isKey && isInToolSchema(frames)) needsRepair = true;
      else fault('holds a lone surrogate, which is no text');
    }
    at = closing;
  };
  const number = (): void => {
    const start = at;
    while (isNumberPart(text.charCodeAt(at + 1))) at += 1;
    const problem = judgeNumber(text, start, at + 1);
    if (problem === undefined) return;
    if (isInToolSchema(frames)) needsRepair = true;
    else fault(problem);
  };

  const isTooDeep = (): boolean =>
    frames.length > depthMax && (frames.length > schemaDepths * depthMax || !isInToolSchema(frames));

  for (; at < text.length && !isTooDeep(); at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) string();
    else if (code === comma) next();
    else if (code === minus || (code >= zero && code <= nine)) number();
    else bracket(code);
  }
  if (!isTooDeep()) return { depth: 'ok', faults, needsRepair };
  fault(`is nested deeper than ${String(depthMax)} levels`);
  return { depth: 'too-deep', faults, needsRepair };
}

/** Returns the end of the string that starts at `start`; negative when it contains an escape. */
function endOfString(text: string, start: number): number {
  let isEscaped = false;
  let at = start + 1;
  for (; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === quote) break;
    if (code === backslash) {
      isEscaped = true;
      at += 1;
    }
  }
  return isEscaped ? -at : at;
}

function textOf(text: string, start: number, end: number, isEscaped: boolean): string {
  if (!isEscaped) return text.slice(start + 1, end);
  try {
    return JSON.parse(text.slice(start, end + 1)) as string;
  } catch {
    // Invalid JSON, which the parser reports.
    return '';
  }
}

/** Remembers a key of an object. Returns whether it was there before. */
function isRepeated(frame: Frame, listed: string[], key: string): boolean {
  if (frame.many !== undefined) return frame.many.size === frame.many.add(key).size;
  if (listed.includes(key)) return true;
  listed.push(key);
  if (listed.length > listedMax) frame.many = new Set(listed);
  return false;
}

function judgeKey(
  frame: Frame,
  listed: string[],
  key: string,
  frames: readonly Frame[],
  fault: (message: string) => void,
): void {
  if (isRepeated(frame, listed, key)) fault('is a duplicate key');
  // Copied onto another object they would change its prototype.
  if (key === '__proto__' || (key === 'prototype' && frames.at(-2)?.key === 'constructor')) fault('is a forbidden key');
}

function pathOf(frames: readonly Frame[]): string {
  return frames.map(({ keys, key, index }) => (keys === null ? String(index) : key)).join('.');
}

function isNumberPart(code: number): boolean {
  // Digits, sign, point, exponent.
  return (
    (code >= zero && code <= nine) || code === 0x2e || code === 0x65 || code === 0x45 || code === 0x2b || code === minus
  );
}

/** A double keeps this many digits without an exponent exactly. */
const exactLengthMax = 15;

/** The most digits that `toPrecision` needs to tell two doubles apart. */
const significantMax = 17;

const schemaDepths = 4;

/** A number of a schema, such as a bound, is no value that runs: it may be rounded. */
function isInToolSchema([request, , call]: readonly Frame[]): boolean {
  return request?.key === 'calls' && call?.key === 'toolSchema';
}

function judgeNumber(text: string, start: number, end: number): string | undefined {
  const isShort = end - start <= exactLengthMax;
  if (isShort && !hasExponent(text, start, end)) return undefined;
  const literal = text.slice(start, end);
  const value = Number(literal);
  if (Number.isNaN(value)) return undefined;
  if (!Number.isFinite(value)) return 'is too large for a number; send it as a string';
  // The attack: a program on the way read an id as a double, and its last digits are those of another row.
  if (Math.abs(value) > Number.MAX_SAFE_INTEGER && /^-?\d+$/.test(literal)) {
    return 'is an integer beyond ±(2^53−1); send an id as a string, and a measured value with an exponent';
  }
  return isKept(literal, value) ? undefined : 'would lose precision; send it as a string';
}

/** The literal is a print of the double: the shortest one, or one with all digits, as other languages write it. */
function isKept(literal: string, value: number): boolean {
  const written = digitsOf(literal);
  if (written === digitsOf(String(value))) return true;
  const count = written.indexOf('e');
  return count <= significantMax && written === digitsOf(value.toPrecision(Math.max(1, count)));
}

function hasExponent(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) {
    if ((text.charCodeAt(at) | 0x20) === 0x65) return true;
  }
  return false;
}

/** The significant digits and the power of ten of a decimal: equal for `1.50`, `15e-1` and `0.15e1`. */
function digitsOf(literal: string): string {
  const unsigned = literal.startsWith('-') ? literal.slice(1) : literal;
  const [mantissa = '', exponent = '0'] = unsigned.toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole + fraction;
  let first = 0;
  while (digits.charCodeAt(first) === zero) first += 1;
  let last = digits.length;
  while (last > first && digits.charCodeAt(last - 1) === zero) last -= 1;
  if (first === last) return '0';
  return `${digits.slice(first, last)}e${String(Number(exponent) - fraction.length + digits.length - last)}`;
}
