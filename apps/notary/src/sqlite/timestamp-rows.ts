import type { DatabaseSync } from 'node:sqlite';

/** The time stamp of a checkpoint. */
export interface KeptTimestamp {
  readonly epoch: number;
  readonly size: number;
  /** What is stamped: the text of the checkpoint that the log signed, without the signatures. */
  readonly text: string;
  /** The answer of the authority, in DER. */
  readonly reply: Uint8Array;
  /** The time that it says, in ISO 8601. */
  readonly time: string;
}

/** Which time stamps are wanted, of those of a tenant. */
export interface WantedTimestamps {
  readonly epoch?: number | undefined;
  readonly size?: number | undefined;
  /** Those after this one, in their order. */
  readonly after?: { readonly epoch: number; readonly size: number } | undefined;
  readonly order?: 'oldest' | 'newest' | undefined;
  readonly limit: number;
}

/** The time stamps of all tenants. */
export interface TimestampRows {
  /** In the order of epochs and sizes. */
  readonly timestamps: (tenant: string, wanted: WantedTimestamps) => readonly KeptTimestamp[];
  /** Keeps one, unless there is one of this checkpoint. */
  readonly saveTimestamp: (tenant: string, stamp: KeptTimestamp) => void;
}

export const timestampTable = `
  CREATE TABLE IF NOT EXISTS timestamps (
    tenant TEXT NOT NULL, epoch INTEGER NOT NULL, size INTEGER NOT NULL, text TEXT NOT NULL, reply BLOB NOT NULL,
    time TEXT NOT NULL, PRIMARY KEY (tenant, epoch, size)
  ) STRICT;
`;

/** The rows of a database that has the table. */
export function openTimestampRows(database: DatabaseSync): TimestampRows {
  const select = (order: 'ASC' | 'DESC') =>
    database.prepare(
      `SELECT epoch, size, text, reply, time FROM timestamps
       WHERE tenant = ? AND epoch = ifnull(?, epoch) AND size = ifnull(?, size) AND (epoch, size) > (?, ?)
       ORDER BY epoch ${order}, size ${order} LIMIT ?`,
    );
  const [oldest, newest] = [select('ASC'), select('DESC')];
  const save = database.prepare('INSERT OR IGNORE INTO timestamps VALUES (?, ?, ?, ?, ?, ?)');
  return {
    timestamps: (tenant, { epoch = null, size = null, after, order = 'oldest', limit }) => {
      const found = order === 'newest' ? newest : oldest;
      return found.all(tenant, epoch, size, after?.epoch ?? -1, after?.size ?? -1, limit) as unknown as KeptTimestamp[];
    },
    saveTimestamp: (tenant, { epoch, size, text, reply, time }) => {
      save.run(tenant, epoch, size, text, reply, time);
    },
  };
}
