import {
  entryOf,
  formatTlogProof,
  inclusionProof,
  nodeHash,
  parseCheckpoint,
  parseNote,
  tilePlaceOf,
  tileWidth,
  widthAt,
  hashBytes,
} from '@countersign/audit';
import type { ReadNode, ReadTile } from '@countersign/audit';
import type { LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { LeafPlace } from './sqlite/tree-file.js';
import { storedOf, treeEventOf } from './stored-events.js';
import type { TenantTree } from './tenant-tree.js';
import type { Trees } from './trees.js';

/** An event that is proven to be in the log. */
export interface ProvenEvent {
  readonly index: number;
  readonly entry: string;
  /** As stored, with sensitive values sealed. */
  readonly body: { readonly data: unknown; readonly metadata: unknown };
  /** A proof of C2SP's tlog-proof. */
  readonly proof: string;
}

/** The tree over each tenant's log, as far as a signed checkpoint covers it. */
export interface LogTiles {
  /** The hashes of a tile, one after the other; empty where there is none yet. */
  readonly hashTile: (tenant: string, level: number, index: number) => Promise<Uint8Array>;
  /** The entries of a tile of leaves; none where there is none yet. */
  readonly entryTile: (tenant: string, index: number) => Promise<readonly string[]>;
  /** The events of a stream that a checkpoint covers, from its first one on, each with its proof. The checkpoint is of this tenant. */
  readonly prove: (tenant: string, stream: string, checkpoint: string) => Promise<readonly ProvenEvent[]>;
  /** The tenants that have a tree. */
  readonly tenants: () => readonly string[];
}

/** The tiles of a notary's trees. */
export function createLogTiles(
  store: Pick<EventStore, 'readAll' | 'readStream'>,
  trees: () => Pick<Trees, 'signedTree' | 'tenants'>,
): LogTiles {
  const signedTree: Trees['signedTree'] = (tenant) => trees().signedTree(tenant);
  return {
    tenants: () => trees().tenants(),
    hashTile: (tenant, level, index) => {
      const found = signedTree(tenant);
      const width = found === undefined ? 0 : widthAt(found.size, level, index);
      const tile = width === 0 ? nothing : (found?.tree.tile(level, index) ?? nothing);
      // A copy: the tree still writes into the tile.
      return Promise.resolve(Uint8Array.from(tile.subarray(0, width * hashBytes)));
    },
    entryTile: async (tenant, index) => {
      const found = signedTree(tenant);
      const width = found === undefined ? 0 : widthAt(found.size, 0, index);
      const places = width === 0 ? [] : (found?.tree.places(index).slice(0, width) ?? []);
      const events = await readPlaces(store, places);
      return events.map((event) => entryOf(storedOf(event)));
    },
    prove: async (tenant, stream, note) => {
      const events = await store.readStream(stream);
      const found = signedTree(tenant);
      const signed = parseCheckpoint(parseNote(note)?.text ?? '');
      if (found === undefined || signed === undefined || signed.size > found.tree.size()) return [];
      const { tree } = found;
      const { size } = signed;
      const [node, places] = [rememberNodes(tree.tile), remember(tree.places)];
      const proven: ProvenEvent[] = [];
      for (const event of events) {
        const index = treeEventOf(event)?.tenant === tenant ? indexOf(places, size, event.position) : undefined;
        // A later one is not covered, and what follows it is not either.
        if (index === undefined) break;
        const stored = storedOf(event);
        const path = inclusionProof(index, size, node);
        const { data, metadata } = stored;
        proven.push({
          index,
          entry: entryOf(stored),
          body: { data, metadata: withoutMoved(metadata) },
          proof: formatTlogProof({ index, path, note }),
        });
      }
      return proven;
    },
  };
}

const nothing = new Uint8Array(0);

/** Reads the events of these places. Those that follow each other in the log are read together. */
async function readPlaces(
  store: Pick<EventStore, 'readAll'>,
  places: readonly LeafPlace[],
): Promise<readonly LogEvent[]> {
  const events: LogEvent[] = [];
  while (events.length < places.length) {
    const first = places[events.length] as LeafPlace;
    let count = 1;
    while (places[events.length + count]?.after === places[events.length + count - 1]?.position) count += 1;
    const page = await store.readAll(first.after, count);
    if (page[0]?.position !== first.position) {
      throw new Error(`the log has no event at position ${String(first.position)}, and its tree has one`);
    }
    events.push(...page);
  }
  return events;
}

/** The index of the event at a position of the log; undefined where it is not among the first `size` leaves. */
function indexOf(places: TenantTree['places'], size: number, position: number): number | undefined {
  let [low, high] = [0, Math.ceil(size / tileWidth)];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if ((places(middle)[0]?.position ?? Infinity) <= position) low = middle;
    else high = middle;
  }
  const slot = places(low).findIndex((place) => place.position === position);
  const index = low * tileWidth + slot;
  return slot === -1 || index >= size ? undefined : index;
}

/** The same nodes are in the proofs of events that are near each other, and each is computed once, from its children. */
function rememberNodes(readTile: ReadTile): ReadNode {
  const tiles = remember((level) => remember((index) => readTile(level, index)));
  const levels = remember((level) => remember((index) => compute(level, index)));
  const node: ReadNode = (level, index) => levels(level)(index);
  const compute: ReadNode = (level, index) => {
    const place = tilePlaceOf(level, index);
    if (place === undefined) return nodeHash(node(level - 1, 2 * index), node(level - 1, 2 * index + 1));
    const at = place.slot * hashBytes;
    return tiles(place.level)(place.index).subarray(at, at + hashBytes);
  };
  return node;
}

function remember<T>(read: (index: number) => T): (index: number) => T {
  const known = new Map<number, T>();
  return (index) => {
    const found = known.get(index) ?? read(index);
    known.set(index, found);
    return found;
  };
}

/** The body does not cover this member. */
function withoutMoved(metadata: unknown): unknown {
  if (typeof metadata !== 'object' || metadata === null || !('moved' in metadata)) return metadata;
  const { moved: _moved, ...covered } = metadata;
  return covered;
}
