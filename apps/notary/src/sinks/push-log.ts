import { hash } from 'node:crypto';
import {
  encodeTenant,
  formatEntries,
  formatTilePath,
  hashBytes,
  isSameHash,
  parseCheckpoint,
  parseNote,
  parseOrigin,
  tileWidth,
  verifyNote,
  widthAt,
} from '@countersign/audit';
import type { Checkpoint, Hash, TileName, VerifierKey } from '@countersign/audit';
import { crashPoint, sideBySide } from '@countersign/runtime';
import type { LogTiles } from '../log-tiles.js';
import { SinkAlarm } from './sink.js';
import type { Sink } from './sink.js';

/** The log of each tenant, as far as it is signed. */
export interface SinkSource extends Pick<LogTiles, 'hashTile' | 'entryTile' | 'keyChanges' | 'tenants'> {
  /** The newest signed checkpoint; undefined: there is none, or the log contradicts what was signed. */
  readonly newest: (tenant: string) => string | undefined;
  readonly treeOf: (tenant: string) => SinkTree | undefined;
  /** The keys of the tenant's log, also those that were replaced. */
  readonly keysOf: (tenant: string) => Promise<readonly VerifierKey[]>;
  /** Learns of a checkpoint that was signed with this key and is kept elsewhere. The log may contradict it. */
  readonly hear: (tenant: string, note: string) => void;
}

/** The tree of a tenant. */
export interface SinkTree {
  readonly size: () => number;
  readonly rootAt: (size: number) => Hash;
}

/** What is pushed to a sink: a log of a tenant up to a checkpoint. */
export interface Pushing {
  readonly source: SinkSource;
  readonly tenant: string;
  /** The signed checkpoint. */
  readonly note: string;
  readonly signal: AbortSignal;
}

/** `waits`: the tree is being built and does not have as many leaves yet. `given`: how many leaves the sink has now. */
export type Pushed = { readonly status: 'pushed'; readonly given: number } | { readonly status: 'waits' };

/** How many tiles are sent at once. */
const lanes = 8;

/**
 * Brings a sink to a checkpoint: first every tile that it lacks, then the checkpoint. The checkpoint that the sink has says where
 * to go on, so that nothing has to be remembered here.
 * @throws SinkAlarm when the sink has something that this log contradicts; Error when the sink is away
 */
export async function pushLog(sink: Sink, pushing: Pushing): Promise<Pushed> {
  const ready = readyTree(pushing);
  if (ready === undefined) return { status: 'waits' };
  const { note } = pushing;
  const { signed } = ready;
  const folder = folderOf(pushing.tenant, signed.origin);
  const found = await sink.read(`${folder}/checkpoint`);
  const had = found === undefined ? undefined : Buffer.from(found).toString();
  if (had !== note) {
    const from = had === undefined ? 0 : await sizeGiven(had, ready, pushing);
    await pushTiles(sink, folder, { from, to: signed.size }, pushing);
    crashPoint('notary.sink-tiles');
    await pushKeyChanges(sink, folder, pushing);
    const isNewer = from < signed.size || hasMoreLines(note, had ?? '');
    if (isNewer) await sink.putCheckpoint(`${folder}/checkpoint`, Buffer.from(note));
  }
  return { status: 'pushed', given: signed.size };
}

/** A tree with a checkpoint of it. */
export interface Ready {
  readonly signed: Checkpoint;
  readonly tree: SinkTree;
}

/** The tree and its checkpoint. A tree that is shorter, or differs from what was signed, is never given away. */
export function readyTree({ source, tenant, note }: Pushing): Ready | undefined {
  const signed = parseCheckpoint(parseNote(note)?.text ?? '');
  const tree = source.treeOf(tenant);
  if (signed === undefined || tree === undefined || tree.size() < signed.size) return undefined;
  return isSameHash(tree.rootAt(signed.size), signed.root) ? { signed, tree } : undefined;
}

