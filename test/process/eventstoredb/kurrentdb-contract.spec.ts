import { afterAll, beforeAll } from '@jest/globals';
import { eventStoreContract } from '@countersign/event-store/testing';
import { startServerProcess } from '../../eventstoredb-server/server-process.ts';
import type { ServerProcess } from '../../eventstoredb-server/server-process.ts';
import { openedOn } from '../../eventstoredb-server/opened-on.ts';

// The server runs in a separate process, because it uses the generated messages of the other client.
let server: ServerProcess;
beforeAll(async () => {
  server = await startServerProcess();
});
afterAll(() => server.stop());

eventStoreContract({
  name: "EventStoreDB through Kurrent's client",
  open: () => openedOn(server.url.replace(/^esdb/, 'kurrentdb'), () => undefined),
});
