// `EVENTSTOREDB_URL=esdb://… npm run test:eventstoredb` (or kurrentdb://…, through the other client): the event store's contract suite, and what needs no fault of a server, on a real one.
// With EVENTSTOREDB_ADMIN_URL it also grants the user of EVENTSTOREDB_URL its rights, as `countersign store secure` does, and proves them.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { root } from './prepare.mjs';

if (!process.env.EVENTSTOREDB_URL) {
  console.error('EVENTSTOREDB_URL is not set, so nothing was tested. Set it to the connection string of a server that');
  console.error('no other program writes to, such as esdb://127.0.0.1:2113?tls=false.');
  process.exit(1);
}
// One after the other: each of them counts the events of the server.
const specs = ['any-server', 'contract'].map((name) => `test/unit/eventstoredb/${name}.spec.ts`);
const run = (spec) =>
  spawnSync(process.execPath, [join(root, 'scripts', 'test.mjs'), 'unit', spec], { cwd: root, stdio: 'inherit' });
const codes = specs.map((spec) => run(spec).status ?? 1);
process.exit(Math.max(...codes));
