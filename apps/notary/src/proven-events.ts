import {
  entryOf,
  formatTlogProof,
  hashBytes,
  inclusionProof,
  nodeHash,
  tilePlaceOf,
  tileWidth,
} from '@countersign/audit';
import type { Hash, ReadNode, ReadTile } from '@countersign/audit';
import type { EventStore } from '@countersign/event-store';
import { storedOf, treeEventOf } from './stored-events.js';
import type { TenantTree } from './tenant-tree.js';

/** An event that is proven to be in the log. */
export interface ProvenEvent {
  readonly index: number;
  readonly entry: string;
  /** As stored, with sensitive values sealed. */
  readonly body: { readonly data: unknown; readonly metadata: unknown };
  /** A proof of C2SP's tlog-proof. */
  readonly proof: string;
}

/** An event with its path to the root. */
export interface EventPath extends Omit<ProvenEvent, 'proof'> {
  readonly path: readonly Hash[];
}

/** A stream whose events are looked for in a tree of this size. */
export interface ProvenStream {
  readonly store: Pick<EventStore, 'readStream'>;
  readonly tree: TenantTree;
  readonly tenant: string;
  readonly stream: string;
  readonly size: number;
}

/** The events of a stream that are among the first `size` leaves, from its first one on, each with its path. */
export async function proveStream({ store, tree, tenant, stream, size }: ProvenStream): Promise<readonly EventPath[]> {
  const [node, places] = [rememberNodes(tree.tile), remember(tree.places)];
  const proven: EventPath[] = [];
  for (const event of await store.readStream(stream)) {
    const index = treeEventOf(event)?.tenant === tenant ? indexOf(places, size, event.position) : undefined;
    // A later one is not covered, and what follows it is not either.
    if (index === undefined) break;
    const stored = storedOf(event);
    const path = inclusionProof(index, size, node);
    const { data, metadata } = stored;
    proven.push({ index, entry: entryOf(stored), body: { data, metadata: withoutMoved(metadata) }, path });
  }
  return proven;
}

/** The event with its proof in a checkpoint of that size. */
export function proofIn({ path, ...event }: EventPath, note: string): ProvenEvent {
  return { ...event, proof: formatTlogProof({ index: event.index, path, note }) };
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
