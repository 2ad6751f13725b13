import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onCleanup, temporaryFolder } from './cleanup.js';

/** Returns whether this machine allows mounting a small disk in memory: Linux, as root. */
export function canMountSmallDisks(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    // In its own namespace, which ends with the command.
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', '/mnt'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

/** A folder on a separate disk of this many megabytes; it is removed after the test. */
export function mountSmallDisk(megabytes: number): string {
  const folder = join(temporaryFolder(), 'disk');
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  onCleanup(() => {
    execFileSync('umount', [folder]);
  });
  return folder;
}
