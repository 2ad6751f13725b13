import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');

/** Only the cluster has these crash points; standalone never reaches them. */
const ofTheClusterAlone = ['ledger', 'relay', 'cluster'];

/** The named crash points of standalone, collected automatically so that a new one is tested too. */
export function namedCrashPoints(): readonly string[] {
  const names = new Set<string>();
  for (const parent of ['libs', 'apps']) {
    for (const unit of readdirSync(join(root, parent)).filter((name) => !ofTheClusterAlone.includes(name))) {
      for (const file of builtFiles(join(root, parent, unit, 'dist'))) {
        for (const [, name] of readFileSync(file, 'utf8').matchAll(/\bcrashPoint\('([^']+)'\)/g)) {
          if (name !== undefined) names.add(name);
        }
      }
    }
  }
  return [...names].sort();
}

function builtFiles(folder: string): readonly string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.js') && !name.endsWith('.spec.js'))
      .map((name) => join(folder, name));
  } catch {
    return []; // A unit without anything built.
  }
}
