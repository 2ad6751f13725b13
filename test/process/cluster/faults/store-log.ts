import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { entryOf } from '../../audit/log.js';
import type { Entry } from '../../audit/log.js';

/** Reads the event store's own file, without any client and while its server runs: what is there was recorded. */
export function readStoreLog(folder: string): readonly Entry[] {
  return rowsOf(folder).map((row) => entryOf(row, ownOf(row)));
}

/** The same as lines of an export, for the auditor. */
export function exportOf(folder: string): string {
  const lines = rowsOf(folder).map((row) => {
    const { metadata, data, ...own } = ownOf(row);
    const { stream, revision, position, type } = row;
    const place = { stream, revision: Number(revision), position: Number(position), type };
    return JSON.stringify({
      ...own,
      ...place,
      metadata: JSON.parse(metadata) as unknown,
      data: JSON.parse(data) as unknown,
    });
  });
  return `${lines.join('\n')}\n`;
}

type Row = Readonly<Record<string, unknown>>;

function rowsOf(folder: string): readonly Row[] {
  const database = new DatabaseSync(join(folder, 'eventstoredb.db'), { readOnly: true });
  try {
    // The server writes events of its own between ours.
    return database.prepare("SELECT * FROM events WHERE stream NOT LIKE '$%' ORDER BY position").all();
  } finally {
    database.close();
  }
}

function ownOf(row: Row) {
  const text = (column: string): string => Buffer.from(row[column] as Uint8Array).toString();
  return {
    eventId: String(row['id']),
    recordedAt: new Date(Number(row['createdMs'])).toISOString(),
    metadata: text('metadata'),
    data: text('data'),
  };
}
