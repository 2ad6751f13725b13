import { expect, test } from '@jest/globals';
import { firstEventIds } from '@countersign/http-client/testing';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { startServer } from '../harness/server.js';
import { freePort } from '../../ports.js';
import { openStoreServer, storeUrl, writeTokens } from './roles.js';

cleanUpAfterEach();

const idsOf = (url: string, count: number): Promise<readonly number[]> =>
  firstEventIds(url, count, { authorization: 'Bearer agent-token' });

test('positions that no event has continue with the next one, and leave the gateway ready', async () => {
  const store = await openStoreServer();
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(store.port), COUNTERSIGN_TOKENS_FILE: writeTokens() };
  const port = await freePort();
  const gateway = startServer({ folder: temporaryFolder(), port, args: ['start', 'gateway'], env });
  await gateway.ready();
  const { http } = gateway;
  const url = `http://127.0.0.1:${String(port)}`;
  const call = { toolName: 'delete_file', arguments: { path: '/tmp/a' }, needsApproval: true };
  const calls = Array.from({ length: 12 }, (_, n) => ({ ...call, toolCallId: `call-${String(n)}` }));
  const body = { runId: 'run-1', calls };
  const asked = await http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body });
  expect(asked.status).toBe(201);
  const all = await idsOf(`${url}/v1/events`, 24);
  expect(all).toHaveLength(24);

  const readiness: number[] = [];
  for (const [at, id] of all.entries()) {
    const next = all[at + 1];
    if (next === undefined) continue;
    expect(await idsOf(`${url}/v1/events?after=${String(id + 1)}`, 1)).toEqual([next]);
    readiness.push((await http.send({ method: 'GET', path: '/readyz' })).status);
  }
  expect(new Set(readiness)).toEqual(new Set([200]));

  const exported = await http.send({
    method: 'GET',
    path: `/v1/audit/events?after=${String((all[3] ?? 0) + 1)}&limit=1`,
    token: 'ann-token',
  });
  expect(exported.text).toContain(`"position":${String(all[4])},`);
  const { text } = await http.send({ method: 'GET', path: '/metrics' });
  expect(text).toMatch(/^countersign_store_commits_total [1-9]/m);
  expect(text).toMatch(/^countersign_store_commit_seconds_count [1-9]/m);
  expect(text).toMatch(/^countersign_pending_approvals_older\{than="1h"\} 0$/m);
});
