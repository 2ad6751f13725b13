import { DatabaseSync } from 'node:sqlite';
import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { createProjector } from '@countersign/projector';
import { openReadModel } from '@countersign/read-model';
import type { ReadModel } from '@countersign/read-model';
import type { Site } from '../world/cluster.ts';
import type { Machine } from '../world/machine.ts';

/** A read model that follows the log. */
export interface Views {
  readonly readModel: ReadModel;
  readonly file: string;
}

/** The read model of a process whose write side is created before it. */
export function openedLater(): { views?: Views; readonly readModel: () => ReadModel } {
  const opened: ReturnType<typeof openedLater> = {
    readModel: () => {
      if (opened.views === undefined) throw new Error('the read model is not open yet');
      return opened.views.readModel;
    },
  };
  return opened;
}

/** Opens the read model of a machine as its last process left it, and follows the log with it. */
export async function openViews(site: Site, machine: Machine, store: EventStore): Promise<Views> {
  const { world, disk } = site;
  const file = disk.file(machine.name.replace(/#.*/, ''));
  const unflushedEvents = 1 + world.random.below(30);
  const readModel = await openReadModel({ file, source: store, log: machine.log, bounds: { unflushedEvents } });
  machine.onDeath(() => {
    const position = readModel.checkpoint();
    disk.keepAsKilled(file, () => {
      readModel.close();
    });
    if (world.without === 'projector-checkpoint') moveCheckpoint(file, world.log.events[position - 1]);
  });
  await createProjector({ store, readModel, clock: machine.clock, log: machine.log }).start();
  return { readModel, file };
}

/** A checkpoint kept apart from its rows: a kill leaves it ahead of them. */
function moveCheckpoint(file: string, last: RecordedEvent | undefined): void {
  if (last === undefined) return;
  const db = new DatabaseSync(file);
  db.prepare('UPDATE meta SET position = ?, previous = ?, event_id = ?').run(
    last.position,
    last.position - 1,
    last.eventId,
  );
  db.close();
}
