import { createHash } from 'node:crypto';
import { closeSync, existsSync, openSync, readFileSync, readSync, readdirSync } from 'node:fs';
import { join, posix } from 'node:path';
import { bundleFiles } from './layout.js';
import type { Manifest, ManifestFile } from './layout.js';

/** Where the bytes of one file after the other are read: a bundle has many small ones. */
const chunk = Buffer.allocUnsafeSlow(256 * 1024);

/** Returns the length and the SHA-256 of a file, a piece at a time. */
export function hashFile(file: string): ManifestFile {
  const fd = openSync(file, 'r');
  const hashing = createHash('sha256');
  let bytes = 0;
  try {
    for (;;) {
      const count = readSync(fd, chunk, 0, chunk.length, null);
      if (count === 0) return { bytes, sha256: hashing.digest('hex') };
      hashing.update(chunk.subarray(0, count));
      bytes += count;
    }
  } finally {
    closeSync(fd);
  }
}

/** The manifest of a bundle that is complete; undefined: there is none in the folder. */
export function finishedManifest(folder: string): Manifest | undefined {
  const file = join(folder, bundleFiles.manifest);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Manifest) : undefined;
}

/** The paths of all files in a folder and the folders in it, sorted. A link is named like a file. */
export function filesIn(folder: string, below = ''): string[] {
  const found = readdirSync(join(folder, below), { withFileTypes: true }).flatMap((entry) => {
    const path = posix.join(below, entry.name);
    return entry.isDirectory() ? filesIn(folder, path) : [path];
  });
  return below === '' ? found.sort() : found;
}
