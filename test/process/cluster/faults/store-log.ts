import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { entryOf } from '../../audit/log.js';
import type { Entry } from '../../audit/log.js';

/** Reads the event store's own file, without any client and while its server runs: what is there was recorded. */
export function readStoreLog(folder: string): readonly Entry[] {
  const database = new DatabaseSync(join(folder, 'eventstoredb.db'), { readOnly: true });
  try {
    // The server writes events of its own between ours.
    const ours = database.prepare("SELECT * FROM events WHERE stream NOT LIKE '$%' ORDER BY position");
    return ours.all().map(toEntry);
  } finally {
    database.close();
  }
}

function toEntry(row: Readonly<Record<string, unknown>>): Entry {
  const text = (column: string): string => Buffer.from(row[column] as Uint8Array).toString();
  return entryOf(row, {
    eventId: String(row['id']),
    recordedAt: new Date(Number(row['createdMs'])).toISOString(),
    metadata: text('metadata'),
    data: text('data'),
  });
}
