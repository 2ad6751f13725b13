import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { EventStoreDBClient, jsonEvent, NO_STREAM } from '@eventstore/db-client';
import type { TestServer } from '../../eventstoredb-server/server.ts';
import { cleanUpAfterEach, onCleanUp, startServer } from './harness.js';

cleanUpAfterEach();

// The vendor's client's own behaviour: the reasons for the adapter's guards. A test that fails here after an upgrade of
// the client shows that a guard may have become unnecessary.

async function plainClient(): Promise<{ readonly server: TestServer; readonly append: () => Promise<string> }> {
  const server = await startServer();
  const client = EventStoreDBClient.connectionString(server.url);
  // Not awaited: this one hangs, too, when an append does.
  onCleanUp(() => void client.dispose());
  const append = async (): Promise<string> => {
    const event = jsonEvent({ type: 'Tried', data: {} });
    const appending = client.appendToStream(`tried-${event.id}`, event, { expectedRevision: NO_STREAM, deadline: 100 });
    const outcome = appending.then(
      () => 'done',
      (error: unknown) => (error as { readonly type?: string }).type ?? String(error),
    );
    return Promise.race([outcome, delay(400, 'pending')]);
  };
  return { server, append };
}

describe("the vendor's client by itself", () => {
  it('waits for ever, past its deadline, when the server hangs', async () => {
    const { server, append } = await plainClient();
    server.setFaults({ append: 'hang' });
    expect(await append()).toBe('pending');
  });

  it('waits for ever when the server half-closes the stream of appends, then and afterwards', async () => {
    const { server, append } = await plainClient();
    server.setFaults({ append: 'half-close', times: 1 });
    expect(await append()).toBe('pending');
    expect(await append()).toBe('pending');
  });

  it('waits for ever for the features of a server that hangs', async () => {
    const { server, append } = await plainClient();
    server.setFaults({ features: 'hang' });
    expect(await append()).toBe('pending');
  });

  it('never forgets that the features could not be told once', async () => {
    const { server, append } = await plainClient();
    server.setFaults({ features: 'internal', times: 1 });
    expect(await append()).toContain('INTERNAL');
    expect(await append()).toContain('INTERNAL');
  });

  it('can append nothing when its clock is behind', async () => {
    const { server, append } = await plainClient();
    server.setFaults({ clockAheadMs: 15_000 });
    expect(await append()).toBe('deadline-exceeded');
    expect(server.log.readAll(0, 'forwards', 10)).toEqual([]);
  });

  it('does not know that a server is busy', async () => {
    const { server, append } = await plainClient();
    server.setFaults({ append: 'busy' });
    expect(await append()).toBe('unknown');
  });
});
