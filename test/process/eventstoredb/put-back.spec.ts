import { cpSync, rmSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { openStoreServer, startRole, storeUrl, untilWaitingFor, writeTokens } from '../cluster/roles.js';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import type { HttpAnswer } from '../harness/http.js';

cleanUpAfterEach();

it('an event store that is put back from a backup under a running gateway: 503 with the reason, nothing is recorded', async () => {
  const [folder, backup] = [temporaryFolder(), temporaryFolder()];
  let store = await openStoreServer(undefined, folder);
  const { port } = store;
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens() };
  const gateway = await startRole('gateway', env);
  await gateway.ready();
  const request = (toolCallId: string): Promise<HttpAnswer> =>
    gateway.http.send({
      method: 'POST',
      path: '/v1/tool-calls',
      token: 'agent-token',
      body: { runId: 'run-1', calls: [{ toolCallId, toolName: 'delete_file', arguments: {}, needsApproval: true }] },
      timeoutMs: 100_000,
    });
  /** The same server again, on the data of its folder. */
  const restarted = async (meanwhile: () => void): Promise<void> => {
    await store.stop();
    meanwhile();
    store = await openStoreServer(port, folder);
  };

  expect((await request('a')).status).toBe(201);
  await restarted(() => {
    cpSync(folder, backup, { recursive: true });
  });
  await gateway.ready();
  expect((await request('b')).status).toBe(201);
  await restarted(() => {
    rmSync(folder, { recursive: true });
    cpSync(backup, folder, { recursive: true });
  });
  await untilWaitingFor(gateway, 'event-store', /put back to an older state.*docs\/operations\.md/);

  const refused = await request('c');
  expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  expect(refused.text).toContain('put back to an older state');
  expect((await store.calls()).filter((call) => call === 'Streams/Append')).toEqual([]);
  expect(await gateway.stop()).toEqual({ code: 0, signal: null });
});
