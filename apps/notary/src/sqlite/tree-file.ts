import type { DatabaseSync } from 'node:sqlite';
import { openDatabaseFile } from '@countersign/runtime';

/** The place of a leaf's event in the log of all tenants. */
export interface LeafPlace {
  /** The position of the event before it, from which it can be read; 0: it is the first. */
  readonly after: number;
  readonly position: number;
}

/** A tile of a tenant's tree: the hashes one after the other, as many as there are. */
export interface Tile {
  readonly level: number;
  readonly index: number;
  readonly hashes: Uint8Array;
  /** Of a tile of leaves: the places of their events in the log. None at other levels. */
  readonly places: readonly LeafPlace[];
}

/** What changed in a tenant's tree. */
export interface TreeChange {
  readonly tenant: string;
  readonly size: number;
  readonly tiles: readonly Tile[];
}

/** The trees of all tenants, and how far the log is in them. It holds nothing that the log does not tell. */
export interface TreeFile {
  /** The position of the last event of the log that is in the trees; 0: none. */
  readonly position: () => number;
  readonly sizes: () => ReadonlyMap<string, number>;
  /** The hashes of a tile; none, when there is no such tile. */
  readonly tile: (tenant: string, level: number, index: number) => Uint8Array;
  /** The places of the events of a tile of leaves. */
  readonly places: (tenant: string, index: number) => readonly LeafPlace[];
  /** Stores position and hashes in one transaction. */
  readonly save: (position: number, changes: readonly TreeChange[]) => void;
  /** Forgets everything, so that the trees are built again. */
  readonly clear: () => void;
  readonly close: () => void;
}

/** The format of the tables. Trees of another one are built again. */
const format = 1;

const tables = `
  CREATE TABLE IF NOT EXISTS progress (id INTEGER PRIMARY KEY CHECK (id = 0), position INTEGER NOT NULL) STRICT;
  CREATE TABLE IF NOT EXISTS trees (tenant TEXT PRIMARY KEY, size INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS tiles (
    tenant TEXT NOT NULL, level INTEGER NOT NULL, number INTEGER NOT NULL, hashes BLOB NOT NULL, places BLOB,
    PRIMARY KEY (tenant, level, number)
  ) STRICT;
`;
const nothing = new Uint8Array(0);

/**
 * Opens or creates the file. Its writes do not wait for the disk: after a power cut the last ones may be missing, and are
 * made again from the log.
 * @throws DatabaseFileError when the file is damaged.
 */
export function openTreeFile(path: string): TreeFile {
  const cost = 'The trees are built again from the log.';
  const database = openDatabaseFile(path, { cost, timeoutMs: 2000 }, (opened) => {
    const { user_version: found } = opened.prepare('PRAGMA user_version').get() ?? {};
    const older = 'DROP TABLE IF EXISTS tiles; DROP TABLE IF EXISTS trees; DROP TABLE IF EXISTS progress;';
    opened.exec(
      `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${found === format ? '' : older} ${tables}
       PRAGMA user_version = ${String(format)}`,
    );
  });
  const position = database.prepare('SELECT position FROM progress');
  const sizes = database.prepare('SELECT tenant, size FROM trees');
  const tile = database.prepare('SELECT hashes FROM tiles WHERE tenant = ? AND level = ? AND number = ?');
  const places = database.prepare('SELECT places FROM tiles WHERE tenant = ? AND level = 0 AND number = ?');
  const setPosition = database.prepare('INSERT OR REPLACE INTO progress VALUES (0, ?)');
  const setSize = database.prepare('INSERT OR REPLACE INTO trees VALUES (?, ?)');
  const setTile = database.prepare('INSERT OR REPLACE INTO tiles VALUES (?, ?, ?, ?, ?)');
  return {
    position: () => Number(position.get()?.['position'] ?? 0),
    sizes: () => new Map(sizes.all().map(({ tenant, size }) => [String(tenant), Number(size)])),
    tile: (...key) => {
      const hashes = tile.get(...key)?.['hashes'];
      return hashes instanceof Uint8Array ? hashes : nothing;
    },
    places: (...key) => {
      const stored = places.get(...key)?.['places'];
      return stored instanceof Uint8Array ? readPlaces(stored) : [];
    },
    save: (to, changes) => {
      inTransaction(database, () => {
        for (const { tenant, size, tiles } of changes) {
          setSize.run(tenant, size);
          for (const { level, index, hashes, places: ofLeaves } of tiles) {
            setTile.run(tenant, level, index, hashes, level === 0 ? writePlaces(ofLeaves) : null);
          }
        }
        setPosition.run(to);
      });
    },
    clear: () => {
      inTransaction(database, () => {
        database.exec('DELETE FROM tiles; DELETE FROM trees; DELETE FROM progress');
      });
    },
    close: () => {
      database.close();
    },
  };
}

const placeBytes = 16;

/** Two numbers of 8 bytes for each, big-endian. */
function writePlaces(places: readonly LeafPlace[]): Uint8Array {
  const bytes = Buffer.alloc(places.length * placeBytes);
  places.forEach(({ after, position }, at) => {
    writeNumber(bytes, after, at * placeBytes);
    writeNumber(bytes, position, at * placeBytes + placeBytes / 2);
  });
  return bytes;
}

/** A position in its two halves: each tile is written many times, and a `BigInt` is an object. */
function writeNumber(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  bytes.writeUInt32BE(value % 2 ** 32, at + 4);
}

function readPlaces(stored: Uint8Array): readonly LeafPlace[] {
  const bytes = Buffer.from(stored.buffer, stored.byteOffset, stored.byteLength);
  const numberAt = (at: number): number => Number(bytes.readBigUInt64BE(at));
  return Array.from({ length: Math.floor(bytes.length / placeBytes) }, (_, at) => ({
    after: numberAt(at * placeBytes),
    position: numberAt(at * placeBytes + placeBytes / 2),
  }));
}

function inTransaction(database: DatabaseSync, work: () => void): void {
  database.exec('BEGIN IMMEDIATE');
  try {
    work();
    database.exec('COMMIT');
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}
