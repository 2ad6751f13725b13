import { noStream } from '@countersign/event-store';
import { createSimulatedEventStore, sampleEvent } from '@countersign/event-store/testing';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { expect, it } from '@jest/globals';
import { tellOfFirstKeys } from './first-keys.js';

it('says that the log is of processes without keys, and nothing of an empty one', async () => {
  const clock = createVirtualClock();
  const store = createSimulatedEventStore({ clock });
  const log = createCollectingLog();
  await tellOfFirstKeys(store, log);
  expect(log.entries).toEqual([]);
  await store.append('tool-call-1', noStream, [sampleEvent()]);
  await tellOfFirstKeys(store, log);
  expect(log.entries).toMatchObject([
    { level: 'warn', message: expect.stringMatching(/^these keys are new.*COUNTERSIGN_KEEPER_URL for all processes/) },
  ]);
});
