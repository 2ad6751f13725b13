import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, it } from '@jest/globals';
import type { NewEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { openDataFolder } from './data-folder.js';

it('has few large events in memory at once', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  try {
    const store = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });
    for (const eventId of ['1', '2', '3', '4', '5']) {
      const note = 'x'.repeat(700_000);
      const event = { eventId, type: 'Noted', metadata: { tenant: 'default' }, data: { note } };
      await store.append(`notes-${eventId}`, -1, [event as unknown as NewEvent]);
    }
    const log = openDataFolder(folder);
    const seen: string[] = [];
    for (const { stored, damage } of log.eventsAfter(0)) {
      // An event that was read before now is as it was.
      if (seen.length === 0) change(folder);
      seen.push(`${stored?.eventId ?? ''} ${String(damage.length)}`);
    }
    log.close();
    await store.close();
    expect(seen).toEqual(['1 0', '2 0', '3 1', '4 1', '5 1']);
  } finally {
    rmSync(folder, { recursive: true });
  }
});

function change(folder: string): void {
  const database = new DatabaseSync(join(folder, 'events.db'));
  database.exec(`UPDATE events SET data = '{}'`);
  database.close();
}
