import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { chainAfter, firstChain, leafOf } from './stored-chain.js';
import type { LogRow } from './stored-chain.js';

/** The owner of a data folder changes the database of the log, and computes every hash of the store again. */
export function meddle(folder: string, sql: string): void {
  const log = new DatabaseSync(join(folder, 'events.db'), { defensive: false });
  log.exec(sql);
  const all = log.prepare(
    'SELECT position, name, revision, event_id, type, recorded_at, metadata, data, leaf, chain FROM events e JOIN streams s ON s.id = e.stream WHERE position IS NOT NULL ORDER BY position',
  );
  all.setReturnArrays(true);
  const change = log.prepare('UPDATE events SET leaf = ?, chain = ? WHERE position = ?');
  let chain = firstChain;
  for (const row of all.all() as unknown as readonly LogRow[]) {
    const leaf = Buffer.from(leafOf(row), 'hex');
    chain = chainAfter(chain, leaf);
    change.run(leaf, chain, row[0]);
  }
  log.prepare('UPDATE head SET chain = ?').run(chain);
  log.close();
}
