import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..', '..');

/** Only the cluster runs these: nothing of them is ever passed in one process. */
const ofTheClusterAlone = ['ledger', 'relay', 'cluster'];

/** The named crash points in what standalone runs, so that a new one is killed at without anybody thinking of it. */
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
