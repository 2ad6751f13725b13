import {
  chownSync,
  closeSync,
  copyFileSync,
  fsyncSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { pathToFileURL } from 'node:url';
import { EventStoreDamagedError } from '../event-store.js';
import { openDatabase, openFile } from './database.js';
import { sizeOf } from './log-end.js';
import { createLogFile } from './log-file.js';
import { isSameDigest } from './stored-event.js';

const pageSize = 1000;

/** The files that say what a log was: its events, what was signed of it, and the tree over it. */
const copied = /^(?:events\.db|events\.acknowledged|checkpoints\.db|log-tree\.db|process\.json)(?:-wal)?$/;

/** Copies the files of a log byte for byte, durably, into an empty folder. The caller has locked the data folder. */
export function copyLog(folder: string, into: string): void {
  for (const name of readdirSync(folder).filter((one) => copied.test(one))) {
    copyFileSync(join(folder, name), join(into, name));
    sync(join(into, name));
  }
  sync(into);
}

/**
 * Cuts the log of a data folder after a position, up to which all events are what was recorded. It writes them into a new file
 * that then takes the place of the old one, so a kill leaves the old log or the new one. The read model, which can be made again,
 * is deleted. The caller has locked the data folder.
 * @throws EventStoreDamagedError when the write-ahead log cannot be moved into the log; then nothing is cut.
 */
export function cutLog(folder: string, position: number): void {
  const [file, part] = [join(folder, 'events.db'), join(folder, 'events.cut.db')];
  // The old write-ahead log beside the new file would change its pages.
  moveWal(file);
  for (const end of ['', '-wal', '-shm']) rmSync(`${part}${end}`, { force: true });
  copyEvents(file, part, position);
  // Another user, such as root, may run this.
  const { uid, gid } = statSync(file);
  chownSync(part, uid, gid);
  sync(part);
  for (const end of ['', '-wal', '-shm']) rmSync(join(folder, `read-model.db${end}`), { force: true });
  renameSync(part, file);
  sync(folder);
}

function moveWal(file: string): void {
  const log = openFile(file);
  try {
    log.exec('PRAGMA wal_checkpoint(TRUNCATE)');
  } finally {
    log.close();
  }
  if (sizeOf(`${file}-wal`) === 0) return;
  throw new EventStoreDamagedError(`${file}-wal cannot be moved into ${file}: nothing is cut`);
}

type Row = readonly [position: number, stream: number, ...(string | number | Uint8Array)[]];

/**
 * Copies the events of a log up to a position into another file, from the last event that this has on, also while a server writes
 * to the log: events never change. The copy is no longer marked as in use.
 * @throws EventStoreDamagedError when the file has other events than the log, or the log lacks some.
 */
export function copyEvents(file: string, target: string, position: number): void {
  const from = openToRead(file);
  const { database: to } = openDatabase(target);
  try {
    const into = createLogFile(to);
    const page = from.prepare('SELECT * FROM events WHERE position > ? AND position <= ? ORDER BY position');
    page.setReturnArrays(true);
    const nameOf = from.prepare('SELECT name FROM streams WHERE id = ?');
    const streams = to.prepare('INSERT OR IGNORE INTO streams (id, name) VALUES (?, ?)');
    const events = to.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
    const done = into.lastPosition();
    if (done > position || !isSameChain(into.chainAt(done), chainIn(from, done)))
      throw new EventStoreDamagedError(`${target} has other events than ${file}`);
    for (let after = done; after < position; after += pageSize) {
      into.begin();
      const rows = page.iterate(after, Math.min(after + pageSize, position)) as Iterable<unknown> as Iterable<Row>;
      for (const row of rows) {
        streams.run(row[1], String(nameOf.get(row[1])?.['name']));
        events.run(...row);
      }
      into.commit();
      into.checkpoint('TRUNCATE');
    }
    const chain = into.chainAt(position);
    if (chain !== undefined) into.setHead({ position, chain });
    else if (position > 0) throw new EventStoreDamagedError(`${file} has no event at position ${String(position)}`);
  } finally {
    // The last connection moves the write-ahead log into the file.
    to.close();
    from.close();
  }
}

/** Without a write-ahead log nothing writes the file, and SQLite makes none: a backup may be on a read-only disk. */
function openToRead(file: string): DatabaseSync {
  const url = pathToFileURL(file);
  url.searchParams.set('mode', 'ro');
  if (sizeOf(`${file}-wal`) === 0) url.searchParams.set('immutable', '1');
  return new DatabaseSync(url, { readOnly: true });
}

function chainIn(log: DatabaseSync, position: number): Uint8Array | undefined {
  const chain = log.prepare('SELECT chain FROM events WHERE position = ?').get(position)?.['chain'];
  return chain instanceof Uint8Array ? chain : undefined;
}

function isSameChain(one: Uint8Array | undefined, other: Uint8Array | undefined): boolean {
  return one === undefined || other === undefined ? one === other : isSameDigest(one, other);
}

function sync(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
