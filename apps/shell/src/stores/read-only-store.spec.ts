import { EventStoreUnavailableError } from '@countersign/event-store';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent } from '@countersign/event-store/testing';
import { createVirtualClock } from '@countersign/runtime/testing';
import { expect, it } from '@jest/globals';
import { createReadOnlyStore } from './read-only-store.js';

it('refuses writes as unavailable while there is a reason, and reads all the same', async () => {
  const store = createSimulatedEventStore({ clock: createVirtualClock(), log: createSimulatedLog() });
  let why: string | undefined;
  const guarded = createReadOnlyStore(store, () => why);
  await guarded.append('toolCall-1', -1, [sampleEvent()]);
  why = 'log-rewound: shorter';
  await expect(guarded.append('toolCall-1', 0, [sampleEvent()])).rejects.toEqual(new EventStoreUnavailableError(why));
  expect(await guarded.readStream('toolCall-1')).toHaveLength(1);
  why = undefined;
  await expect(guarded.append('toolCall-1', 0, [sampleEvent()])).resolves.toMatchObject({ status: 'committed' });
});
