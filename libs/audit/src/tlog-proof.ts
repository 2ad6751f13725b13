import { fromBase64, toBase64 } from './base64.js';
import { hashBytes } from './hashes.js';
import type { Hash } from './hashes.js';

/** A proof that one entry is in a log: C2SP's tlog-proof. */
export interface TlogProof {
  readonly index: number;
  /** From the leaf to the root (RFC 9162, 2.1.3.1). */
  readonly path: readonly Hash[];
  /** The checkpoint, a signed note. */
  readonly note: string;
}

const header = 'c2sp.org/tlog-proof@v1';

/** The proof as a text: what is kept. */
export function formatTlogProof({ index, path, note }: TlogProof): string {
  return [header, `index ${String(index)}`, ...path.map(toBase64), '', note].join('\n');
}

/** Reads a proof without verifying it. Undefined for a text that is none. */
export function parseTlogProof(text: string): TlogProof | undefined {
  const split = text.indexOf('\n\n');
  if (split === -1) return undefined;
  const [first, indexLine = '', ...hashes] = text.slice(0, split).split('\n');
  const [, digits] = /^index (0|[1-9][0-9]{0,15})$/.exec(indexLine) ?? [];
  const index = Number(digits);
  const path = hashes.map(fromBase64).filter((hash): hash is Hash => hash?.length === hashBytes);
  const isRead = first === header && Number.isSafeInteger(index) && path.length === hashes.length;
  return isRead ? { index, path, note: text.slice(split + 2) } : undefined;
}
