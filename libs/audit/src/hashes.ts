import { hash } from 'node:crypto';

/** A SHA-256: 32 bytes. */
export type Hash = Uint8Array;

export const hashBytes = 32;

/** The root of a tree without leaves. */
export const emptyRoot: Hash = sha256(new Uint8Array(0));

/** The hash of a leaf (RFC 9162, 2.1.1): SHA-256 over a zero byte and the entry's UTF-8 bytes. */
export function leafHash(entry: string | Uint8Array): Hash {
  return sha256(typeof entry === 'string' ? `\0${entry}` : Buffer.concat([zero, entry]));
}

const zero = new Uint8Array(1);

/** The hash of a node over its two children (RFC 9162, 2.1.1). */
export function nodeHash(left: Hash, right: Hash): Hash {
  node.set(left, 1);
  node.set(right, 1 + hashBytes);
  return sha256(node);
}

/** Where the bytes of one node after the other are made. */
const node = new Uint8Array(1 + 2 * hashBytes);
node[0] = 1;

export function isSameHash(one: Hash, other: Hash): boolean {
  return Buffer.compare(one, other) === 0;
}

/** Through hex, which needs no allocation outside of the heap: a digest as a `Buffer` costs twice as much. */
function sha256(content: string | Uint8Array): Hash {
  return Buffer.from(hash('sha256', content, 'hex'), 'hex');
}
