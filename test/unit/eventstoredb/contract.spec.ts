import { eventStoreContract } from '@countersign/event-store/testing';
import { openedOn } from '../../eventstoredb-server/opened-on.ts';
import { startTestServer } from '../../eventstoredb-server/server.ts';

const realServer = process.env['EVENTSTOREDB_URL'];

eventStoreContract({
  name: 'EventStoreDB',
  open: async () => {
    const server = await startTestServer();
    return openedOn(server.url, server.stop);
  },
});

// `npm run test:eventstoredb`. The server must have no other writers meanwhile.
if (realServer !== undefined && realServer !== '') {
  eventStoreContract({
    name: 'the server at EVENTSTOREDB_URL',
    open: () => openedOn(realServer, () => undefined),
  });
}
