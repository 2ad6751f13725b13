import { hashBytes, nodeHash } from './hashes.js';
import type { Hash } from './hashes.js';
import type { ReadNode } from './tree.js';

/** The hashes of a whole tile of C2SP's tlog-tiles. */
export const tileWidth = 256;

/** Every eighth level is kept in tiles; the levels between are computed from them. */
const levelsPerTile = 8;

/** The place of a node in a tile. */
export interface TilePlace {
  readonly level: number;
  readonly index: number;
  /** From 0 to 255. */
  readonly slot: number;
}

/** Where a node is kept; undefined for one that is computed. Level 0 are the leaves. */
export function tilePlaceOf(level: number, index: number): TilePlace | undefined {
  if (level % levelsPerTile !== 0) return undefined;
  return { level: level / levelsPerTile, index: Math.floor(index / tileWidth), slot: index % tileWidth };
}

/** Returns the hashes of a tile one after the other, as many as there are. */
export type ReadTile = (level: number, index: number) => Uint8Array;

/** Reads nodes from the tiles of a tree. A node whose leaves are not all there has no hash, and must not be asked for. */
export function createNodeReader(readTile: ReadTile): ReadNode {
  return (level, index) => {
    const width = 2 ** (level % levelsPerTile);
    const first = index * width;
    const tile = readTile(Math.floor(level / levelsPerTile), Math.floor(first / tileWidth));
    let hashes: Hash[] = Array.from({ length: width }, (_, at) => {
      const start = ((first % tileWidth) + at) * hashBytes;
      return tile.subarray(start, start + hashBytes);
    });
    while (hashes.length > 1) hashes = pairs(hashes);
    return hashes[0] ?? new Uint8Array(0);
  };
}

function pairs(hashes: readonly Hash[]): Hash[] {
  const parents: Hash[] = [];
  for (let at = 0; at + 1 < hashes.length; at += 2) {
    parents.push(nodeHash(hashes[at] as Hash, hashes[at + 1] as Hash));
  }
  return parents;
}
