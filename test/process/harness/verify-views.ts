// Run in a separate process, as `node verify-views.ts <URL of the event store> <data folder>…`, like an operator of a cluster. Prints
// what the product's own verifier says of the read model in each folder: one start for all of them.
import { join } from 'node:path';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { verifyReadModel } from '@countersign/read-model';
import { createLog, systemClock } from '@countersign/runtime';

const [url = '', ...folders] = process.argv.slice(2);
const log = createLog({ level: 'error' });
const source = openEventStoreDb({ url, connect: await connectOf(url), log, clock: systemClock });
const all: unknown[] = [];
try {
  for (const folder of folders) all.push(await verifyReadModel({ file: join(folder, 'read-model.db'), source, log }));
} finally {
  await source.close();
}
process.stdout.write(JSON.stringify(all));
