import { join } from 'node:path';
import type { Route } from '@countersign/channels';
import type { EventStore } from '@countersign/event-store';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { createSparseStore } from '@countersign/event-store/testing';
import { eventually } from '@countersign/message-bus/testing';
import { openReadModel } from '@countersign/read-model';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { findFailedDeliveries } from './failed-deliveries.js';
import { newsAgeMsMax } from './retry-schedule.js';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const route: Route = { tools: ['*'], agents: ['*'], events: ['requested'], to: ['down'] };

let world: World;
beforeEach(async () => {
  world = await openWorld();
});
afterEach(async () => {
  await world.close();
});

/** Records one failed delivery whose retry is announced, and stops the notifier. */
async function recordFailure(): Promise<void> {
  const down = createRecordingChannel({ id: 'down' });
  const failing = { ...down, send: () => Promise.resolve({ status: 'failed', reason: '503' } as const) };
  const { stop } = await world.notify({ channels: [failing], routes: [route] });
  await world.ask('call-1');
  await eventually(async () =>
    expect((await world.deliveries()).some(({ type }) => type === 'NotificationFailed')).toBe(true),
  );
  await stop();
}

it('finds announced retries on a store that reads its log from the positions of events only', async () => {
  // Other events before it, so that the search does not begin at the first one.
  for (let call = 0; call < 20; call += 1) await world.ask(`before-${String(call)}`);
  await recordFailure();
  const store = createSparseStore(world.store);
  const readModel = await openReadModel({
    file: join(world.folder, 'sparse.db'),
    source: store,
    log: createSilentLog(),
  });
  const planned: string[] = [];
  const find = async (now: number): Promise<void> => {
    const ports = { clock: createVirtualClock(now), signal: new AbortController().signal, places: readModel.places };
    await findFailedDeliveries(store, { ...ports, plan: ({ key }) => planned.push(key.channelId) });
  };
  await find(Date.now());
  expect(planned).toEqual(['down']);
  await find(Date.now() + newsAgeMsMax + 60_000);
  expect(planned).toEqual(['down']);
  readModel.close();
});

it('reads the log again until it can, says meanwhile why it cannot, and sends what was announced', async () => {
  await recordFailure();
  const clock = createVirtualClock(Date.now() + 60_000);
  let isAway = true;
  const store: EventStore = {
    ...world.store,
    head: async () => {
      if (isAway) throw new EventStoreUnavailableError('the log is away');
      return world.store.head();
    },
  };
  const down = createRecordingChannel({ id: 'down' });
  const { notifier } = await world.notify({ channels: [down], routes: [route], store, clock, group: 'another' });
  await eventually(() => expect(notifier.status().notRecovered).toBe('the log is away'));
  isAway = false;
  await clock.advanceAsync(10_000);
  await eventually(() => expect(notifier.status().notRecovered).toBeUndefined());
  await eventually(() => expect(down.sent.length).toBeGreaterThan(0));
});
