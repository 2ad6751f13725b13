import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { emptyRoot, leafHash, nodeHash } from './hashes.js';
import type { Hash } from './hashes.js';
import { consistencyProof, createGrowingTree, inclusionProof, rangeAt, rootAt } from './tree.js';
import type { ReadNode } from './tree.js';
import { verifyConsistency, verifyInclusion } from './verify-proofs.js';

/** The definition of RFC 9162, 2.1.1, word by word. */
function naiveRoot(leaves: readonly Hash[]): Hash {
  if (leaves.length === 0) return emptyRoot;
  if (leaves.length === 1) return leaves[0]!;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return nodeHash(naiveRoot(leaves.slice(0, split)), naiveRoot(leaves.slice(split)));
}

const sizeMax = 70;
const leaves = Array.from({ length: sizeMax }, (_, index) => leafHash(`entry ${index}`));
const nodes = new Map<string, Hash>();
const tree = createGrowingTree(undefined, (level, index, hash) => nodes.set(`${level}/${index}`, hash));
const roots = [emptyRoot];
for (const leaf of leaves) {
  tree.append(leaf);
  roots.push(tree.root());
}
const read: ReadNode = (level, index) => nodes.get(`${level}/${index}`)!;

const sizes = Array.from({ length: sizeMax + 1 }, (_, size) => size);

describe('tree', () => {
  it('has at each size the root of its definition', () => {
    for (const size of sizes) {
      const root = naiveRoot(leaves.slice(0, size));
      expect(roots[size]).toEqual(root);
      expect(rootAt(size, read)).toEqual(root);
    }
  });

  it('grows on from each size', () => {
    for (const size of sizes) {
      const later = createGrowingTree(rangeAt(size, read));
      for (const leaf of leaves.slice(size)) later.append(leaf);
      expect(later.root()).toEqual(roots[sizeMax]);
      expect(later.size()).toBe(sizeMax);
    }
  });

  it('proves each leaf at each size', () => {
    for (const size of sizes) {
      for (let index = 0; index < size; index += 1) {
        const proof = inclusionProof(index, size, read);
        expect(verifyInclusion({ index, size, leaf: leaves[index]!, root: roots[size]!, proof })).toBe(true);
      }
    }
  });

  it('proves each earlier size at each size', () => {
    for (const second of sizes) {
      for (const first of sizes.slice(0, second + 1)) {
        const proof = consistencyProof(first, second, read);
        const firstRoot = roots[first]!;
        expect(verifyConsistency({ first, second, firstRoot, secondRoot: roots[second]!, proof })).toBe(true);
      }
    }
  });

  it('proves nothing with any bit changed, any hash dropped, or at another place', () => {
    fc.assert(
      fc.property(placed, fc.nat(), fc.nat(255), ({ index, size }, at, bit) => {
        const proof = inclusionProof(index, size, read);
        const claim = { index, size, leaf: leaves[index]!, root: roots[size]!, proof };
        expect(verifyInclusion({ ...claim, leaf: flipped(claim.leaf, bit) })).toBe(false);
        expect(verifyInclusion({ ...claim, root: flipped(claim.root, bit) })).toBe(false);
        expect(verifyInclusion({ ...claim, index: (index + 1 + (at % (size - 1))) % size })).toBe(false);
        for (const bad of damaged(proof, at, bit)) expect(verifyInclusion({ ...claim, proof: bad })).toBe(false);
      }),
      { numRuns: 300 },
    );
  });

  it('is not shown to continue another tree', () => {
    fc.assert(
      fc.property(placed, fc.nat(), fc.nat(255), ({ index, size: second }, at, bit) => {
        const first = index + 1;
        const proof = consistencyProof(first, second, read);
        const claim = { first, second, firstRoot: roots[first]!, secondRoot: roots[second]!, proof };
        expect(verifyConsistency({ ...claim, firstRoot: flipped(claim.firstRoot, bit) })).toBe(false);
        expect(verifyConsistency({ ...claim, secondRoot: flipped(claim.secondRoot, bit) })).toBe(false);
        for (const bad of damaged(proof, at, bit)) expect(verifyConsistency({ ...claim, proof: bad })).toBe(false);
      }),
      { numRuns: 300 },
    );
  });
});

const placed = fc
  .integer({ min: 2, max: sizeMax })
  .chain((size) => fc.record({ size: fc.constant(size), index: fc.nat(size - 1) }));

function flipped(hash: Hash, bit: number): Hash {
  return hash.map((byte, index) => (index === Math.floor(bit / 8) ? byte ^ (1 << (bit % 8)) : byte));
}

function damaged(proof: readonly Hash[], at: number, bit: number): readonly (readonly Hash[])[] {
  const longer = [...proof, roots[1]!];
  if (proof.length === 0) return [longer];
  const place = at % proof.length;
  return [longer, proof.toSpliced(place, 1), proof.with(place, flipped(proof[place]!, bit))];
}
