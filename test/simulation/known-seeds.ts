import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Defence } from './defences.ts';

const file = join(import.meta.dirname, 'known-seeds.json');

/** The seed, if one is known, that noticed a missing defence the last time. Other code may need another one. */
export function knownSeeds(defence: Defence): readonly number[] {
  const known = JSON.parse(readFileSync(file, 'utf8')) as Readonly<Partial<Record<Defence, number>>>;
  const seed = known[defence];
  return seed === undefined ? [] : [seed];
}

/** Replaces the known seeds. */
export function rememberSeeds(seeds: ReadonlyMap<Defence, number>): void {
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(seeds), null, 2)}\n`);
}
