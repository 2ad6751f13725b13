import { systemClock } from '@countersign/runtime';
import { createVirtualClock } from '@countersign/runtime/testing';
import { eventStoreContract } from './event-store.contract.js';
import { EventStoreUnavailableError, noStream } from './event-store.js';
import { sampleEvents } from './sample-events.js';
import { createSimulatedEventStore, createSimulatedLog } from './simulated-event-store.js';
import type { AppendFault } from './simulated-event-store.js';

eventStoreContract({
  name: 'simulated',
  open: async () => {
    const log = createSimulatedLog();
    const clock = systemClock;
    let store = createSimulatedEventStore({ clock, log });
    return {
      store,
      reopen: async () => {
        await store.close();
        return (store = createSimulatedEventStore({ clock, log }));
      },
      dispose: () => store.close(),
    };
  },
});

describe('the simulated event store', () => {
  it('can refuse an append, or lose its request or its reply', async () => {
    const faults: AppendFault[] = ['unavailable', 'lost-request', 'lost-reply', 'none'];
    const store = createSimulatedEventStore({ clock: createVirtualClock(), fault: () => faults.shift() ?? 'none' });
    const events = sampleEvents(1);
    await expect(store.append('a', noStream, events)).rejects.toThrow(EventStoreUnavailableError);
    expect(await store.append('a', noStream, events)).toMatchObject({ status: 'unknown' });
    expect(await store.head()).toBe(0);
    expect(await store.append('a', noStream, events)).toMatchObject({ status: 'unknown' });
    expect(await store.head()).toBe(1);
    expect(await store.append('a', noStream, events)).toMatchObject({ status: 'committed', revision: 0 });
  });

  it('takes as long as it is told', async () => {
    const clock = createVirtualClock();
    const store = createSimulatedEventStore({ clock, latencyMs: () => 5 });
    const appending = store.append('a', noStream, sampleEvents(1));
    await clock.advanceAsync(5);
    expect(await appending).toMatchObject({ status: 'committed' });
  });

  it('drops a repeat of an append that is on its way, and says late that its outcome is unknown', async () => {
    const clock = createVirtualClock();
    const log = createSimulatedLog();
    const open = () => createSimulatedEventStore({ clock, log, latencyMs: () => 5 });
    const [one, two] = [open(), open()];
    const events = sampleEvents(1);
    const answers = Promise.all([one, two].map((store) => store.append('a', noStream, events)));
    await clock.advanceAsync(3_000);
    expect(await answers).toMatchObject([{ status: 'committed' }, { status: 'unknown' }]);
    const repeat = two.append('a', noStream, events);
    await clock.advanceAsync(5);
    expect(await repeat).toMatchObject({ status: 'committed', revision: 0 });
  });

  it('serves several clients on one log', async () => {
    const log = createSimulatedLog();
    const [one, two] = [1, 2].map(() => createSimulatedEventStore({ clock: createVirtualClock(), log }));
    await one?.append('a', noStream, sampleEvents(2));
    expect(await two?.readStream('a')).toHaveLength(2);
  });
});
