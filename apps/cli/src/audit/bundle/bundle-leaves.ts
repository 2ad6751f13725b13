import { formatTilePath, hashBytes, tileWidth } from '@countersign/audit';
import type { Hash } from '@countersign/audit';
import { tilesFile } from '../../bundle/layout.js';

/** Reads the leaves of a tree from the tiles of a folder. Undefined for a leaf that no tile has. */
export function createLeafReader(read: (path: string) => Uint8Array | undefined): (index: number) => Hash | undefined {
  let [open, hashes]: [number, Uint8Array] = [-1, new Uint8Array(0)];
  return (index) => {
    const tile = Math.floor(index / tileWidth);
    if (tile !== open) [open, hashes] = [tile, readTile(read, tile)];
    const at = (index % tileWidth) * hashBytes;
    return at + hashBytes <= hashes.length ? hashes.subarray(at, at + hashBytes) : undefined;
  };
}

/** A tile that is full, or the widest one that is there. */
function readTile(read: (path: string) => Uint8Array | undefined, index: number): Uint8Array {
  for (let width = tileWidth; width > 0; width -= 1) {
    const bytes = read(tilesFile(formatTilePath({ level: 0, index, width })));
    if (bytes !== undefined) return bytes;
  }
  return new Uint8Array(0);
}
