import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { keepPrivate } from '@countersign/runtime';
import { EventStoreUnavailableError } from '../event-store.js';
import { openFile } from './database.js';
import { isSqliteError, sqliteCodes } from './sqlite-errors.js';

/** The exclusive lock of one data folder. */
export interface FolderLock {
  readonly release: () => void;
}

/**
 * Locks a folder for this process. The lock is an operating-system lock on `events.lock` (an exclusive SQLite
 * transaction that stays open), so it ends with the process in every case; `events.pid` only names the holder.
 * @throws EventStoreUnavailableError naming the folder and the holder.
 */
export function lockFolder(folder: string, what = 'the event store'): FolderLock {
  // Agents' requests are private.
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const pidFile = join(folder, 'events.pid');
  const holder = openFile(join(folder, 'events.lock'));
  try {
    holder.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    holder.close();
    if (!isSqliteError(error, sqliteCodes.busy)) throw error;
    throw new EventStoreUnavailableError(
      `${what} in ${folder} is in use by process ${readPid(pidFile)}: stop it, or choose another folder`,
      { cause: error },
    );
  }
  keepPrivate(pidFile);
  writeFileSync(pidFile, `${process.pid}\n`);
  return {
    release: () => {
      // The pid file is removed first: once the lock is free, the file belongs to the next holder.
      rmSync(pidFile, { force: true });
      holder.close();
    },
  };
}

function readPid(pidFile: string): string {
  try {
    return readFileSync(pidFile, 'utf8').trim();
  } catch {
    return '(unknown)';
  }
}
