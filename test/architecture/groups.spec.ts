import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';

const folder = join(import.meta.dirname, '..', 'kafka');

/** The consumer groups that each spec uses, except those with a unique prefix. */
function groupsBySpec(): Map<string, string[]> {
  const owners = new Map<string, string[]>();
  for (const spec of globSync('*.spec.ts', { cwd: folder })) {
    const text = readFileSync(join(folder, spec), 'utf8');
    const names = new Set([...text.matchAll(/\bgroup(?:: | = )'([^']+)'/g)].map(([, name = '']) => name));
    for (const name of names) owners.set(name, [...(owners.get(name) ?? []), spec]);
  }
  return owners;
}

test('no two specs that share a broker use one consumer group', () => {
  // These start their own brokers.
  const own = new Set(['outages.spec.ts', 'relay-broker-hangs.spec.ts', 'worker-sdk-broker-away.spec.ts']);
  const shared = [...groupsBySpec()].map(([name, specs]) => [name, specs.filter((spec) => !own.has(spec))] as const);
  expect(shared.length).toBeGreaterThan(5);
  expect(shared.filter(([, specs]) => specs.length > 1)).toEqual([]);
});
