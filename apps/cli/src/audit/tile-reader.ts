import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatTilePath, hashBytes, parseEntries, tileWidth } from '@countersign/audit';
import type { TileName } from '@countersign/audit';
import { keyChangesFile } from '../bundle/layout.js';
import { usageError } from '../cli-error.js';

/** Reads a log that is served, or kept in a folder, as tiles. */
export interface TileReader {
  /** @throws CliError when there is none */
  readonly checkpoint: () => Promise<string>;
  /** The changes of the log key, each as a line of JSON; none where there is no such file. */
  readonly keyChanges: () => Promise<readonly string[]>;
  /** Undefined: it is not there. */
  readonly hashes: (name: TileName) => Promise<Uint8Array | undefined>;
  readonly entries: (name: TileName) => Promise<readonly Uint8Array[] | undefined>;
}

/** A tile, and the width that its name says. Attack: it has more than that, which no checkpoint covers. */
interface Tile {
  readonly bytes: Uint8Array;
  readonly width: number;
}

function tileOf({ width }: TileName, bytes: Uint8Array | undefined): Tile | undefined {
  return bytes === undefined ? undefined : { bytes, width };
}

type ReadFile = (path: string) => Promise<Uint8Array | undefined>;

/** A folder of tiles. */
export function openTileFolder(folder: string): TileReader {
  return createReader(folder, (path) => {
    const file = join(folder, path);
    return Promise.resolve(existsSync(file) ? readFileSync(file) : undefined);
  });
}

/** Tiles at an address. The token is sent to that address alone. */
export function openTileUrl(url: string, token: string | undefined, signal: AbortSignal): TileReader {
  const base = url.replace(/\/$/, '');
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return createReader(url, async (path) => {
    // A redirect would carry the token to another address.
    const response = await fetch(`${base}/${path}`, { headers, signal, redirect: 'error' }).catch((error: unknown) => {
      throw unreadable(`${base}/${path}`, error instanceof Error ? error.message : String(error));
    });
    if (response.status === 404) return undefined;
    if (!response.ok) throw unreadable(`${base}/${path}`, `status ${String(response.status)}`);
    return new Uint8Array(await response.arrayBuffer());
  });
}

function unreadable(what: string, why: string): Error {
  return usageError(`${what} cannot be read: ${why}.`, 'Check the address and --token.');
}

function createReader(where: string, read: ReadFile): TileReader {
  const partial = async (name: TileName): Promise<Tile | undefined> => tileOf(name, await read(formatTilePath(name)));
  // A server may keep the full tile alone, once there is one.
  const widest = async (name: TileName): Promise<Tile | undefined> =>
    (await partial(name)) ?? (name.width === tileWidth ? undefined : await partial({ ...name, width: tileWidth }));
  return {
    checkpoint: async () => {
      const note = await read('checkpoint');
      if (note === undefined)
        throw usageError(`There is no checkpoint in ${where}.`, 'Name a folder or an address of tiles.');
      return Buffer.from(note).toString();
    },
    keyChanges: async () => textLines((await read(keyChangesFile)) ?? new Uint8Array(0)),
    hashes: async (name) => {
      const tile = await widest(name);
      if (tile === undefined || tile.bytes.length !== tile.width * hashBytes) return undefined;
      return tile.bytes.subarray(0, name.width * hashBytes);
    },
    entries: async (name) => {
      const tile = await widest(name);
      const entries = tile === undefined ? undefined : parseEntries(tile.bytes);
      return tile === undefined || entries?.length !== tile.width ? undefined : entries.slice(0, name.width);
    },
  };
}

/** The lines of a text that are not empty. */
export function textLines(text: Uint8Array): readonly string[] {
  return Buffer.from(text)
    .toString()
    .split('\n')
    .filter((line) => line !== '');
}
