import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { Manifest } from '../../bundle/layout.js';
import { filesIn, hashFile } from '../../bundle/manifest.js';
import { openLines } from '../file-lines.js';
import type { FileLine } from '../file-lines.js';
import type { Damage } from '../log-source.js';
import { whyNotIn } from './read-manifest.js';

/** A file of a bundle that is read once, line by line. */
export interface BundleLines {
  readonly next: () => FileLine | undefined;
  /** Reads what remains, and returns what is wrong with the file. */
  readonly end: () => readonly Damage[];
}

/** Compares the files of a bundle with its manifest. */
export interface BundleFiles {
  /** Undefined where the manifest does not name the file, or it must not be read. It is reported at the end. */
  readonly open: (path: string) => BundleLines | undefined;
  /** Returns whether the file is exactly these bytes. */
  readonly isExactly: (path: string, bytes: Uint8Array) => boolean;
  /** The findings about files that no check has read. Such a file must be one that the layout of a bundle knows. */
  readonly rest: (isKnown: (path: string) => boolean) => readonly Damage[];
}

/** @param index of the finding for a file that is not the one of the manifest; later for a file of events. */
export function openBundleFiles(
  folder: string,
  { files }: Manifest,
  firstIndexOf: (path: string) => number,
): BundleFiles {
  const taken = new Set<string>();
  const about = (path: string, detail: string): Damage => ({ check: 'files', index: firstIndexOf(path), detail });
  const allowed = (path: string) => {
    const file = Object.hasOwn(files, path) ? files[path] : undefined;
    return file === undefined || whyNotIn(folder, path, file) !== undefined ? undefined : file;
  };
  const other = (path: string): Damage => about(path, `${path} is not the file of the manifest`);
  return {
    open: (path) => {
      const file = allowed(path);
      if (file === undefined) return undefined;
      taken.add(path);
      const hashing = createHash('sha256');
      const lines = openLines(join(folder, path), (bytes) => hashing.update(bytes));
      return {
        next: lines.next,
        end: () => {
          while (lines.next() !== undefined);
          lines.close();
          return hashing.digest('hex') === file.sha256 ? [] : [other(path)];
        },
      };
    },
    isExactly: (path, bytes) => {
      const file = allowed(path);
      if (file === undefined) return false;
      const digest = createHash('sha256').update(bytes).digest('hex');
      return digest === file.sha256 && hashFile(join(folder, path)).sha256 === digest && taken.add(path).size > 0;
    },
    rest: (isKnown) => [
      ...Object.entries(files).flatMap(([path, file]) => {
        const why = whyNotIn(folder, path, file);
        if (why !== undefined) return [about(path, why)];
        if (taken.has(path)) return [];
        // Attack: a table of a month that no event has.
        if (!isKnown(path)) return [about(path, `${path} is made of no event`)];
        return hashFile(join(folder, path)).sha256 === file.sha256 ? [] : [other(path)];
      }),
      ...filesIn(folder)
        .filter((path) => path !== 'manifest.json' && !ownFiles.test(path) && !Object.hasOwn(files, path))
        .map((path) => about(path, `the manifest does not name ${path}`)),
    ],
  };
}

/** Files that systems put into folders by themselves. */
const ownFiles = /(?:^|\/)(?:\.DS_Store|Thumbs\.db)$/;
