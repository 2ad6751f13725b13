import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createSystemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { eventStoreContract } from '../event-store.contract.js';
import { openEmbeddedEventStore } from './embedded-event-store.js';

eventStoreContract({
  name: 'embedded',
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'countersign-'));
    const options = { folder, log: createSilentLog(), clock: createSystemClock() };
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
