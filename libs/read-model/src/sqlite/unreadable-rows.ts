import { createHash } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import { currentSchemaVersion, eventSchemas, unreadableStreamOf } from '@countersign/contracts';
import type { UnreadableEvent, UnreadableStream } from '@countersign/contracts';
import type { UnreadableReads } from '../read-model.js';

/** The streams that are set aside: those of an opened file, and those that are not in it yet. */
export interface UnreadableRows extends UnreadableReads {
  /** Sets a stream aside, unless an earlier event did. */
  readonly add: (event: UnreadableEvent, tenant: string | null) => void;
  /** Writes the new ones. Call it in a transaction. */
  readonly write: () => void;
  /** Call it when they are in the file. */
  readonly flushed: () => void;
}

type Prepare = (sql: string) => StatementSync;

/** The streams over an opened file. */
export function createUnreadableRows(prepare: Prepare): UnreadableRows {
  const rows = prepare('SELECT stream, mark FROM unreadable ORDER BY position').all();
  const streams = new Map(
    rows.map(({ stream, mark }) => [String(stream), JSON.parse(String(mark)) as UnreadableStream]),
  );
  let added: UnreadableStream[] = [];
  return {
    find: (stream) => streams.get(stream),
    all: () => [...streams.values()],
    add: (event, tenant) => {
      if (streams.has(event.stream)) return;
      const row = { ...unreadableStreamOf(event), tenant };
      streams.set(event.stream, row);
      added.push(row);
    },
    write: () => {
      for (const row of added) {
        prepare('INSERT INTO unreadable VALUES (?, ?, ?, ?)').run(
          row.stream,
          row.position,
          readerVersion(),
          JSON.stringify(row),
        );
      }
    },
    flushed: () => {
      added = [];
    },
  };
}

/** Differs between versions that read other events: one that can read more takes the streams up again. */
export function readerVersion(): string {
  const read = Object.entries(eventSchemas).map(([type, { shape }]) => [type, Object.keys(shape)]);
  return createHash('sha256')
    .update(JSON.stringify([currentSchemaVersion, read]))
    .digest('hex');
}
