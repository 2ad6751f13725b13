import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { onCleanup, temporaryFolder } from './cleanup.js';

/** Whether this machine lets us mount a small disk in memory: Linux, as root. */
export function canMountSmallDisks(): boolean {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return false;
  try {
    // In a namespace of its own, which ends with the command.
    execFileSync('unshare', ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', '/mnt'], {
      stdio: 'ignore',
    });
    return true;
  } catch {
    return false;
  }
}

/** A folder on a disk of its own, so many megabytes large; it is gone after the test. */
export function mountSmallDisk(megabytes: number): string {
  const folder = join(temporaryFolder(), 'disk');
  mkdirSync(folder);
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder]);
  onCleanup(() => {
    execFileSync('umount', [folder]);
  });
  return folder;
}