/** The folder of a log in a sink: its tenant and its epoch, as in its origin. Each epoch has tiles of its own. */
export function folderOf(tenant: string, origin: string): string {
  const encoded = encodeTenant(tenant);
  // Attack: a tenant named `..`, whose files land elsewhere.
  const name = /^\.{0,2}$/.test(encoded) ? `~${hash('sha256', tenant, 'hex').slice(0, 32)}` : encoded;
  return `${name}/${String(parseOrigin(origin)?.epoch ?? 1)}`;
}

/** How many leaves a sink has by its own checkpoint, if this log has the same ones. */
async function sizeGiven(had: string, { signed, tree }: Ready, { source, tenant }: Pushing): Promise<number> {
  const parsed = parseNote(had);
  const given = parsed === undefined ? undefined : parseCheckpoint(parsed.text);
  if (parsed === undefined || given?.origin !== signed.origin) {
    throw new SinkAlarm('its checkpoint is not one of this log, and it stays there');
  }
  if (given.size <= signed.size && isSameHash(tree.rootAt(given.size), given.root)) return given.size;
  const isOurs = verifyNote(parsed, await source.keysOf(tenant)).verified.length > 0;
  if (isOurs) source.hear(tenant, had);
  const whose = isOurs ? 'was signed with the key of this log' : 'has no signature of the key of this log';
  const differs = given.size > signed.size ? 'covers more events than this log has signed' : 'contradicts this log';
  throw new SinkAlarm(`its checkpoint ${differs}, ${whose}, and stays there`);
}

/** Without them a verifier who has the old key trusts no checkpoint of the new one, so they come before it. */
async function pushKeyChanges(sink: Sink, folder: string, { source, tenant }: Pushing): Promise<void> {
  const changes = source.keyChanges(tenant);
  if (changes.length === 0) return;
  const path = `${folder}/key-changes`;
  const bytes = Buffer.from(changes.map((one) => `${one}\n`).join(''));
  const found = await sink.read(path);
  if (found === undefined || !bytes.equals(found)) await sink.putCheckpoint(path, bytes);
}

interface Range {
  readonly from: number;
  readonly to: number;
}

async function pushTiles(sink: Sink, folder: string, range: Range, { source, tenant, signal }: Pushing): Promise<void> {
  for (const names of batches(tilesOf(range))) {
    signal.throwIfAborted();
    await sideBySide(names, lanes, async (name) => {
      await sink.putTile(`${folder}/${formatTilePath(name)}`, await bytesOf(source, tenant, name));
      crashPoint('notary.sink-tile');
    });
  }
}

/** The tiles that a tree has and an earlier one did not have, the lowest level first. */
function* tilesOf({ from, to }: Range): Generator<TileName> {
  for (const kind of ['entries', 'hashes'] as const) {
    for (let level = 0; Math.floor(to / tileWidth ** level) > 0; level += 1) {
      if (kind === 'entries' && level > 0) break;
      const [before, after] = [Math.floor(from / tileWidth ** level), Math.floor(to / tileWidth ** level)];
      if (before === after) continue;
      for (let index = Math.floor(before / tileWidth); index * tileWidth < after; index += 1) {
        yield { level: kind === 'entries' ? kind : level, index, width: widthAt(to, level, index) };
      }
    }
  }
}

function* batches(names: Iterable<TileName>): Generator<readonly TileName[]> {
  let batch: TileName[] = [];
  for (const name of names) {
    batch.push(name);
    if (batch.length < lanes) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** @throws Error when the tree was built again meanwhile and lacks them */
async function bytesOf({ hashTile, entryTile }: SinkSource, tenant: string, name: TileName): Promise<Uint8Array> {
  const { level, index, width } = name;
  if (level === 'entries') {
    const entries = await entryTile(tenant, index);
    if (entries.length >= width) return formatEntries(entries.slice(0, width));
  } else {
    const hashes = await hashTile(tenant, level, index);
    if (hashes.length >= width * hashBytes) return hashes.subarray(0, width * hashBytes);
  }
  throw new Error('the tree is being built again');
}

/** A checkpoint that gets cosignatures later is pushed again. */
function hasMoreLines(note: string, had: string): boolean {
  return (parseNote(note)?.signatures.length ?? 0) > (parseNote(had)?.signatures.length ?? 0);
}
