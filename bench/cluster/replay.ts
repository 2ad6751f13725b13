import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readable } from '@countersign/event-store/testing';
import type { RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { createProjector } from '@countersign/projector';
import { openReadModel } from '@countersign/read-model';
import { createLog, createSystemIds, systemClock } from '@countersign/runtime';

const [clock, ids, log] = [systemClock, createSystemIds(), createLog({ level: 'warn' })];

/** The store through our adapter, in this process. */
export async function openStore(url: string): Promise<EventStore> {
  const store = openEventStoreDb({ url, connect: await connectOf(url), clock, ids, log });
  await store.head();
  return store;
}

/** The whole log through the adapter's subscription, with an empty handler. */
export async function followLog(
  store: EventStore,
): Promise<{ readonly events: number; readonly eventsPerSecond: number; readonly sample: readonly RecordedEvent[] }> {
  const caughtUp = Promise.withResolvers<undefined>();
  const sample: RecordedEvent[] = [];
  let events = 0;
  const startedAt = performance.now();
  const subscription = store.subscribe(0, {
    onEvents: (some) => {
      events += some.length;
      if (sample.length < 1000) sample.push(...readable(some));
    },
    onCaughtUp: () => caughtUp.resolve(undefined),
    onError: caughtUp.reject,
  });
  await caughtUp.promise;
  const seconds = (performance.now() - startedAt) / 1000;
  await subscription.stop();
  return { events, eventsPerSecond: events / seconds, sample };
}

/** How fast a new replica of the read model follows the log from the first event to the last. */
export async function replayRate(store: EventStore, events: number): Promise<number> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-bench-replay-'));
  const startedAt = performance.now();
  const readModel = await openReadModel({ file: join(folder, 'read-model.db'), source: store, log });
  const projector = createProjector({ store, readModel, clock, log });
  await projector.start();
  const seconds = (performance.now() - startedAt) / 1000;
  await projector.stop();
  readModel.close();
  rmSync(folder, { recursive: true, force: true });
  return events / seconds;
}
