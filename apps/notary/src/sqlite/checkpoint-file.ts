import { openDatabaseFile } from '@countersign/runtime';

/** The newest signed checkpoint of an epoch. */
export interface KeptCheckpoint {
  readonly tenant: string;
  readonly epoch: number;
  /** The signed note. */
  readonly note: string;
}

/** What was signed, kept apart from the trees: these can be built again, and a log that contradicts it is noticed. */
export interface CheckpointFile {
  /** The newest checkpoint of each epoch of a tenant, the latest epoch first. */
  readonly ofTenant: (tenant: string) => readonly KeptCheckpoint[];
  readonly tenants: () => readonly string[];
  readonly save: (checkpoint: KeptCheckpoint) => void;
  readonly close: () => void;
}

const tables = `
  CREATE TABLE IF NOT EXISTS checkpoints (
    tenant TEXT NOT NULL, epoch INTEGER NOT NULL, note TEXT NOT NULL, PRIMARY KEY (tenant, epoch)
  ) STRICT, WITHOUT ROWID;
`;

/** Opens or creates the file. @throws DatabaseFileError when it is damaged. */
export function openCheckpointFile(path: string): CheckpointFile {
  const cost = 'The log is no longer compared with what was signed until now.';
  const database = openDatabaseFile(path, { cost, timeoutMs: 2000 }, (opened) => {
    opened.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; ${tables}`);
  });
  const ofTenant = database.prepare('SELECT tenant, epoch, note FROM checkpoints WHERE tenant = ? ORDER BY epoch DESC');
  const tenants = database.prepare('SELECT DISTINCT tenant FROM checkpoints');
  const save = database.prepare('INSERT OR REPLACE INTO checkpoints VALUES (?, ?, ?)');
  return {
    ofTenant: (tenant) => ofTenant.all(tenant) as unknown as readonly KeptCheckpoint[],
    tenants: () => tenants.all().map(({ tenant }) => String(tenant)),
    save: ({ tenant, epoch, note }) => {
      save.run(tenant, epoch, note);
    },
    close: () => {
      database.close();
    },
  };
}
