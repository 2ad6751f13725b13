import { createHash } from 'node:crypto';
import type { StatementSync } from 'node:sqlite';
import { currentSchemaVersion, eventSchemas, lastReplacesAll, unreadableStreamOf } from '@countersign/contracts';
import type { UnreadableEvent, UnreadableStream } from '@countersign/contracts';
import type { UnreadableReads } from '../read-model.js';

/** The streams that are set aside: those of an opened file, and those that are not in it yet. */
export interface UnreadableRows extends UnreadableReads {
  /** Sets a stream aside, unless an earlier event did. Of a stream whose last event replaces all, the last one does. */
  readonly add: (event: UnreadableEvent, tenant: string | null) => void;
  /** Returns whether nothing that follows in the stream is folded. */
  readonly isOver: (stream: string) => boolean;
  /** The stream can be read again. */
  readonly remove: (stream: string) => void;
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
  let changed = new Set<string>();
  return {
    find: (stream) => streams.get(stream),
    all: () => [...streams.values()],
    add: (event, tenant) => {
      const { stream } = event;
      if (streams.has(stream) && !lastReplacesAll(stream)) return;
      streams.set(stream, { ...unreadableStreamOf(event), tenant });
      changed.add(stream);
    },
    isOver: (stream) => streams.has(stream) && !lastReplacesAll(stream),
    remove: (stream) => {
      if (streams.delete(stream)) changed.add(stream);
    },
    write: () => {
      for (const stream of changed) {
        prepare('DELETE FROM unreadable WHERE stream = ?').run(stream);
        const row = streams.get(stream);
        if (row === undefined) continue;
        const insert = prepare('INSERT INTO unreadable VALUES (?, ?, ?, ?)');
        insert.run(stream, row.position, readerVersion(), JSON.stringify(row));
      }
    },
    flushed: () => {
      changed = new Set();
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
