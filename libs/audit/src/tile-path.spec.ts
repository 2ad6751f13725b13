import { describe, expect, it } from '@jest/globals';
import { formatEntries, formatTilePath, parseEntries, parseTilePath, widthAt } from './tile-path.js';

describe('the name of a tile', () => {
  it.each([
    ['tile/0/000', { level: 0, index: 0, width: 256 }],
    ['tile/0/x001/x234/067', { level: 0, index: 1_234_067, width: 256 }],
    ['tile/63/x001/000.p/255', { level: 63, index: 1000, width: 255 }],
    ['tile/entries/x999/999.p/1', { level: 'entries', index: 999_999, width: 1 }],
  ] as const)('%s is read, and written in the same form', (path, name) => {
    expect(parseTilePath(path)).toEqual(name);
    expect(formatTilePath(name)).toBe(path);
  });

  it.each([
    'tile/0/0',
    'tile/00/000',
    'tile/64/000',
    'tile/-1/000',
    'tile/data/000',
    'tile/0/x000/001',
    'tile/0/x001',
    'tile/0/x001/',
    'tile/0/001/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/000.p/01',
    'tile/0/000.p/',
    'tile/0/000.p/1/',
    'tile/0/000/../001',
    'tile/../checkpoint',
    'tile/0/000\n',
    'tile/0/x999/x999/x999/x999/x999/999',
    'checkpoint',
    '',
  ])('%j is no name', (path) => {
    expect(parseTilePath(path)).toBeUndefined();
  });
});

it('a tile has as many hashes as there are whole subtrees', () => {
  expect([0, 255, 256, 257, 1000].map((size) => widthAt(size, 0, 0))).toEqual([0, 255, 256, 256, 256]);
  expect([1000, 65_535, 65_536].map((size) => widthAt(size, 1, 0))).toEqual([3, 255, 256]);
  expect([widthAt(1000, 0, 3), widthAt(1000, 0, 4), widthAt(2 ** 53 - 1, 63, 0)]).toEqual([232, 0, 0]);
});

it('a tile of entries is read as it was written, and bytes that are cut are none', () => {
  const tile = formatEntries(['', 'one', 'é']);
  expect(parseEntries(tile)?.map((entry) => Buffer.from(entry).toString())).toEqual(['', 'one', 'é']);
  for (const cut of [1, 3, 4, tile.length - 1]) expect(parseEntries(tile.subarray(0, cut))).toBeUndefined();
  expect(() => formatEntries(['a'.repeat(65_536)])).toThrow('out of range');
});
