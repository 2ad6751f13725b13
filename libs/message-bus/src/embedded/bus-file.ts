import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseSync } from 'node:sqlite';
import { openDatabaseFile } from '@countersign/runtime';
import type { Failure } from '../failure.js';
import type { DeadLetter, Message } from '../message-bus.js';

/** A place in the log, with the id of the event there, by which a log that was put back is recognised. */
export interface Checkpoint {
  readonly position: number;
  readonly eventId: string;
}

/** A group's progress in a topic, and the probation record stored with it: see `Probation`. */
export interface Progress {
  readonly checkpoint: Checkpoint;
  readonly record: string;
}

/** Before the first event. */
export const beginning: Checkpoint = { position: 0, eventId: '' };

const schema = `
  CREATE TABLE IF NOT EXISTS checkpoints (
    consumer_group TEXT NOT NULL,
    topic TEXT NOT NULL,
    position INTEGER NOT NULL,
    event_id TEXT NOT NULL,
    record TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (consumer_group, topic)
  ) STRICT, WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS dead_letters (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    state TEXT NOT NULL CHECK (state IN ('parked', 'replaying')),
    consumer_group TEXT NOT NULL,
    topic TEXT NOT NULL,
    partition INTEGER NOT NULL,
    message_offset TEXT NOT NULL,
    message_key TEXT,
    value BLOB NOT NULL,
    headers TEXT NOT NULL,
    code TEXT NOT NULL,
    detail TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    parked_at TEXT NOT NULL,
    record TEXT NOT NULL DEFAULT '',
    UNIQUE (consumer_group, topic, partition, message_offset)
  ) STRICT;
`;

/** Files of the first version know nothing of processes that ended. */
const upgrades: Readonly<Record<number, string>> = {
  1: `ALTER TABLE checkpoints ADD COLUMN record TEXT NOT NULL DEFAULT '';
      ALTER TABLE dead_letters ADD COLUMN record TEXT NOT NULL DEFAULT '';`,
};

type Row = Readonly<Record<string, unknown>>;

function toDeadLetter(row: Row): DeadLetter {
  return {
    id: String(row['id']),
    group: row['consumer_group'] as string,
    topic: row['topic'] as string,
    partition: row['partition'] as number,
    offset: row['message_offset'] as string,
    key: row['message_key'] as string | null,
    value: row['value'] as Uint8Array,
    headers: JSON.parse(row['headers'] as string) as Record<string, string>,
    code: row['code'] as string,
    detail: row['detail'] as string,
    attempts: row['attempts'] as number,
    parkedAt: row['parked_at'] as string,
  };
}

const schemaVersion = 2;

/**
 * The file `bus.db`: the progress of the consumer groups and their parked messages.
 *
 * `synchronous=NORMAL`: a killed process loses nothing; a power cut may lose the last moments of both, in order. Then
 * the group is at worst behind, gets messages again, which consumers must tolerate anyway, and parks them again.
 */
export class BusFile {
  readonly #database: DatabaseSync;

  constructor(folder: string) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    const cost = 'The dead letters in it are lost, and every consumer reads the log from its beginning.';
    this.#database = openDatabaseFile(join(folder, 'bus.db'), { cost, timeoutMs: 5_000, schemaVersion }, (database) => {
      database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;');
      const [{ user_version: version = 0 } = {}] = database.prepare('PRAGMA user_version').all();
      database.exec(
        `BEGIN; ${upgrades[Number(version)] ?? ''} ${schema} PRAGMA user_version = ${String(schemaVersion)}; COMMIT;`,
      );
    });
  }

  progress(group: string, topic: string): Progress {
    const row = this.#database
      .prepare('SELECT position, event_id, record FROM checkpoints WHERE consumer_group = ? AND topic = ?')
      .get(group, topic);
    if (row === undefined) return { checkpoint: beginning, record: '' };
    const checkpoint = { position: Number(row['position']), eventId: String(row['event_id']) };
    return { checkpoint, record: String(row['record']) };
  }

  saveProgress(group: string, topic: string, { checkpoint, record }: Progress): void {
    this.#database
      .prepare(
        'INSERT OR REPLACE INTO checkpoints (consumer_group, topic, position, event_id, record) VALUES (?, ?, ?, ?, ?)',
      )
      .run(group, topic, checkpoint.position, checkpoint.eventId, record);
  }

  /** The furthest position of any group; 0 where no group has progress. */
  furthestPosition(): number {
    const row = this.#database.prepare('SELECT max(position) AS furthest FROM checkpoints').get();
    return Number(row?.['furthest'] ?? 0);
  }

  /** Deletes the progress of groups beyond a position. Those groups start at the first event. */
  forgetBeyond(position: number): void {
    this.#database.prepare('DELETE FROM checkpoints WHERE position > ?').run(position);
  }

  /** Keeps a message aside; a second time, under the same id, with the newer reason. */
  park(group: string, message: Message, failure: Failure, parkedAt: string): void {
    const { topic, partition, offset, key, value, headers } = message;
    this.#database
      .prepare(
        `INSERT INTO dead_letters (state, consumer_group, topic, partition, message_offset, message_key, value, headers,
           code, detail, attempts, parked_at)
         VALUES ('parked', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET state = 'parked', code = excluded.code, detail = excluded.detail,
           attempts = attempts + excluded.attempts, parked_at = excluded.parked_at, record = ''`,
      )
      .run(
        ...[group, topic, partition, offset, key, value, JSON.stringify(headers)],
        ...[failure.code, failure.detail, failure.attempts, parkedAt],
      );
  }

  list(group: string | undefined, after: number, limit: number): DeadLetter[] {
    return this.#database
      .prepare(
        `SELECT * FROM dead_letters WHERE state = 'parked' AND id > ? AND (? IS NULL OR consumer_group = ?)
         ORDER BY id LIMIT ?`,
      )
      .all(after, group ?? null, group ?? null, limit)
      .map(toDeadLetter);
  }

  show(id: number): DeadLetter | undefined {
    const row = this.#database.prepare(`SELECT * FROM dead_letters WHERE id = ?`).get(id);
    return row === undefined ? undefined : toDeadLetter(row);
  }

  /** Removes a message from the list for redelivery; undefined when it is not in the list. */
  beginReplay(id: number): DeadLetter | undefined {
    const { changes } = this.#database
      .prepare(`UPDATE dead_letters SET state = 'replaying' WHERE id = ? AND state = 'parked'`)
      .run(id);
    return Number(changes) === 1 ? this.show(id) : undefined;
  }

  /** The probation record of a redelivered message: see `Probation`. */
  replayRecord(id: number): string {
    const row = this.#database.prepare('SELECT record FROM dead_letters WHERE id = ?').get(id);
    return row === undefined ? '' : String(row['record']);
  }

  saveReplayRecord(id: number, record: string): void {
    this.#database.prepare('UPDATE dead_letters SET record = ? WHERE id = ?').run(record, id);
  }

  /** The messages to redeliver to a group. */
  replaying(group: string): DeadLetter[] {
    return this.#database
      .prepare(`SELECT * FROM dead_letters WHERE state = 'replaying' AND consumer_group = ? ORDER BY id`)
      .all(group)
      .map(toDeadLetter);
  }

  /** Deletes a message that was handled; one that was parked again stays. */
  endReplay(id: number): void {
    this.#database.prepare(`DELETE FROM dead_letters WHERE id = ? AND state = 'replaying'`).run(id);
  }

  close(): void {
    this.#database.close();
  }
}
