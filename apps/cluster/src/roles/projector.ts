import { closeBatch, endRun, fireDue } from '@countersign/commands';
import { createBatchCloser, createDeadlines, createProjectorMetrics } from '@countersign/projector';
import { createOpenCalls } from '@countersign/shell';
import { openTopics } from '../kafka.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openViews } from '../views.js';
import { openWriteSide } from '../write-side.js';

/**
 * Deadlines, the end of batches that a process left half closed, and of runs that a denial ends. Several of them side by side do no harm: what is
 * due is decided by each call's own stream.
 */
export async function readProjector(): Promise<OpenRole> {
  return async (process) => {
    const { ids, log, registry, onStop, check } = process;
    const ledgerStore = await openEventStore(process);
    const { store } = ledgerStore;
    const { clock } = store;
    const commands = openWriteSide(process, ledgerStore);
    const readModel = await openViews(process, ledgerStore);
    const metrics = createProjectorMetrics(registry, { readModel, clock });
    const deadlines = createDeadlines({
      readModel,
      fireDue: (...due) => fireDue(commands, ...due),
      clock,
      log,
      onFired: metrics.deadlineFired,
    });
    // Before Kafka is looked for: an approval must expire in time also while the brokers are away.
    deadlines.start();
    onStop(() => deadlines.stop());
    const { bus, names } = await openTopics(process, ({ events, deadLetters }) => [events, deadLetters]);
    const ending = {
      commands,
      store,
      openCalls: createOpenCalls({ store, readModel, clock }),
      clock: commands.clock,
      ids,
    };
    const subscription = createBatchCloser({
      bus,
      topic: names.events,
      closeBatch: (...batch) => closeBatch(commands, ...batch),
      endRun: (...denied) => endRun(ending, ...denied),
    });
    onStop(() => subscription.stop());
    check(subscriptionCheck('batch-closer', () => subscription.status()));
  };
}
