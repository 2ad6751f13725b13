import { eventStoreContract } from '@countersign/event-store/testing';
import { openedOn } from '../../eventstoredb-server/opened-on.ts';

const realServer = process.env['EVENTSTOREDB_URL'] ?? '';

// `npm run test:eventstoredb`. The server must have no other writers meanwhile.
if (realServer !== '') {
  eventStoreContract({
    name: 'the server at EVENTSTOREDB_URL',
    open: () => openedOn(realServer, () => undefined),
  });
} else {
  eventStoreContract({
    name: 'EventStoreDB',
    open: async () => {
      const { startTestServer } = await import('../../eventstoredb-server/server.ts');
      const server = await startTestServer();
      return openedOn(server.url, server.stop);
    },
  });
}
