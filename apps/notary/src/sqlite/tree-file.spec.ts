import { openTreeFile } from './tree-file.js';

it('keeps the places of leaves, also those of a log with more events than 32 bits can count', () => {
  const file = openTreeFile(':memory:');
  const places = [
    { after: 0, position: 1 },
    { after: 2 ** 32 - 1, position: 2 ** 32 },
    { after: 5 * 2 ** 32 + 7, position: Number.MAX_SAFE_INTEGER },
  ];
  file.save(Number.MAX_SAFE_INTEGER, [
    { tenant: 'acme', size: 3, tiles: [{ level: 0, index: 0, hashes: new Uint8Array(96), places }] },
  ]);
  expect(file.places('acme', 0)).toEqual(places);
  file.close();
});
