import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { eventSchemas } from '@countersign/contracts';
import type { Entry } from '../../audit/log.js';

/** Reads the event store's own file, without any client and while its server runs: what is there was recorded. */
export function readStoreLog(folder: string): readonly Entry[] {
  const database = new DatabaseSync(join(folder, 'eventstoredb.db'), { readOnly: true });
  try {
    return database.prepare('SELECT * FROM events ORDER BY position').all().map(toEntry);
  } finally {
    database.close();
  }
}

function toEntry(row: Readonly<Record<string, unknown>>): Entry {
  const json = (column: string): unknown => JSON.parse(Buffer.from(row[column] as Uint8Array).toString());
  const { callId, runId, tenant } = json('metadata') as Pick<Entry, 'callId' | 'runId' | 'tenant'>;
  const type = String(row['type']);
  const schema = Object.hasOwn(eventSchemas, type) ? eventSchemas[type as keyof typeof eventSchemas] : undefined;
  if (schema === undefined) throw new Error(`the log holds an event of the unknown type ${type}`);
  return {
    position: Number(row['position']),
    stream: String(row['stream']),
    revision: Number(row['revision']),
    eventId: String(row['id']),
    type,
    recordedAt: new Date(Number(row['createdMs'])).toISOString(),
    callId,
    runId,
    tenant,
    data: schema.parse(json('data')),
  };
}
