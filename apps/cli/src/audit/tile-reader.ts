import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { formatTilePath, hashBytes, parseEntries, tileWidth } from '@countersign/audit';
import type { TileName } from '@countersign/audit';
import { keyChangesFile } from '../bundle/layout.js';
import { usageError } from '../cli-error.js';
import { keyChangesBytesMax } from './key-change-lines.js';

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

/** Reads a file; undefined: it is not there. @throws CliError for one of more than `bytesMax` */
type ReadFile = (path: string, bytesMax: number) => Promise<Uint8Array | undefined>;

const noteBytesMax = 1024 * 1024;
/** 256 entries, each after its length in two bytes. */
const tileBytesMax = tileWidth * (2 + 65_535);

/** A folder of tiles. */
export function openTileFolder(folder: string): TileReader {
  return createReader(folder, (path, bytesMax) => {
    const file = join(folder, path);
    const size = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
    if (size > bytesMax) throw tooLong(file, bytesMax);
    return Promise.resolve(existsSync(file) ? readFileSync(file) : undefined);
  });
}

/** Tiles at an address. The token is sent to that address alone. */
export function openTileUrl(url: string, token: string | undefined, signal: AbortSignal): TileReader {
  const base = url.replace(/\/$/, '');
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  return createReader(url, async (path, bytesMax) => {
    const file = `${base}/${path}`;
    const broken = (error: unknown): never => {
      throw unreadable(file, causeOf(error), 'Check the address, and that the server runs.');
    };
    // A redirect would carry the token to another address.
    const response = await fetch(file, { headers, signal, redirect: 'error' }).catch(broken);
    if (response.status === 404) return undefined;
    if (!response.ok) throw refused(file, response.status, token !== undefined);
    const bytes = await boundedBytes(response, bytesMax).catch(broken);
    if (bytes === undefined) throw tooLong(file, bytesMax);
    return bytes;
  });
}

/** The bytes of a response; undefined for more than `bytesMax`. Attack: a server that sends without end. */
async function boundedBytes({ body }: Response, bytesMax: number): Promise<Uint8Array | undefined> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of (body ?? []) as AsyncIterable<Uint8Array>) {
    length += part.length;
    if (length > bytesMax) return undefined;
    parts.push(part);
  }
  return Buffer.concat(parts);
}

function refused(what: string, status: number, hasToken: boolean): Error {
  const answer = `status ${String(status)}`;
  if (status === 401 && !hasToken) {
    return unreadable(what, `it needs the token of an auditor (${answer})`, 'Set COUNTERSIGN_TOKEN, or give --token.');
  }
  if (status === 401) {
    return unreadable(what, `the token is not accepted (${answer})`, 'Check COUNTERSIGN_TOKEN or --token.');
  }
  if (status !== 403) return unreadable(what, answer, 'Check the address, and that the server is ready.');
  const remedy = 'Set COUNTERSIGN_TOKEN to the token of an auditor, or give it with --token.';
  return unreadable(what, `the right to read it is missing (${answer})`, remedy);
}

function unreadable(what: string, why: string, remedy: string): Error {
  return usageError(`${what} cannot be read: ${why}.`, remedy);
}

function tooLong(what: string, bytesMax: number): Error {
  return unreadable(
    what,
    `it has more than ${String(bytesMax)} bytes`,
    'A sound log has no file of this size: ask the operator.',
  );
}

/** `fetch failed` alone says nothing; its cause does. */
function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error && error.cause.message !== '' ? error.cause.message : error.message;
}

const noTiles = 'Name a folder or an address of tiles. That of a server ends with /v1/log.';

function createReader(where: string, read: ReadFile): TileReader {
  const partial = async (name: TileName): Promise<Tile | undefined> =>
    tileOf(name, await read(formatTilePath(name), tileBytesMax));
  // A server may keep the full tile alone, once there is one.
  const widest = async (name: TileName): Promise<Tile | undefined> =>
    (await partial(name)) ?? (name.width === tileWidth ? undefined : await partial({ ...name, width: tileWidth }));
  return {
    checkpoint: async () => {
      const note = await read('checkpoint', noteBytesMax);
      if (note === undefined) throw usageError(`There is no checkpoint in ${where}.`, noTiles);
      return Buffer.from(note).toString();
    },
    keyChanges: async () => textLines((await read(keyChangesFile, keyChangesBytesMax)) ?? new Uint8Array(0)),
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
