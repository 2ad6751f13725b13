import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { createGrowingTree, formatEntries, formatTilePath, leafHash, tilePlaceOf, tileWidth } from '@countersign/audit';
import type { Hash, TileName } from '@countersign/audit';
import { tilesFile } from './layout.js';

/** The state of a tree after a whole number of tiles of leaves, as JSON. Hashes are in base64. */
export interface TreeState {
  readonly size: number;
  readonly range: readonly string[];
  /** The hashes of the tiles that are not full, from level 1 on. */
  readonly open: readonly (readonly string[])[];
}

/** The tree over the exported events. It writes its tiles as they become full. */
export interface TileFiles {
  readonly size: () => number;
  readonly append: (entry: string) => void;
  readonly root: () => Hash;
  /** Undefined where a tile of leaves is not full. */
  readonly state: () => TreeState | undefined;
  /** Writes the tiles that are not full. */
  readonly end: () => void;
}

/** Where a tile's bytes go. */
export type OnTile = (name: TileName, bytes: Uint8Array) => void;

/** A tree whose tiles are given to `onTile`, continued at a state. */
export function createTiles(onTile: OnTile, state: TreeState = { size: 0, range: [], open: [] }): TileFiles {
  const open: Hash[][] = [[], ...state.open.map((hashes) => hashes.map(fromText))];
  let entries: string[] = [];
  const start = { size: state.size, hashes: state.range.map(fromText) };
  const tree = createGrowingTree(start, (nodeLevel, nodeIndex, hash) => {
    const place = tilePlaceOf(nodeLevel, nodeIndex);
    if (place === undefined) return;
    const tile = (open[place.level] ??= []);
    tile.push(hash);
    if (tile.length < tileWidth) return;
    open[place.level] = [];
    onTile({ level: place.level, index: place.index, width: tileWidth }, Buffer.concat(tile));
  });
  return {
    size: tree.size,
    root: tree.root,
    append: (entry) => {
      entries.push(entry);
      tree.append(leafHash(entry));
      if (entries.length < tileWidth) return;
      onTile({ level: 'entries', index: tree.size() / tileWidth - 1, width: tileWidth }, formatEntries(entries));
      entries = [];
    },
    state: () => {
      if (entries.length > 0) return undefined;
      const { size, hashes } = tree.range();
      return { size, range: hashes.map(toText), open: open.slice(1).map((tile) => tile.map(toText)) };
    },
    end: () => {
      open.forEach((tile, level) => {
        const index = Math.floor(tree.size() / tileWidth ** (level + 1));
        if (tile.length > 0) onTile({ level, index, width: tile.length }, Buffer.concat(tile));
      });
      const index = Math.floor(tree.size() / tileWidth);
      if (entries.length > 0) onTile({ level: 'entries', index, width: entries.length }, formatEntries(entries));
    },
  };
}

/** Writes tiles into the folder of a bundle. */
export function writeTiles(folder: string): OnTile {
  const made = new Set<string>();
  return (name, bytes) => {
    const file = join(folder, tilesFile(formatTilePath(name)));
    const parent = dirname(file);
    if (!made.has(parent)) mkdirSync(parent, { recursive: true });
    made.add(parent);
    writeFileSync(file, bytes);
  };
}

const toText = (hash: Hash): string => Buffer.from(hash).toString('base64');
const fromText = (text: string): Hash => Buffer.from(text, 'base64');
