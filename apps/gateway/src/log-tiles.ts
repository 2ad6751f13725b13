import { formatEntries, encodeTenant, hashBytes, parseTilePath, tileWidth } from '@countersign/audit';
import type { TileName } from '@countersign/audit';

/** An event that is proven to be in the log. */
export interface ProvenEvent {
  readonly index: number;
  readonly entry: string;
  /** As stored, with sensitive values sealed. */
  readonly body: { readonly data: unknown; readonly metadata: unknown };
  /** A proof of C2SP's tlog-proof. */
  readonly proof: string;
}

/** The tree over each tenant's log, as far as a signed checkpoint covers it. @throws ProblemError `unavailable` where the notary is away */
export interface LogTiles {
  /** The hashes of a tile, one after the other; empty where there is none yet. */
  readonly hashTile: (tenant: string, level: number, index: number) => Promise<Uint8Array>;
  /** The entries of a tile of leaves; none where there is none yet. */
  readonly entryTile: (tenant: string, index: number) => Promise<readonly string[]>;
  /** The events of a stream that a checkpoint of the tenant covers, from its first one on, each with its proof. */
  readonly prove: (tenant: string, stream: string, checkpoint: string) => Promise<readonly ProvenEvent[]>;
  /** The tenants that have a tree. */
  readonly tenants: () => readonly string[] | Promise<readonly string[]>;
}

/** Whose tiles are open to everyone who reaches the gateway: nobody's, or those with hashes alone. */
export type LogPublic = 'no' | 'hashes';

/** The bytes of a tile; undefined where the log is not that large yet, and for a name that is none. */
export async function readTile(tiles: LogTiles, tenant: string, path: string): Promise<Uint8Array | undefined> {
  const name = parseTilePath(path);
  if (name === undefined) return undefined;
  return name.level === 'entries' ? entriesOf(tiles, tenant, name) : hashesOf(tiles, tenant, name.level, name);
}

/** Returns whether a tile is full, so that it never changes. */
export function isFullTile(path: string): boolean {
  return parseTilePath(path)?.width === tileWidth;
}

async function hashesOf(tiles: LogTiles, tenant: string, level: number, { index, width }: TileName) {
  const hashes = await tiles.hashTile(tenant, level, index);
  const bytes = width * hashBytes;
  return hashes.length < bytes ? undefined : hashes.subarray(0, bytes);
}

async function entriesOf(tiles: LogTiles, tenant: string, { index, width }: TileName) {
  const entries = await tiles.entryTile(tenant, index);
  return entries.length < width ? undefined : formatEntries(entries.slice(0, width));
}

/** The tenant that a path names: as it is, or as in the origin of its log. Undefined for one without a log. */
export async function tenantNamed(tiles: LogTiles, name: string): Promise<string | undefined> {
  const tenants = await tiles.tenants();
  return tenants.find((tenant) => tenant === name) ?? tenants.find((tenant) => encodeTenant(tenant) === name);
}

const openPath = /^\/v1\/log\/~[^/]+\/(?:checkpoint|tile\/[0-9]{1,2}\/[x0-9/]+(?:\.p\/[0-9]+)?)$/;

/**
 * Returns whether a request needs no token: it reads a checkpoint or a tile of hashes, which the operator opened. The changes of the
 * log key have an entry each, so they need one.
 */
export function isOpenLogRead(open: LogPublic | undefined, method: string, path: string): boolean {
  return open === 'hashes' && (method === 'GET' || method === 'HEAD') && openPath.test(path);
}
