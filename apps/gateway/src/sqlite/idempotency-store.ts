import type { IdempotencyStore, KnownRequest } from '../idempotency.js';
import { openDatabase } from './open-database.js';

// A version before 0.1.0 kept responses.
const tables = `
  DROP TABLE IF EXISTS answers;
  CREATE TABLE IF NOT EXISTS requests (
    scope TEXT PRIMARY KEY, owner TEXT NOT NULL, bodyHash TEXT NOT NULL, status INTEGER NOT NULL, position INTEGER NOT NULL,
    storedAtMs INTEGER NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS requestsByAge ON requests (storedAtMs);
  CREATE INDEX IF NOT EXISTS requestsByOwner ON requests (owner, storedAtMs);
`;

/** Known requests in a file. They survive a restart, and record the position of the log. */
export interface IdempotencyFile extends IdempotencyStore {
  /** Returns the highest log position of a known request; 0: none. */
  readonly furthest: () => number;
  /** Deletes the requests beyond a position of the log. */
  readonly forgetBeyond: (position: number) => void;
}

/** How many requests are kept. One needs about 500 bytes of the file. */
export interface IdempotencyLimits {
  readonly perOwner: number;
  readonly inAll: number;
}

/** About 4 MiB per principal and 64 MiB in all. */
const defaultLimits: IdempotencyLimits = { perOwner: 8_192, inAll: 131_072 };

const incremental = 2;

/** How many pages one purge gives back. More would make other requests wait. */
const pagesMax = 2_048;

/**
 * Known requests in a SQLite file. Deleted ones are overwritten, and their pages are given back. Beyond a limit the
 * oldest request goes: of the same owner, or of the owner with the most. Attack: a principal fills the disk, or makes
 * the requests of others unknown. A power cut may lose the latest requests, whose commands the event store recognises.
 */
export function createIdempotencyStore(path: string, limits = defaultLimits): IdempotencyFile {
  const database = openDatabase(
    path,
    `PRAGMA secure_delete = ON; ${tables}`,
    'An Idempotency-Key of the last 24 hours is not refused with another body.',
  );
  // It needs a vacuum in a file that has pages already.
  if (database.prepare('PRAGMA auto_vacuum').get()?.['auto_vacuum'] !== incremental) {
    database.exec(`PRAGMA auto_vacuum = ${String(incremental)}; VACUUM`);
  }
  const find = database.prepare('SELECT * FROM requests WHERE scope = ?');
  const save = database.prepare('INSERT OR REPLACE INTO requests VALUES (?, ?, ?, ?, ?, ?)');
  const purge = database.prepare('DELETE FROM requests WHERE storedAtMs < ? RETURNING owner');
  const evict = database.prepare(
    'DELETE FROM requests WHERE scope = (SELECT scope FROM requests WHERE owner = ? ORDER BY storedAtMs LIMIT 1)',
  );
  const furthest = database.prepare('SELECT max(position) AS furthest FROM requests');
  const forget = database.prepare('DELETE FROM requests WHERE position > ? RETURNING owner');
  const sizes = createSizes(
    database.prepare('SELECT owner, count(*) AS count FROM requests GROUP BY owner').all() as unknown as Size[],
  );
  const shrink = (owner: string): void => {
    evict.run(owner);
    sizes.remove(owner);
  };
  return {
    furthest: () => Number(furthest.get()?.['furthest'] ?? 0),
    forgetBeyond: (position) => {
      for (const { owner } of forget.all(position)) sizes.remove(String(owner));
    },
    find: (scope) => find.get(scope) as KnownRequest | undefined,
    save: ({ scope, owner, bodyHash, status, position, storedAtMs }) => {
      const isNew = find.get(scope) === undefined;
      if (isNew && sizes.of(owner) >= limits.perOwner) shrink(owner);
      else if (isNew && sizes.inAll() >= limits.inAll) shrink(sizes.largest());
      save.run(scope, owner, bodyHash, status, position, storedAtMs);
      if (isNew) sizes.add(owner);
    },
    purge: (beforeMs) => {
      for (const { owner } of purge.all(beforeMs)) sizes.remove(String(owner));
      database.exec(`PRAGMA incremental_vacuum(${String(pagesMax)})`);
    },
    clear: () => {
      database.exec('DELETE FROM requests; PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)');
      sizes.clear();
    },
    close: () => {
      database.close();
    },
  };
}

interface Size {
  readonly owner: string;
  readonly count: number;
}

/** How many requests each owner has. */
function createSizes(stored: readonly Size[]) {
  const counts = new Map(stored.map(({ owner, count }) => [owner, count]));
  let sum = stored.reduce((total, { count }) => total + count, 0);
  const change = (owner: string, by: 1 | -1): void => {
    const count = (counts.get(owner) ?? 0) + by;
    sum += by;
    if (count > 0) counts.set(owner, count);
    else counts.delete(owner);
  };
  return {
    of: (owner: string): number => counts.get(owner) ?? 0,
    inAll: (): number => sum,
    /** The owner with the most. */
    largest: (): string => [...counts].reduce((most, one) => (one[1] > most[1] ? one : most), ['', 0])[0],
    add: (owner: string): void => change(owner, 1),
    remove: (owner: string): void => change(owner, -1),
    clear: (): void => {
      counts.clear();
      sum = 0;
    },
  };
}
