import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog, createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
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

it('warns at a start after the clock was set back, and counts what was asked before as missed', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  const clock = createVirtualClock();
  const first = await openEmbeddedEventStore({ folder, log: createSilentLog(), clock });
  const asked = clock.now();
  await first.append('toolCall-a', noStream, [sampleEvent()]);
  await first.close();
  const warningsAfter = async (byMs: number): Promise<readonly unknown[]> => {
    clock.jump(byMs);
    const log = createCollectingLog();
    const store = await openEmbeddedEventStore({ folder, log, clock });
    expect(store.clock.missedSince(asked)).toBe(true);
    await store.close();
    return log.entries.filter(({ message }) => message.includes('set back'));
  };
  expect(await warningsAfter(-2_000)).toEqual([]);
  expect(await warningsAfter(-3_598_000)).toMatchObject([{ level: 'warn', fields: { behindMs: 3_600_000 } }]);
  rmSync(folder, { recursive: true });
});
