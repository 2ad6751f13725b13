import { readFile } from 'node:fs/promises';
import type { JsonValue } from '@countersign/contracts';
import { usageError } from './cli-error.js';
import type { Terminal } from './terminal.js';

/** JSON as a person gave it: the value to look at, and the very text to send. */
export interface JsonInput {
  readonly value: JsonValue;
  /**
   * Sent unchanged: parsing and printing it again would lose digits of a large number before the server could reject
   * it.
   */
  readonly text: string;
}

/**
 * The value of an option that takes JSON: the JSON itself, `@file`, or `-` for stdin.
 * @throws CliError usage: not readable, or no JSON.
 */
export async function readJsonInput(option: string, given: string, terminal: Terminal): Promise<JsonInput> {
  if (given === '-')
    return parseJsonInput(`${option} (from stdin)`, (await readBytes(terminal.stdin)).toString('utf8'));
  if (given.startsWith('@')) return parseJsonInput(`${option} (${given})`, await readGiven(option, given.slice(1)));
  return parseJsonInput(option, given);
}

/** The text as JSON; `source` names it in the error. */
export function parseJsonInput(source: string, text: string): JsonInput {
  try {
    return { value: JSON.parse(text) as JsonValue, text };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw usageError(`${source} is not JSON: ${why}`, 'A text is written with its quotes: \'"done by hand"\'.');
  }
}

/** Returns whether a value is a JSON object. */
export function isJsonObject(value: JsonValue): value is { readonly [key: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

async function readGiven(option: string, path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8');
  } catch {
    // Imported only after a failure: a command must start fast.
    const { readTextFile } = await import('@countersign/runtime');
    return readTextFile(path, (problem) => usageError(`${option}: ${problem}`));
  }
}

/** Reads a stream to its end, also one that is too large: its writer must not fail. Rejects when it has more than `bytesMax`. */
export async function readBytes(stream: NodeJS.ReadStream, bytesMax = Infinity): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    const read = Buffer.from(chunk as Uint8Array);
    bytes += read.length;
    if (bytes <= bytesMax) chunks.push(read);
    else chunks.length = 0;
  }
  if (bytes > bytesMax) throw new Error(`the input has more than ${String(bytesMax)} bytes`);
  return Buffer.concat(chunks);
}
