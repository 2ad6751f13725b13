import { hash } from 'node:crypto';

/** A SHA-256: 32 bytes. */
export type Hash = Uint8Array;

export const hashBytes = 32;

/** The root of a tree without leaves. */
export const emptyRoot: Hash = sha256(new Uint8Array(0));

/** The hash of a leaf (RFC 9162, 2.1.1): SHA-256 over a zero byte and the entry's UTF-8 bytes. */
export function leafHash(entry: string | Uint8Array): Hash {
  const content = typeof entry === 'string' ? Buffer.from(entry) : entry;
  const bytes = Buffer.allocUnsafe(1 + content.length);
  bytes[0] = 0;
  bytes.set(content, 1);
  return sha256(bytes);
}

/** The hash of a node over its two children (RFC 9162, 2.1.1). */
export function nodeHash(left: Hash, right: Hash): Hash {
  const bytes = Buffer.allocUnsafe(1 + 2 * hashBytes);
  bytes[0] = 1;
  bytes.set(left, 1);
  bytes.set(right, 1 + hashBytes);
  return sha256(bytes);
}

export function isSameHash(one: Hash, other: Hash): boolean {
  return Buffer.compare(one, other) === 0;
}

/** Through hex, which needs no allocation outside of the heap: a digest as a `Buffer` costs twice as much. */
function sha256(bytes: Uint8Array): Hash {
  return Buffer.from(hash('sha256', bytes, 'hex'), 'hex');
}
