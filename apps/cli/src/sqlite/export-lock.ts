import { mkdirSync, readFileSync, readdirSync, rmSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { localError } from '../cli-error.js';
import { ownFile, readProgress } from '../bundle/progress-file.js';

/** The exclusive right to write into the folder of a bundle. */
export interface ExportLock {
  /** Gives it back, and removes a folder in which nothing was begun. */
  readonly release: () => void;
}

/** SQLITE_BUSY. */
const busy = 5;

/**
 * Locks the folder of a bundle for this process. It is a lock of the operating system (an exclusive transaction of SQLite that stays
 * open), so it ends with the process, also by a kill.
 * @throws CliError naming the process that has it
 */
export function lockExport(folder: string): ExportLock {
  mkdirSync(folder, { recursive: true });
  const [file, pidFile] = [join(folder, `${ownFile}.lock`), join(folder, `${ownFile}.pid`)];
  const holder = new DatabaseSync(file);
  try {
    holder.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    holder.close();
    if ((error as { readonly errcode?: unknown }).errcode !== busy) throw error;
    throw localError(
      'notReady',
      'in-use',
      `Another export writes to ${folder}: process ${readPid(pidFile)}.`,
      'Wait until it ends and repeat the command, or name another folder.',
    );
  }
  writeFileSync(pidFile, `${String(process.pid)}\n`);
  return {
    release: () => {
      rmSync(pidFile, { force: true });
      holder.close();
      // An export that goes on later finds the file again.
      if (readProgress(folder) !== undefined) return;
      rmSync(file, { force: true });
      if (readdirSync(folder).length === 0) rmdirSync(folder);
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
