import { readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { expect, it } from '@jest/globals';
import { floors } from '../../architecture/floors.mjs';

const text = readFileSync(join(import.meta.dirname, '..', '..', 'ARCHITECTURE.md'), 'utf8');
/** The folders that ARCHITECTURE.md puts on each floor. */
const rows = [...text.matchAll(/^\| (\d) \| ([^|]*) \|/gm)].map(([, floor, folders = '']) => ({
  floor: Number(floor),
  names: [...folders.matchAll(/`([a-z0-9/-]+)`/g)].map(([, name = '']) => name),
}));

it.each(floors)('ARCHITECTURE.md has $unit on floor $floor', ({ unit, floor }) => {
  const isNamed = (name: string): boolean => name === unit || (unit.startsWith('apps/') && name === basename(unit));
  expect(rows.filter(({ names }) => names.some(isNamed)).map((row) => row.floor)).toEqual([floor]);
});

it('ARCHITECTURE.md names no folder that has no floor', () => {
  const units: readonly string[] = floors.map(({ unit }) => unit);
  const named = rows.flatMap(({ names }) => names).filter((name) => /^(libs|apps|integrations)\//.test(name));
  expect(named.filter((name) => !units.includes(name))).toEqual([]);
});
