// node test/eventstoredb-server/main.ts --port N --data FOLDER [--control N] An EventStoreDB look-alike for tests. With
// --control it has a control API over HTTP: PUT /faults, POST /drop-subscriptions, GET /calls.
import { mkdirSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { startControl } from './control.ts';
import { startTestServer } from './server.ts';

const { values } = parseArgs({
  options: { port: { type: 'string' }, data: { type: 'string' }, control: { type: 'string' } },
});
if (values.data !== undefined) mkdirSync(values.data, { recursive: true });
const server = await startTestServer({
  port: Number(values.port ?? 0),
  ...(values.data === undefined ? {} : { folder: values.data }),
});
const control = values.control === undefined ? undefined : await startControl(server, Number(values.control));
process.stdout.write(`${JSON.stringify({ url: server.url, port: server.port, control: control?.port })}\n`);
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.once(signal, () => {
    control?.stop();
    server.stop();
  });
}
