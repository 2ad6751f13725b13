import {
  createGrowingTree,
  createNodeReader,
  hashBytes,
  rangeAt,
  rootAt,
  tilePlaceOf,
  tileWidth,
} from '@countersign/audit';
import type { Hash, ReadNode, ReadTile } from '@countersign/audit';
import type { LeafPlace, Tile, TreeFile } from './sqlite/tree-file.js';

/** The tree of one tenant: what is in the file, and what is about to be stored. */
export interface TenantTree {
  readonly size: () => number;
  /** Appends the leaf of the event at this place of the log. */
  readonly append: (leaf: Hash, place: LeafPlace) => void;
  /** The root of the first `size` leaves. */
  readonly rootAt: (size: number) => Hash;
  readonly leaf: (index: number) => Hash;
  /** The hashes of a tile one after the other, as many as there are. */
  readonly tile: ReadTile;
  /** Returns nodes, from the tiles. */
  readonly node: ReadNode;
  /** The places of the events of a tile of leaves. */
  readonly places: (index: number) => readonly LeafPlace[];
  /** The tiles that changed since the last `saved`. */
  readonly changed: () => readonly Tile[];
  readonly saved: () => void;
}

interface OpenTile {
  readonly level: number;
  readonly index: number;
  readonly bytes: Uint8Array;
  readonly places: LeafPlace[];
  count: number;
  isChanged: boolean;
}

/** The tree of a tenant, as the file has it. */
export function openTenantTree(file: TreeFile, tenant: string, size: number): TenantTree {
  const open = new Map<string, OpenTile>();
  const hashesOf = ({ bytes, count }: OpenTile): Uint8Array => bytes.subarray(0, count * hashBytes);
  const readTile = (level: number, index: number): Uint8Array => {
    const found = open.get(`${level}/${index}`);
    return found === undefined ? file.tile(tenant, level, index) : hashesOf(found);
  };
  const openTile = (level: number, index: number): OpenTile => {
    const found = open.get(`${level}/${index}`);
    if (found !== undefined) return found;
    const [bytes, stored] = [new Uint8Array(tileWidth * hashBytes), file.tile(tenant, level, index)];
    bytes.set(stored);
    const places = level === 0 ? [...file.places(tenant, index)] : [];
    const tile = { level, index, bytes, places, count: stored.length / hashBytes, isChanged: false };
    open.set(`${level}/${index}`, tile);
    return tile;
  };
  const read = createNodeReader(readTile);
  const tree = createGrowingTree(rangeAt(size, read), (nodeLevel, nodeIndex, hash) => {
    const place = tilePlaceOf(nodeLevel, nodeIndex);
    if (place === undefined) return;
    const tile = openTile(place.level, place.index);
    tile.bytes.set(hash, place.slot * hashBytes);
    tile.count = place.slot + 1;
    tile.isChanged = true;
  });
  return {
    size: tree.size,
    append: (leaf, place) => {
      openTile(0, Math.floor(tree.size() / tileWidth)).places.push(place);
      tree.append(leaf);
    },
    tile: readTile,
    node: read,
    places: (index) => open.get(`0/${index}`)?.places ?? file.places(tenant, index),
    rootAt: (at) => rootAt(at, read),
    leaf: (index) => read(0, index),
    changed: () =>
      [...open.values()]
        .filter(({ isChanged }) => isChanged)
        .map((tile) => ({ level: tile.level, index: tile.index, hashes: hashesOf(tile), places: tile.places })),
    saved: () => {
      for (const [key, tile] of open) {
        tile.isChanged = false;
        if (tile.count === tileWidth) open.delete(key);
      }
    },
  };
}
