import { fromBase64, toBase64 } from './base64.js';
import { hashBytes } from './hashes.js';
import type { Hash } from './hashes.js';

/** The state of a log, a checkpoint of C2SP's tlog-checkpoint. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  readonly root: Hash;
  /** Further lines, of later versions of the format or of other logs. */
  readonly extensions: readonly string[];
}

/** The text of a checkpoint: the bytes that are signed. */
export function formatCheckpoint({ origin, size, root, extensions }: Checkpoint): string {
  return [origin, String(size), toBase64(root), ...extensions].map((line) => `${line}\n`).join('');
}

/** Reads the text of a signed note as a checkpoint. Undefined for a text that is none. */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const lines = text.split('\n');
  // Each line ends with a newline, so the last part is empty and no other is.
  if (lines.indexOf('') !== lines.length - 1) return undefined;
  const [origin, sizeText, rootText, ...extensions] = lines.slice(0, -1);
  if (origin === undefined || sizeText === undefined || rootText === undefined) return undefined;
  const [size, root] = [sizeOf(sizeText), fromBase64(rootText)];
  if (size === undefined || root?.length !== hashBytes) return undefined;
  return { origin, size, root, extensions };
}

/** A size is written in one form: decimal digits without zeros before them. */
function sizeOf(text: string): number | undefined {
  const size = Number(text);
  return /^(?:0|[1-9][0-9]*)$/.test(text) && Number.isSafeInteger(size) ? size : undefined;
}
