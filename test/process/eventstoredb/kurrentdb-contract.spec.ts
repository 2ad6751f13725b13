import { afterAll, beforeAll, jest } from '@jest/globals';
import type * as Adapter from '@countersign/event-store/eventstoredb';
import type * as Kurrent from './kurrentdb-client.js';
import { eventStoreContract } from '@countersign/event-store/testing';
import { startServerProcess } from '../../eventstoredb-server/server-process.ts';
import type { ServerProcess } from '../../eventstoredb-server/server-process.ts';
import { openedOn } from '../../eventstoredb-server/opened-on.ts';

// The sum of what is waited for in a test, and of what a hook starts or ends.
jest.setTimeout(60_000);

// Both clients put their generated messages into the same global names, so a process has one of them: the older one must
// not even be loaded here, and the server runs in a process of its own.
jest.unstable_mockModule('@eventstore/db-client', () => ({
  EventStoreDBClient: {},
  BACKWARDS: '',
  FORWARDS: '',
  jsonEvent: {},
  streamNameFilter: {},
}));

let adapter: typeof Adapter;
let kurrent: typeof Kurrent;
let server: ServerProcess;

beforeAll(async () => {
  adapter = await import('@countersign/event-store/eventstoredb');
  kurrent = await import('./kurrentdb-client.js');
  server = await startServerProcess();
});
afterAll(() => server.stop());

eventStoreContract({
  name: 'EventStoreDB through the newer client',
  open: () =>
    openedOn(
      (options) => adapter.openEventStoreDb({ ...options, url: server.url, connect: kurrent.connectKurrentDb }),
      () => undefined,
    ),
});
