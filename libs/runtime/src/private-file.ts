import { chmodSync, closeSync, openSync, statSync } from 'node:fs';

const ownerOnly = 0o600;
/** The side files of a SQLite database. New ones get the mode of the database. */
const sideFiles = ['', '-wal', '-shm', '-journal'] as const;

/**
 * Sets a data file and its SQLite side files to mode 0600, under any umask and any mode of the folder. Creates the
 * file, empty, when it is missing. Call it before the file is opened.
 *
 * An existing file is never opened here: closing a second descriptor of a database would release the locks of this
 * process.
 *
 * @throws Error naming the file when its mode cannot be changed.
 */
export function keepPrivate(file: string): void {
  try {
    closeSync(openSync(file, 'wx', ownerOnly));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  for (const suffix of sideFiles) tighten(file + suffix);
}

function tighten(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  // Windows has no such modes.
  if (stats === undefined || process.platform === 'win32' || (stats.mode & 0o777) === ownerOnly) return;
  try {
    chmodSync(file, ownerOnly);
  } catch (error) {
    throw new Error(
      `${file} has the mode ${(stats.mode & 0o777).toString(8)}, and it cannot be changed to 600: ` +
        'make the user of this process the owner of the file',
      { cause: error },
    );
  }
}
