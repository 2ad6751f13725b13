/** A record in a stream of records. */
export interface StreamRecord {
  /** A UUID in small letters. */
  readonly id: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A record as the store has it. */
export interface KeptRecord extends StreamRecord {
  readonly revision: number;
}

/** The result of keeping a record: another writer may have been first. */
export type Kept = { readonly status: 'kept' } | { readonly status: 'conflict' };

/**
 * Streams of records that are no events of the ledger. No reader of the log sees them, they are in no tree, and their order
 * among the events has no meaning.
 */
export interface RecordStreams {
  /**
   * Appends a record at exactly this revision. A repeat with the same id is kept once.
   * @throws EventStoreUnavailableError when it is not known whether it is kept; `newest` tells later.
   */
  readonly keep: (stream: string, expectedRevision: number, record: StreamRecord) => Promise<Kept>;
  /** The last records of a stream, the newest first; none when there is no such stream. @throws EventStoreUnavailableError */
  readonly newest: (stream: string, count: number) => Promise<readonly KeptRecord[]>;
}

/** What begins the names of streams of records. It MUST NOT be the beginning of a name of another stream. */
export const recordStreamPrefix = 'record-';
