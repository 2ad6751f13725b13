import { isUtf8 } from 'node:buffer';
import { limits } from '@countersign/contracts';
import { scanJson } from './strict-json.js';
import type { JsonFault } from './strict-json.js';

/**
 * The value of a JSON text, or the reason for its rejection. `faults` are the paths that another parser could read
 * differently.
 */
export type ParsedJson =
  | { readonly status: 'ok'; readonly value: unknown }
  | { readonly status: 'faulty'; readonly detail: string; readonly faults: readonly JsonFault[] };

const detailLengthMax = 2000;

/**
 * Parses JSON from outside in the one way that all parsers agree on: no duplicate keys, no numbers that lose digits, no
 * `__proto__`, no invalid UTF-8, no deep nesting. `what` names the text in messages, such as `the body`.
 */
export function parseStrictJson(bytes: Uint8Array, what: string): ParsedJson {
  if (!isUtf8(bytes)) return faulty(`${what} is not valid UTF-8`);
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
  const { depth, faults, needsRepair } = scanJson(text, limits.jsonDepthMax);
  // A too deep text must not reach the parser. For any other text the parser's error comes first.
  const parsed = depth === 'too-deep' ? faulty('') : parse(text, what, needsRepair);
  if (parsed.status === 'faulty' && depth === 'ok') return parsed;
  if (faults.length === 0) return parsed;
  const detail = faults.map(({ path, message }) => `${path === '' ? what : path} ${message}`).join('; ');
  return faulty(detail.slice(0, detailLengthMax), faults);
}

function faulty(detail: string, faults: readonly JsonFault[] = []): ParsedJson & { readonly status: 'faulty' } {
  return { status: 'faulty', detail, faults };
}

/** A bound of a schema is rounded to the nearest number, and half of a character in it is replaced. */
function repaired(_: string, value: unknown): unknown {
  if (typeof value === 'string') return value.toWellFormed();
  return typeof value === 'number' && !Number.isFinite(value) ? Math.sign(value) * Number.MAX_VALUE : value;
}

function parse(text: string, what: string, needsRepair: boolean): ParsedJson {
  try {
    return { status: 'ok', value: JSON.parse(text, needsRepair ? repaired : undefined) as unknown };
  } catch (error) {
    // V8 quotes the text around the error. The text may hold a secret, so only the position is passed on.
    const where = error instanceof SyntaxError ? /at position \d+/.exec(error.message)?.[0] : undefined;
    return faulty(`${what} is not valid JSON${where === undefined ? '' : ` ${where}`}`);
  }
}
