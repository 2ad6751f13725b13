import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { bundleFiles } from './layout.js';
import type { Manifest } from './layout.js';
import { filesIn, hashFile } from './manifest.js';
import { unfinished } from './month-tables.js';
import type { MadeFiles } from './month-tables.js';
import { removeProgress, replaceFile } from './progress-file.js';

/** A bundle that has everything but its tables and its manifest. */
export interface AlmostDone {
  readonly folder: string;
  readonly facts: Omit<Manifest, 'files'>;
  /** The files in `views/`. */
  readonly made: Promise<MadeFiles>;
  readonly interrupted: AbortSignal;
  readonly onFile: (done: number, total: number) => void;
}

/** Gives the tables their names, and the bundle its manifest. Returns undefined when the person interrupts it. */
export async function finishBundle({ folder, facts, made, ...ports }: AlmostDone): Promise<Manifest | undefined> {
  // Meanwhile the thread makes the last rows.
  const others = hashOthers(folder, ports.onFile);
  const views = await unlessInterrupted(made, ports.interrupted);
  if (views === undefined) return undefined;
  for (const path of Object.keys(views)) {
    if (!path.endsWith('.ndjson')) renameSync(join(folder, unfinished(path)), join(folder, path));
  }
  const files = Object.entries({ ...others, ...views }).sort(([one], [other]) => (one < other ? -1 : 1));
  const manifest = { ...facts, files: Object.fromEntries(files) };
  replaceFile(join(folder, bundleFiles.manifest), `${JSON.stringify(manifest, null, 1)}\n`);
  removeProgress(folder);
  return manifest;
}

/** Hashes all files but those in `views/`. */
function hashOthers(folder: string, onFile: AlmostDone['onFile']): MadeFiles {
  const paths = filesIn(folder).filter((path) => !/^(?:\.|views\/)/.test(path) && path !== bundleFiles.manifest);
  return Object.fromEntries(
    paths.map((path, at) => {
      onFile(at + 1, paths.length);
      return [path, hashFile(join(folder, path))];
    }),
  );
}

async function unlessInterrupted<T>(work: Promise<T>, interrupted: AbortSignal): Promise<T | undefined> {
  const stopped = new Promise<undefined>((resolve) => {
    interrupted.addEventListener('abort', () => {
      resolve(undefined);
    });
  });
  const result = await Promise.race([work, stopped]);
  // A signal is handled between turns of the event loop.
  await setImmediate();
  return interrupted.aborted ? undefined : result;
}
