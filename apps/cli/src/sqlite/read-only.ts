import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';

/**
 * Opens a database of a data folder to read it, also while a server writes it, and changes no file. Without a write-ahead log
 * no server has it open. SQLite is then told that it does not change, because otherwise it would make files of its own.
 * @param options.isCut the end of the file is missing, and what is left of it is wanted.
 */
export function openReadOnly(file: string, { isCut = false } = {}): DatabaseSync {
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'ro');
  if (!existsSync(`${file}-wal`)) url.searchParams.set('immutable', '1');
  const database = new DatabaseSync(url, { readOnly: true, defensive: !isCut });
  // With it SQLite reads a file that has fewer pages than its header says.
  if (isCut) database.exec('PRAGMA writable_schema = ON');
  return database;
}

/** The last position that was acknowledged in a data folder, from `events.acknowledged`; 0: none is known. */
export function acknowledgedIn(folder: string): number {
  const file = join(folder, 'events.acknowledged');
  const text = existsSync(file) ? readFileSync(file, 'latin1') : '';
  const [, first, second] = /^(\d{16}) (\d{16})\n$/.exec(text) ?? [];
  // Written twice, so that a torn write is known.
  return first === undefined || first !== second ? 0 : Number(first);
}
