import { emptyRoot, nodeHash } from './hashes.js';
import type { Hash } from './hashes.js';

/** Called with each node whose leaves are all there. Level 0 are the leaves; `index` counts the nodes of a level. */
export type OnNode = (level: number, index: number, hash: Hash) => void;

/** The state of a growing tree: its size, and the roots of the perfect subtrees that it consists of, the largest first. */
export interface CompactRange {
  readonly size: number;
  readonly hashes: readonly Hash[];
}

/** A tree of RFC 9162 that grows at its end. It keeps a few hashes and no leaves. */
export interface GrowingTree {
  readonly size: () => number;
  readonly append: (leaf: Hash) => void;
  readonly root: () => Hash;
  readonly range: () => CompactRange;
}

/** An empty tree, or one that continues where another one ended. */
export function createGrowingTree(start: CompactRange = { size: 0, hashes: [] }, onNode?: OnNode): GrowingTree {
  let { size } = start;
  const hashes = [...start.hashes];
  return {
    size: () => size,
    append: (leaf) => {
      hashes.push(leaf);
      onNode?.(0, size, leaf);
      size += 1;
      let level = 1;
      for (let count = size; count % 2 === 0; count /= 2) {
        const [right, left] = [hashes.pop(), hashes.pop()] as [Hash, Hash];
        const node = nodeHash(left, right);
        hashes.push(node);
        onNode?.(level, count / 2 - 1, node);
        level += 1;
      }
    },
    root: () => rootOfRange(hashes),
    range: () => ({ size, hashes: [...hashes] }),
  };
}

/** Returns the hash of a node whose leaves are all there. Level 0 are the leaves. */
export type ReadNode = (level: number, index: number) => Hash;

/** The root of the tree's first `size` leaves. */
export function rootAt(size: number, read: ReadNode): Hash {
  return rootBetween(0, size, read);
}

/** The subtrees of a tree with `size` leaves, from which it can grow on. */
export function rangeAt(size: number, read: ReadNode): CompactRange {
  return { size, hashes: subtreesBetween(0, size, read) };
}

/** The proof that the leaf `index` is in the tree of `size` leaves (RFC 9162, 2.1.3.1). `index` is less than `size`. */
export function inclusionProof(index: number, size: number, read: ReadNode): readonly Hash[] {
  const path: Hash[] = [];
  let [start, end] = [0, size];
  while (end - start > 1) {
    const middle = start + splitOf(end - start);
    const isLeft = index < middle;
    path.unshift(isLeft ? rootBetween(middle, end, read) : rootBetween(start, middle, read));
    if (isLeft) end = middle;
    else start = middle;
  }
  return path;
}

/** The proof that the tree of `first` leaves is the beginning of the tree of `second` leaves (RFC 9162, 2.1.4.1). */
export function consistencyProof(first: number, second: number, read: ReadNode): readonly Hash[] {
  if (first === 0 || first === second) return [];
  const path: Hash[] = [];
  let [start, end] = [0, second];
  while (first !== end) {
    const middle = start + splitOf(end - start);
    const isLeft = first <= middle;
    path.unshift(isLeft ? rootBetween(middle, end, read) : rootBetween(start, middle, read));
    if (isLeft) end = middle;
    else start = middle;
  }
  return start === 0 ? path : [rootBetween(start, end, read), ...path];
}

/** The root of the leaves from `start` to `end` (exclusive), which are a subtree of the standard's. */
function rootBetween(start: number, end: number, read: ReadNode): Hash {
  return rootOfRange(subtreesBetween(start, end, read));
}

function subtreesBetween(start: number, end: number, read: ReadNode): readonly Hash[] {
  const hashes: Hash[] = [];
  let at = start;
  while (at < end) {
    let [level, width] = [0, 1];
    while (at % (width * 2) === 0 && at + width * 2 <= end) [level, width] = [level + 1, width * 2];
    hashes.push(read(level, at / width));
    at += width;
  }
  return hashes;
}

function rootOfRange(hashes: readonly Hash[]): Hash {
  const [last, ...others] = hashes.toReversed();
  return last === undefined ? emptyRoot : others.reduce((right, left) => nodeHash(left, right), last);
}

/** The largest power of two that is less than `count`. */
function splitOf(count: number): number {
  let width = 1;
  while (width * 2 < count) width *= 2;
  return width;
}
