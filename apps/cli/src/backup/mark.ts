import { randomUUID } from 'node:crypto';
import { chownSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { digestOf, manifestFile, syncToDisk } from './manifest.js';
import type { BackupManifest } from './manifest.js';

/**
 * Leaves the mark in the data folder by which its process records the backup. Returns false where the folder cannot be written:
 * the backup is as good without.
 */
export function leaveMark(folder: string, backup: string, manifest: BackupManifest): boolean {
  const backupId = randomUUID();
  const mark = {
    backupId,
    to: manifest.log.position,
    tenants: manifest.tenants,
    keys: manifest.keys !== null,
    manifest: `sha256:${digestOf(join(backup, manifestFile)).sha256}`,
    madeAt: manifest.createdAt,
  };
  const file = join(folder, `backup-${backupId}.json`);
  const draft = `${file}.new`;
  try {
    writeFileSync(draft, JSON.stringify(mark), { mode: 0o600 });
    giveToOwner(draft, folder);
    syncToDisk(draft);
    renameSync(draft, file);
    syncToDisk(folder);
    return true;
  } catch {
    rmSync(draft, { force: true });
    return false;
  }
}

/** The command may run as root, and the process that reads the mark as another user. @throws where that is not permitted */
function giveToOwner(file: string, folder: string): void {
  const { uid, gid } = statSync(folder);
  if (statSync(file).uid !== uid) chownSync(file, uid, gid);
}
