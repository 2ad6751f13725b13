import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { formatEntries, formatTilePath, hashBytes } from '@countersign/audit';
import type { TileName } from '@countersign/audit';
import { openTileFolder } from './tile-reader.js';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
});
afterEach(() => {
  rmSync(folder, { recursive: true });
});

const entriesName: TileName = { level: 'entries', index: 0, width: 2 };
const hashesName: TileName = { level: 0, index: 0, width: 2 };
const listOf = (length: number): readonly string[] => Array.from({ length }, (_, at) => `entry ${String(at)}`);
const hashesOf = (length: number): Uint8Array => new Uint8Array(length * hashBytes);

function put(name: TileName, bytes: Uint8Array): void {
  const file = join(folder, formatTilePath(name));
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, bytes);
}

describe('a folder of tiles', () => {
  it('may have the full tile in the place of a partial one', async () => {
    put({ ...entriesName, width: 256 }, formatEntries(listOf(256)));
    put({ ...hashesName, width: 256 }, hashesOf(256));
    const reader = openTileFolder(folder);
    expect((await reader.entries(entriesName))?.map(String)).toHaveLength(2);
    expect(await reader.hashes(hashesName)).toHaveLength(2 * hashBytes);
  });

  it.each([1, 3, 256])('has no tile of two where the file has %i', async (length) => {
    put(entriesName, formatEntries(listOf(length)));
    put(hashesName, hashesOf(length));
    const reader = openTileFolder(folder);
    expect([await reader.entries(entriesName), await reader.hashes(hashesName)]).toEqual([undefined, undefined]);
  });

  it('has no full tile where the file has fewer', async () => {
    put({ ...entriesName, width: 256 }, formatEntries(listOf(2)));
    put({ ...hashesName, width: 256 }, hashesOf(2));
    const reader = openTileFolder(folder);
    expect([await reader.entries(entriesName), await reader.hashes(hashesName)]).toEqual([undefined, undefined]);
  });
});
