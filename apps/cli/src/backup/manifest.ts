import { createHash } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { usageError } from '../cli-error.js';

/** The name of the file that a backup has when it is complete. */
export const manifestFile = 'manifest.json';

/** What a backup says about itself. */
export interface BackupManifest {
  readonly version: 1;
  readonly createdAt: string;
  /** The end of the log in it, and the hash of the chain there, as hex. */
  readonly log: { readonly position: number; readonly chain: string };
  readonly tenants: Readonly<Record<string, { readonly events: number; readonly checkpoint: string | null }>>;
  /** By name; the keys are kept apart, so only their digest is here. */
  readonly files: Readonly<Record<string, FileDigest>>;
  /** Null: the keys were not copied. */
  readonly keys: FileDigest | null;
}

interface FileDigest {
  readonly bytes: number;
  readonly sha256: string;
}

/** The digest of a file, which is read in pieces. */
export function digestOf(file: string): FileDigest {
  const hash = createHash('sha256');
  const descriptor = openSync(file, 'r');
  const piece = Buffer.allocUnsafe(1 << 20);
  try {
    for (let bytes = 0; ;) {
      const read = readSync(descriptor, piece, 0, piece.length, null);
      if (read === 0) return { bytes, sha256: hash.digest('hex') };
      bytes += read;
      hash.update(piece.subarray(0, read));
    }
  } finally {
    closeSync(descriptor);
  }
}

/** Makes sure that a file, or the names in a folder, survive a power cut. */
export function syncToDisk(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Writes the manifest into a backup. */
export function writeManifest(folder: string, manifest: BackupManifest): void {
  writeFileSync(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 });
  syncToDisk(join(folder, manifestFile));
}

/** Reads the manifest of a backup; undefined: it has none. @throws CliError when it cannot be read. */
export function readManifest(folder: string): BackupManifest | undefined {
  const file = join(folder, manifestFile);
  if (!existsSync(file)) return undefined;
  try {
    const read = JSON.parse(readFileSync(file, 'utf8')) as Partial<BackupManifest> | null;
    if (read?.version === 1 && read.log !== undefined && read.files !== undefined) return read as BackupManifest;
  } catch {
    // Told below.
  }
  throw usageError(`${file} is not the manifest of a backup that this version can read.`);
}

/** Returns the files that are not what the manifest says, in words. */
export function changedFiles(folder: string, { files }: BackupManifest): readonly string[] {
  return Object.entries(files).flatMap(([name, { bytes, sha256 }]) => {
    const file = join(folder, name);
    if (!existsSync(file)) return [`${name} is missing`];
    const found = digestOf(file);
    return found.bytes === bytes && found.sha256 === sha256 ? [] : [`${name} is not what was backed up`];
  });
}

/** The newest complete backup in a folder of backups; undefined: there is none. */
export function newestBackup(folder: string): string | undefined {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names
    .filter(
      (name) =>
        /^\d{8}T\d{9}Z$/.test(name) &&
        statSync(join(folder, name, manifestFile), { throwIfNoEntry: false }) !== undefined,
    )
    .toSorted()
    .map((name) => join(folder, name))
    .at(-1);
}
