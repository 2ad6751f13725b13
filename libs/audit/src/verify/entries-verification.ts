import { isSameHash, leafHash } from '../hashes.js';
import type { Hash } from '../hashes.js';
import { parseEntry } from '../entry.js';
import type { KnownStreams } from '../legality/streams.js';
import { tilePlaceOf, tileWidth } from '../tiles.js';
import { createGrowingTree } from '../tree.js';
import type { Anchor } from './anchors.js';
import { compareAnchors, isReached } from './compare-anchors.js';
import type { ReachedRoot } from './compare-anchors.js';
import type { Finding } from './findings.js';
import { createKnownIds, findingOfRepeated } from './known-ids.js';
import type { KnownIds } from './known-ids.js';
import type { Trust } from './trust.js';
import type { VerificationEnd } from './verification.js';

/** A tile of hashes as it is computed from the entries. */
export interface ComputedTile {
  readonly level: number;
  readonly index: number;
  readonly hashes: readonly Hash[];
}

/** What the entries of a log are verified against. */
export interface EntriesOptions extends Trust {
  readonly since: readonly Anchor[];
  /** The checkpoint of the entries. */
  readonly newest: Anchor;
  /** Remembers the revision that each stream has next. */
  readonly streams: KnownStreams;
  /** Absent: the ids are kept in memory. */
  readonly ids?: KnownIds;
  readonly onFinding: (finding: Finding) => void;
}

/** Verifies a log of which there are entries and tiles alone, without the content of its events. */
export interface EntriesVerification {
  readonly size: () => number;
  readonly take: (entry: Uint8Array) => void;
  /** The tiles that are computed since the last call. */
  readonly fullTiles: () => readonly ComputedTile[];
  /** The tiles at the end, which are not full. */
  readonly openTiles: () => readonly ComputedTile[];
  /** Compares a computed tile with the served one; undefined: there is none. */
  readonly compareTile: (computed: ComputedTile, served: Uint8Array | undefined) => void;
  /** Reports that something could not be read. */
  readonly note: (finding: Pick<Finding, 'check' | 'detail'>) => void;
  readonly end: () => VerificationEnd;
}

/** A verification with nothing read yet. */
export function createEntriesVerification(options: EntriesOptions): EntriesVerification {
  const { since, newest, streams, ids = createKnownIds(), keys, policy, changes = [] } = options;
  const sizes = new Set([...since, newest, ...changes].map(({ size }) => size));
  const reached: ReachedRoot[] = [];
  const tiles = createTiles();
  const tree = createGrowingTree(undefined, tiles.add);
  let findings = 0;
  const report = (finding: Finding): void => {
    findings += 1;
    options.onFinding(finding);
  };
  const reach = (): void => {
    if (sizes.has(tree.size())) reached.push({ size: tree.size(), root: tree.root() });
  };
  reach();
  return {
    size: tree.size,
    take: (bytes) => {
      judgeEntry(Buffer.from(bytes).toString(), tree.size(), { streams, ids, report });
      tree.append(leafHash(bytes));
      reach();
    },
    fullTiles: tiles.full,
    openTiles: tiles.open,
    compareTile: (computed, served) => {
      const different = firstDifference(computed, served);
      if (different === undefined) return;
      const { level, index } = computed;
      const first = (index * tileWidth + different) * tileWidth ** level;
      const detail = served === undefined ? 'is not there' : 'has another hash than the entries';
      const which = `tile ${String(index)} of level ${String(level)} ${detail}`;
      report({ check: 'tree', ok: false, index: first, eventId: null, stream: null, detail: which });
    },
    note: (finding) => {
      report({ ok: false, index: tree.size(), eventId: null, stream: null, ...finding });
    },
    end: () => {
      const size = tree.size();
      const trust = { keys, policy, changes: changes.filter((change) => isReached(change, reached)) };
      const trees = { reached, size, firstDifference: -1, storedLeaf: undefined };
      const compared = compareAnchors({ since, kept: [newest], ...trust, ...trees });
      compared.findings.forEach(report);
      for (const repeated of ids.repeated()) report(findingOfRepeated(repeated));
      const { origin, epoch } = newest;
      return {
        exit: findings > 0 ? 1 : compared.isVouched ? 0 : 3,
        ...{ origin, epoch, size, root: tree.root(), proven: compared.proven, continued: [] },
        unproven: [
          'the content of the events, and that each is legal: tiles have hashes of them',
          ...compared.unproven,
        ],
      };
    },
  };
}

interface Judging {
  readonly streams: KnownStreams;
  readonly ids: KnownIds;
  readonly report: (finding: Finding) => void;
}

function judgeEntry(text: string, index: number, { streams, ids, report }: Judging): void {
  const entry = parseEntry(text);
  if (entry === undefined) {
    report({ check: 'read', ok: false, index, eventId: null, stream: null, detail: 'the entry is none' });
    return;
  }
  const { eventId, stream, revision } = entry;
  ids.add(eventId, index);
  const next = streams.get(stream)?.next ?? 0;
  if (revision !== next) {
    const detail = `its revision is ${String(revision)} where ${String(next)} comes next`;
    report({ check: 'order', ok: false, index, eventId, stream, detail });
  }
  streams.set(stream, { next: revision + 1, state: undefined });
}

/** The slot of the first hash that differs; undefined: none does. */
function firstDifference({ hashes }: ComputedTile, served: Uint8Array | undefined): number | undefined {
  if (served === undefined) return 0;
  const slot = hashes.findIndex((hash, at) => {
    const start = at * hash.length;
    return !isSameHash(hash, served.subarray(start, start + hash.length));
  });
  if (slot !== -1) return slot;
  const length = hashes.reduce((sum, hash) => sum + hash.length, 0);
  return served.length === length ? undefined : hashes.length;
}

/** Gathers the nodes of a growing tree into tiles. */
function createTiles() {
  const open = new Map<number, { readonly index: number; readonly hashes: Hash[] }>();
  let done: ComputedTile[] = [];
  return {
    add: (nodeLevel: number, nodeIndex: number, hash: Hash): void => {
      const place = tilePlaceOf(nodeLevel, nodeIndex);
      if (place === undefined) return;
      const { level, index } = place;
      const tile = open.get(level) ?? { index, hashes: [] };
      tile.hashes.push(hash);
      if (tile.hashes.length < tileWidth) {
        open.set(level, tile);
        return;
      }
      open.delete(level);
      done.push({ level, ...tile });
    },
    full: (): readonly ComputedTile[] => {
      const full = done;
      done = [];
      return full;
    },
    open: (): readonly ComputedTile[] => [...open].map(([level, tile]) => ({ level, ...tile })),
  };
}
