import { hash } from 'node:crypto';

/** A row of the embedded log, in the order of its stored format. */
export type LogRow = readonly [
  position: number,
  stream: string,
  revision: number,
  eventId: string,
  type: string,
  recordedAt: string,
  metadata: string,
  data: string,
  leaf: Uint8Array,
  chain: Uint8Array,
];

/** The chain before the first event. */
export const firstChain: Uint8Array = new Uint8Array(32);

/**
 * The leaf of a row by the stored format of the embedded log: position and revision in 8 bytes each, then the texts, each
 * after its length in 4 bytes, all big-endian. Written for the audit alone, so that the writer's code is not trusted.
 */
export function leafOf([position, stream, revision, eventId, type, recordedAt, metadata, data]: LogRow): string {
  const texts = [stream, eventId, type, recordedAt, metadata, data];
  // A UTF-16 unit takes at most three bytes.
  const most = texts.reduce((sum, text) => sum + 4 + text.length * 3, 16);
  if (most > row.length) row = Buffer.allocUnsafeSlow(most);
  row.writeBigUInt64BE(BigInt(position), 0);
  row.writeBigUInt64BE(BigInt(revision), 8);
  let at = 16;
  for (const text of texts) {
    const bytes = row.write(text, at + 4);
    row.writeUInt32BE(bytes, at);
    at += 4 + bytes;
  }
  return hash('sha256', row.subarray(0, at), 'hex');
}

/** Where the bytes of one row after the other are made. */
let row = Buffer.allocUnsafeSlow(64 * 1024);

/** The chain after a leaf. */
export function chainAfter(chain: Uint8Array, leaf: Uint8Array): Uint8Array {
  link.set(chain, 0);
  link.set(leaf, chain.length);
  return Buffer.from(hash('sha256', link.subarray(0, chain.length + leaf.length), 'hex'), 'hex');
}

/** Where the bytes of one link after the other are made. */
const link = new Uint8Array(64);
