import { closeBatch, endInside, endRun, fireDue, takeTurn } from '@countersign/commands';
import { createBatchCloser, createDeadlines, createTurns } from '@countersign/projector';
import { createOpenCalls } from '@countersign/shell';
import { topicNames } from '@countersign/message-bus';
import { createSimulatedMessageBus } from '../world/bus-client.ts';
import type { Site } from '../world/cluster.ts';
import type { Machine } from '../world/machine.ts';
import { openedLater, openViews } from './views.ts';
import type { Views } from './views.ts';
import { createWriteSide } from './write-side.ts';

/** Boots a projector: the read model, the deadlines out of it, and the process manager of batches. */
export async function bootProjector(site: Site, machine: Machine): Promise<Views> {
  const opened = openedLater();
  const { store, commands } = createWriteSide(site, machine, { readModelOf: opened.readModel });
  const { ids, log } = machine;
  const { clock } = commands;
  const views = await openViews(site, machine, store);
  opened.views = views;
  createDeadlines({
    readModel: views.readModel,
    fireDue: (...due) => {
      for (const listener of site.deadlines) listener(machine);
      return fireDue(commands, ...due);
    },
    clock: store.clock,
    log,
  }).start();
  createTurns({ readModel: views.readModel, takeTurn: (turn) => takeTurn(commands, turn), clock, log }).start();
  const bus = createSimulatedMessageBus(site.broker, { ...machine, travel: site.world.travel });
  const openCalls = createOpenCalls({ store, readModel: views.readModel, clock });
  const ending = { commands, store, openCalls, clock, ids };
  createBatchCloser({
    ...{ bus, topic: topicNames().events },
    closeBatch: (...batch) => closeBatch(commands, ...batch),
    endRun: async (...denied) => {
      if (site.world.without !== 'deny-ends-run') await endRun(ending, ...denied);
    },
    endInside: (...cancelled) => endInside(ending, ...cancelled),
  });
  return views;
}
