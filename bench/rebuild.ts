import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { rebuildReadModel } from '@countersign/read-model';
import { createLog, systemClock } from '@countersign/runtime';

/** How fast the read model of a data folder is rebuilt, including the reading of the log. */
export async function measureRebuild(
  folder: string,
): Promise<{ events: number; seconds: number; eventsPerSecond: number }> {
  const log = createLog({ level: 'warn' });
  const source = await openEmbeddedEventStore({ folder, clock: systemClock, log });
  const file = join(mkdtempSync(join(tmpdir(), 'countersign-rebuild-')), 'read-model.db');
  const startedAt = performance.now();
  const { events } = await rebuildReadModel({ file, source, log });
  const seconds = (performance.now() - startedAt) / 1000;
  await source.close();
  return { events, seconds, eventsPerSecond: events / seconds };
}
