import { limits, type JsonObject, type JsonValue } from '@countersign/contracts';

/**
 * Why the server would refuse to record a value. Checked here, one call fails alone and not the whole step.
 *
 * @param isRecorded the server has recorded it. Another program can have written a whole number with an exponent, such as
 *   `1e+16`: no digit of it was lost.
 */
export function whyUnrecordable(value: JsonValue, isRecorded = false): string | undefined {
  const problem = problemOf(value, 1, { ...asArguments, mayRound: isRecorded });
  if (problem !== undefined) return problem;
  const bytes = Buffer.byteLength(JSON.stringify(value));
  if (bytes <= limits.argumentsBytesMax) return undefined;
  return `the arguments have ${String(bytes)} bytes, at most ${String(limits.argumentsBytesMax)} are allowed`;
}

/** Why the server would refuse to read a value as a part of a request, at this depth. */
export function problemWithin(value: JsonValue, depth: number): string | undefined {
  return problemOf(value, depth, asArguments);
}

/** Why the server would refuse to read the schema of a tool. */
export function problemOfSchema(schema: JsonObject): string | undefined {
  return problemOf(schema, 1, asSchema);
}

interface Kind {
  readonly what: string;
  readonly depthMax: number;
  readonly mayRound: boolean;
}

const asArguments: Kind = { what: 'the arguments are', depthMax: limits.jsonDepthMax, mayRound: false };
/** A number of a schema, such as a bound, is no value that runs. Each of its levels takes two. */
const asSchema: Kind = { what: 'the schema is', depthMax: 4 * limits.jsonDepthMax - 4, mayRound: true };

function problemOf(value: JsonValue, depth: number, kind: Kind): string | undefined {
  if (depth > kind.depthMax) return `${kind.what} nested deeper than ${String(kind.depthMax)}`;
  if (typeof value !== 'object' || value === null) return problemOfScalar(value, kind.mayRound);
  for (const [key, child] of Object.entries(value as Readonly<Record<string, JsonValue>>)) {
    const inner = isSchemaIn(value, key) ? asSchema : kind;
    const problem = problemOfKey(key, child) ?? problemOfText(key) ?? problemOf(child, depth + 1, inner);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The schema of a call, in a request. */
function isSchemaIn(value: object, key: string): boolean {
  return key === 'toolSchema' && Object.hasOwn(value, 'toolCallId');
}

/** The server refuses them: copied onto another object they would change its prototype. */
function problemOfKey(key: string, child: JsonValue): string | undefined {
  if (key === '__proto__') return 'the key `__proto__` is forbidden';
  const isObject = typeof child === 'object' && child !== null;
  const isPrototype = key === 'constructor' && isObject && Object.hasOwn(child, 'prototype');
  return isPrototype ? 'the key `prototype` in `constructor` is forbidden' : undefined;
}

/** From here on a number is written with an exponent, and every reader gets the same one. */
const exponentFrom = 1e21;

function problemOfScalar(value: unknown, mayRound: boolean): string | undefined {
  if (typeof value === 'string') return problemOfText(value);
  if (typeof value === 'bigint') return 'a bigint is no JSON: pass it as a string';
  if (typeof value !== 'number') return undefined;
  if (!Number.isFinite(value)) return 'a number is not finite: pass it as a string';
  const isWritten = !Number.isInteger(value) || Number.isSafeInteger(value) || Math.abs(value) >= exponentFrom;
  if (mayRound || isWritten) return undefined;
  return `a whole number is beyond ±${String(Number.MAX_SAFE_INTEGER)}, where digits can be lost: pass it as a string`;
}

function problemOfText(text: string): string | undefined {
  return text.isWellFormed() ? undefined : 'a text holds half of a character (a lone surrogate)';
}
