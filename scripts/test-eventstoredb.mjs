// `EVENTSTOREDB_URL=esdb://… npm run test:eventstoredb`: the event store's contract suite on a real server.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './prepare.mjs';

if (!process.env.EVENTSTOREDB_URL) {
  console.error('EVENTSTOREDB_URL is not set, so nothing was tested. Set it to the connection string of a server that');
  console.error('nobody else writes to, such as esdb://127.0.0.1:2113?tls=false.');
  process.exit(1);
}
const suite = [join(root, 'scripts', 'test.mjs'), 'unit', 'test/unit/eventstoredb/contract.spec.ts'];
process.exit(spawnSync(process.execPath, suite, { cwd: root, stdio: 'inherit' }).status ?? 1);
