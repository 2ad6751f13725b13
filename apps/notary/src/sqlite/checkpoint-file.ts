import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { openDatabaseFile } from '@countersign/runtime';
import { openTimestampRows, timestampTable } from './timestamp-rows.js';
import type { TimestampRows } from './timestamp-rows.js';

/** The newest signed checkpoint of an epoch. */
export interface KeptCheckpoint {
  readonly tenant: string;
  readonly epoch: number;
  /** The signed note. */
  readonly note: string;
}

/** A change of the log key within an epoch. */
export interface KeptKeyChange {
  readonly epoch: number;
  /** The size of the tree whose checkpoint both keys signed. */
  readonly size: number;
  /** The event with its proof in that checkpoint, as JSON: what a verifier needs. */
  readonly proof: string;
  /** The vkeys of the tenant before it, of all epochs: the old key may be gone later. */
  readonly vkeys: readonly string[];
}

/** What was signed, kept apart from the trees: these can be built again, and a log that contradicts it is noticed. */
export interface CheckpointFile extends TimestampRows {
  /** The newest checkpoint of each epoch of a tenant, the latest epoch first. */
  readonly ofTenant: (tenant: string) => readonly KeptCheckpoint[];
  readonly tenants: () => readonly string[];
  readonly save: (checkpoint: KeptCheckpoint) => void;
  /** The newest checkpoint of a tenant that has the quorum of its witnesses, with their cosignatures. */
  readonly cosigned: (tenant: string) => string | undefined;
  readonly saveCosigned: (tenant: string, note: string) => void;
  /** The changes of the tenant's log key, the first one first. */
  readonly keyChanges: (tenant: string) => readonly KeptKeyChange[];
  /** Keeps a change of the log key and its checkpoint, both or none, also over a power cut. */
  readonly saveKeyChange: (checkpoint: KeptCheckpoint, change: KeptKeyChange) => void;
  readonly close: () => void;
}

const tables = `
  CREATE TABLE IF NOT EXISTS checkpoints (
    tenant TEXT NOT NULL, epoch INTEGER NOT NULL, note TEXT NOT NULL, PRIMARY KEY (tenant, epoch)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS cosigned (tenant TEXT PRIMARY KEY, note TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS key_changes (
    tenant TEXT NOT NULL, epoch INTEGER NOT NULL, size INTEGER NOT NULL, proof TEXT NOT NULL, vkeys TEXT NOT NULL,
    PRIMARY KEY (tenant, epoch, size)
  ) STRICT, WITHOUT ROWID;
  ${timestampTable}
`;

/** Opens or creates the file. @throws DatabaseFileError when it is damaged. */
export function openCheckpointFile(path: string): CheckpointFile {
  const cost = 'The log is no longer compared with what was signed until now.';
  const database = openDatabaseFile(path, { cost, timeoutMs: 2000, schemaVersion: 1 }, (opened) => {
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${tables}`);
  });
  const ofTenant = database.prepare('SELECT tenant, epoch, note FROM checkpoints WHERE tenant = ? ORDER BY epoch DESC');
  const tenants = database.prepare('SELECT DISTINCT tenant FROM checkpoints');
  const save = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)');
  const cosigned = database.prepare('SELECT note FROM cosigned WHERE tenant = ?');
  const saveCosigned = database.prepare('INSERT OR REPLACE INTO cosigned VALUES (?, ?)');
  const keyChanges = database.prepare(
    'SELECT epoch, size, proof, vkeys FROM key_changes WHERE tenant = ? ORDER BY epoch, size',
  );
  const saveKeyChange = database.prepare('INSERT OR REPLACE INTO key_changes VALUES (?, ?, ?, ?, ?)');
  return {
    ...openTimestampRows(database),
    ofTenant: (tenant) => ofTenant.all(tenant) as unknown as readonly KeptCheckpoint[],
    tenants: () => tenants.all().map(({ tenant }) => String(tenant)),
    save: ({ tenant, epoch, note }) => {
      save.run(tenant, epoch, note);
    },
    cosigned: (tenant) => {
      const note = cosigned.get(tenant)?.['note'];
      return typeof note === 'string' ? note : undefined;
    },
    saveCosigned: (tenant, note) => {
      saveCosigned.run(tenant, note);
    },
    keyChanges: (tenant) =>
      keyChanges.all(tenant).map((row) => ({
        ...{ epoch: Number(row['epoch']), size: Number(row['size']), proof: String(row['proof']) },
        vkeys: String(row['vkeys']).split('\n'),
      })),
    saveKeyChange: ({ tenant, note }, { epoch, size, proof, vkeys }) => {
      database.exec('PRAGMA synchronous = FULL; BEGIN IMMEDIATE');
      try {
        saveKeyChange.run(tenant, epoch, size, proof, vkeys.join('\n'));
        save.run(tenant, epoch, note);
        database.exec('COMMIT');
      } catch (error) {
        if (database.isTransaction) database.exec('ROLLBACK');
        throw error;
      } finally {
        database.exec('PRAGMA synchronous = NORMAL');
      }
    },
    close: () => {
      database.close();
    },
  };
}

/** The newest checkpoint of a tenant in a data folder, a signed note. @throws DatabaseFileError when its file is damaged. */
export function readNewestCheckpoint(folder: string, tenant: string): string | undefined {
  const path = join(folder, 'checkpoints.db');
  if (!existsSync(path)) return undefined;
  const file = openCheckpointFile(path);
  try {
    return file.ofTenant(tenant)[0]?.note;
  } finally {
    file.close();
  }
}
