import { copyFileSync, existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The folder of the simulated machines' files: in memory if the system has such a place. */
export function openDisk(): Disk {
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'countersign-sim-'));
  return {
    file: (name) => join(folder, `${name}.db`),
    keepAsKilled: (file, close) => {
      const kept = [file, `${file}-wal`].filter((one) => existsSync(one));
      for (const one of kept) copyFileSync(one, `${one}.killed`);
      close();
      for (const one of [file, `${file}-wal`, `${file}-shm`]) rmSync(one, { force: true });
      for (const one of kept) renameSync(`${one}.killed`, one);
    },
    remove: () => {
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The files of one world. */
export interface Disk {
  readonly file: (name: string) => string;
  /** Closes a database, and leaves its files as a kill would have left them: without what was only in memory. */
  readonly keepAsKilled: (file: string, close: () => void) => void;
  readonly remove: () => void;
}
