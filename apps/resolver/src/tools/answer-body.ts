import { limits } from '@countersign/contracts';
import type { JsonValue } from '@countersign/contracts';

/** The part of a tool's response that is kept: the event store accepts no large events. */
export const outputBytesMax = 256 * 1024;

/** In place of an output that cannot be kept. The tool has run all the same: to call that a failure would repeat it. */
export function omitted(why: string, beginning?: string): JsonValue {
  return { outputOmitted: why, ...(beginning === undefined ? {} : { beginning: beginning.slice(0, 4096) }) };
}

/** A response body as JSON. If it is not JSON or would change by being parsed, as text. */
export function readBody(contentType: string, body: Uint8Array): JsonValue {
  const text = new TextDecoder().decode(body);
  if (!/^application\/(?:[^;]*\+)?json\b/i.test(contentType)) return text;
  try {
    const value = JSON.parse(text, keepExact as (key: string, value: unknown) => unknown) as JsonValue;
    return isTooDeep(value) ? text : value;
  } catch {
    return text;
  }
}

/** JSON.parse silently rounds integers beyond 2^53, so a booking number could change. */
function keepExact(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  const isInteger = typeof value === 'number' && /^-?\d+$/.test(context.source ?? '');
  if (isInteger && !Number.isSafeInteger(value)) throw new RangeError('not a safe integer');
  return value;
}

/** Returns whether a value is nested deeper than the ledger accepts. */
export function isTooDeep(value: JsonValue): boolean {
  let level: readonly JsonValue[] = [value];
  for (let depth = 0; depth <= limits.jsonDepthMax; depth += 1) {
    if (level.length === 0) return false;
    level = level.flatMap((node) => (typeof node === 'object' && node !== null ? valuesOf(node) : []));
  }
  return true;
}

function valuesOf(node: object): JsonValue[] {
  return Object.values(node) as JsonValue[];
}
