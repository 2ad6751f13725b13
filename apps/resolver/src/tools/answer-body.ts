import type { JsonValue } from '@countersign/contracts';
import { parseStrictJson } from '@countersign/shell';

/** The part of a tool's response that is kept: the event store accepts no large events. */
export const outputBytesMax = 256 * 1024;

/** In place of an output that cannot be kept. The tool has run all the same: to call that a failure would repeat it. */
export function omitted(why: string, beginning?: string): JsonValue {
  return {
    outputOmitted: why,
    ...(beginning === undefined ? {} : { beginning: beginning.slice(0, 4096).toWellFormed() }),
  };
}

/** A response body as JSON. If it is not JSON, would change by being parsed, or cannot be recorded: as text. */
export function readBody(contentType: string, body: Uint8Array): JsonValue {
  const text = new TextDecoder().decode(body);
  if (!/^application\/(?:[^;]*\+)?json\b/i.test(contentType)) return text;
  const parsed = parseStrictJson(Buffer.from(text), 'the body');
  return parsed.status === 'ok' ? (parsed.value as JsonValue) : text;
}
