// Run in a process of its own, as `node verify-folder.ts <data folder>`: what an operator could do with a folder whose
// process has stopped. Prints what the product's own verifiers say about it.
import { join } from 'node:path';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { verifyReadModel } from '@countersign/read-model';
import { createLog, createSystemClock } from '@countersign/runtime';

const folder = process.argv[2] ?? '';
const log = createLog({ level: 'error' });
const store = await openEmbeddedEventStore({ folder, log, clock: createSystemClock() });
try {
  const chain = await store.verify();
  const views = await verifyReadModel({ file: join(folder, 'read-model.db'), source: store, log });
  const head = await store.head();
  process.stdout.write(JSON.stringify({ chain: { ...chain, error: undefined }, views, head }));
} finally {
  await store.close();
}
