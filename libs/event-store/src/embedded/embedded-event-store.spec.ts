import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { eventStoreContract } from '../event-store.contract.js';
import { noStream } from '../event-store.js';
import { sampleEvent } from '../sample-events.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';

eventStoreContract({
  name: 'embedded',
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
    const options = { folder, log: createSilentLog(), clock: systemClock };
    let store = await openEmbeddedEventStore(options);
    return {
      store,
      reopen: async () => {
        await store.close();
        return (store = await openEmbeddedEventStore(options));
      },
      dispose: async () => {
        await store.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
});

it('names the streams that begin with a text, and no others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  const store = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock: systemClock });
  for (const name of ['subject-\u{1f600}', 'subject.', 'subject-', 'subjec', 'subject-a', 'toolCall-subject-a']) {
    await store.append(name, noStream, [sampleEvent()]);
  }
  expect(store.streamsWith('subject-')).toEqual(['subject-', 'subject-a', 'subject-\u{1f600}']);
  await store.close();
  rmSync(folder, { recursive: true });
});
