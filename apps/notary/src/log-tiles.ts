import { entryOf, hashBytes, parseCheckpoint, parseNote, widthAt } from '@countersign/audit';
import type { LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { proofIn, proveStream } from './proven-events.js';
import type { ProvenEvent } from './proven-events.js';
import type { LeafPlace } from './sqlite/tree-file.js';
import { storedOf } from './stored-events.js';
import type { Trees } from './trees.js';

/** The tree over each tenant's log, as far as a signed checkpoint covers it. */
export interface LogTiles {
  /** The hashes of a tile, one after the other; empty where there is none yet. */
  readonly hashTile: (tenant: string, level: number, index: number) => Promise<Uint8Array>;
  /** The entries of a tile of leaves; none where there is none yet. */
  readonly entryTile: (tenant: string, index: number) => Promise<readonly string[]>;
  /** The events of a stream that a checkpoint covers, from its first one on, each with its proof. The checkpoint is of this tenant. */
  readonly prove: (tenant: string, stream: string, checkpoint: string) => Promise<readonly ProvenEvent[]>;
  /** The changes of the log key of a tenant, each the proof of its event as JSON, as a verifier reads it. */
  readonly keyChanges: (tenant: string) => readonly string[];
  /** The tenants that have a tree. */
  readonly tenants: () => readonly string[];
}

/** The tiles of a notary's trees. */
export function createLogTiles(
  store: Pick<EventStore, 'readAll' | 'readStream'>,
  trees: () => Pick<Trees, 'signedTree' | 'keyChanges' | 'tenants'>,
): LogTiles {
  const signedTree: Trees['signedTree'] = (tenant) => trees().signedTree(tenant);
  return {
    tenants: () => trees().tenants(),
    keyChanges: (tenant) => trees().keyChanges(tenant),
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
      const found = signedTree(tenant);
      const signed = parseCheckpoint(parseNote(note)?.text ?? '');
      if (found === undefined || signed === undefined || signed.size > found.tree.size()) return [];
      const proven = await proveStream({ store, tree: found.tree, tenant, stream, size: signed.size });
      return proven.map((event) => proofIn(event, note));
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
