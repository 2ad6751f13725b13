import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { CliError, usageError } from '../cli-error.js';
import { openReadOnly } from './read-only.js';

/** The end of a log as its file names it. */
export interface Head {
  readonly position: number;
  /** The last position that was acknowledged to a client; 0: none is known. */
  readonly acknowledged: number;
  readonly chain: Uint8Array;
  /** The first and the last position that have a row. */
  readonly first: number;
  readonly last: number;
}

/** The events of the folder, also of a file whose end is missing: what is left of it is read. @throws CliError */
export function openLog(folder: string, acknowledged: number): { readonly log: DatabaseSync; readonly head: Head } {
  const file = join(folder, 'events.db');
  const log = openReadOnly(file);
  try {
    return { log, head: readHead(log, folder, acknowledged) };
  } catch (error) {
    log.close();
    if (!isMalformed(error)) throw unreadable(folder, error);
  }
  const rest = openReadOnly(file, { isCut: true });
  try {
    return { log: rest, head: readHead(rest, folder, acknowledged) };
  } catch (error) {
    rest.close();
    throw unreadable(folder, error);
  }
}

function unreadable(folder: string, error: unknown): Error {
  if (error instanceof CliError) return error;
  return usageError(`The log in ${folder} cannot be read: ${messageOf(error)}.`, 'Name a data folder or an export.');
}

function isMalformed(error: unknown): boolean {
  return messageOf(error).includes('malformed');
}

function readHead(log: DatabaseSync, folder: string, acknowledged: number): Head {
  const row = log.prepare('SELECT position, chain FROM head WHERE id = 1').get() ?? {};
  const { position, chain } = row as Partial<Head>;
  if (typeof position !== 'number' || !(chain instanceof Uint8Array)) {
    throw usageError(`The log in ${folder} has no head, so its end is not known.`, 'Name a data folder or an export.');
  }
  // A page with the first or the last event that is damaged is found when the events are read.
  const [first, last] = [boundOf(log, 'min', 1), boundOf(log, 'max', position)];
  return { position, chain, acknowledged, first: first ?? 1, last: last ?? 0 };
}

/** The first or the last position that has a row; null: there is none; `damaged` where it cannot be read. */
function boundOf(log: DatabaseSync, bound: 'min' | 'max', damaged: number): number | null {
  const row = damageFree(() => log.prepare(`SELECT ${bound}(position) AS position FROM events`).get());
  if (typeof row === 'string') return damaged;
  const position = row?.['position'];
  return typeof position === 'number' ? position : null;
}

/** The value, or why the database is too damaged for it. */
export function damageFree<T>(read: () => T): T | string {
  try {
    return read();
  } catch (error) {
    return `the database is damaged: ${messageOf(error)}`;
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
