// Run in a separate process, as `node verify-folder.ts <data folder>`, like an operator with a stopped process's
// folder. Prints the results of the product's own verifiers.
import { join } from 'node:path';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { verifyReadModel } from '@countersign/read-model';
import { createLog, systemClock } from '@countersign/runtime';

const folder = process.argv[2] ?? '';
const log = createLog({ level: 'error' });
const store = await openEmbeddedEventStore({ folder, log, clock: systemClock });
try {
  const chain = await store.verify();
  const views = await verifyReadModel({ file: join(folder, 'read-model.db'), source: store, log });
  const head = await store.head();
  process.stdout.write(JSON.stringify({ chain: { ...chain, error: undefined }, views, head }));
} finally {
  await store.close();
}
