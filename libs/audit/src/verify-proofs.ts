import { emptyRoot, hashBytes, isSameHash, nodeHash } from './hashes.js';
import type { Hash } from './hashes.js';

/** What an inclusion proof says. */
export interface Inclusion {
  readonly index: number;
  readonly size: number;
  readonly leaf: Hash;
  readonly root: Hash;
  readonly proof: readonly Hash[];
}

/** Returns whether the proof shows that the leaf is in the tree (RFC 9162, 2.1.3.2). */
export function verifyInclusion({ index, size, leaf, root, proof }: Inclusion): boolean {
  if (!isCount(index) || !isCount(size) || index >= size || !areHashes([leaf, root, ...proof])) return false;
  let hash = leaf;
  const isAtRoot = climb(index, size - 1, proof, (sibling, isLeft) => {
    hash = isLeft ? nodeHash(sibling, hash) : nodeHash(hash, sibling);
  });
  return isAtRoot && isSameHash(hash, root);
}

/** What a consistency proof says. */
export interface Consistency {
  readonly first: number;
  readonly second: number;
  readonly firstRoot: Hash;
  readonly secondRoot: Hash;
  readonly proof: readonly Hash[];
}

/** Returns whether the proof shows that the first tree is the beginning of the second one (RFC 9162, 2.1.4.2). */
export function verifyConsistency(claim: Consistency): boolean {
  const { first, second, firstRoot, secondRoot, proof } = claim;
  if (!isCount(first) || !isCount(second) || first > second) return false;
  if (!areHashes([firstRoot, secondRoot, ...proof])) return false;
  if (first === 0) return proof.length === 0 && isSameHash(firstRoot, emptyRoot);
  if (first === second) return proof.length === 0 && isSameHash(firstRoot, secondRoot);
  return verifyGrowth(claim);
}

function verifyGrowth({ first, second, firstRoot, secondRoot, proof }: Consistency): boolean {
  // The root of a first tree that is a perfect subtree is not repeated in the proof.
  const [start, ...siblings] = isPowerOfTwo(first) ? [firstRoot, ...proof] : proof;
  if (start === undefined) return false;
  let [node, last] = [first - 1, second - 1];
  while (isOdd(node)) [node, last] = [half(node), half(last)];
  let [firstHash, secondHash] = [start, start];
  const isAtRoot = climb(node, last, siblings, (sibling, isLeft) => {
    if (isLeft) firstHash = nodeHash(sibling, firstHash);
    secondHash = isLeft ? nodeHash(sibling, secondHash) : nodeHash(secondHash, sibling);
  });
  return isAtRoot && isSameHash(firstHash, firstRoot) && isSameHash(secondHash, secondRoot);
}

/** Gives the siblings on the way from a node to the root, each with its side. Returns whether the way ends at the root. */
function climb(
  from: number,
  lastOfLevel: number,
  siblings: readonly Hash[],
  take: (sibling: Hash, isLeft: boolean) => void,
): boolean {
  let [node, last] = [from, lastOfLevel];
  for (const sibling of siblings) {
    if (last === 0) return false;
    const isLeft = isOdd(node) || node === last;
    take(sibling, isLeft);
    if (isLeft) [node, last] = upToOdd(node, last);
    [node, last] = [half(node), half(last)];
  }
  return last === 0;
}

/** Goes up while the node is a left child without a sibling on its right. */
function upToOdd(node: number, last: number): [node: number, last: number] {
  let [at, end] = [node, last];
  while (at !== 0 && !isOdd(at)) [at, end] = [half(at), half(end)];
  return [at, end];
}

// Sizes can pass 2^32, so bits are counted without the operators on bits.
const isOdd = (value: number): boolean => value % 2 === 1;
const half = (value: number): number => Math.floor(value / 2);
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0;
const areHashes = (hashes: readonly Hash[]): boolean => hashes.every(({ length }) => length === hashBytes);

function isPowerOfTwo(value: number): boolean {
  let rest = value;
  while (rest % 2 === 0) rest /= 2;
  return rest === 1;
}
