import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';
import { openStoreServer, readinessOf, startRole, storeUrl, writeTokens } from './roles.js';

cleanUpAfterEach();

const subject = 'customer-42';

/** The number of keys in a state. */
function keysIn(folder: string, state: string): unknown {
  const database = new DatabaseSync(join(folder, 'keys.db'), { readOnly: true });
  try {
    return database.prepare('SELECT count(*) AS keys FROM keys WHERE state = ?').get(state)?.['keys'];
  } finally {
    database.close();
  }
}

/** A tools file with one tool that nothing calls. */
function writeTools(): string {
  const file = join(temporaryFolder(), 'tools.json');
  writeFileSync(file, JSON.stringify({ tools: [{ name: 'post', http: { url: 'https://tools.example.com/post' } }] }));
  return file;
}

test('a resolver, which keeps no read model, learns of an erasure and finishes it when the gateway was killed', async () => {
  const { port } = await openStoreServer();
  const keys = temporaryFolder();
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: storeUrl(port),
    COUNTERSIGN_TOKENS_FILE: writeTokens(),
    COUNTERSIGN_KEYS_FOLDER: keys,
  };
  const gateway = await startRole('gateway', { ...env, COUNTERSIGN_CRASH_AT: 'erase.recorded:1' });
  await gateway.ready();
  // It follows the log before it finds a broker.
  const resolver = await startRole('resolver', {
    ...env,
    COUNTERSIGN_TOOLS: writeTools(),
    COUNTERSIGN_KAFKA_BROKERS: '127.0.0.1:1',
  });
  await eventually('the resolver to follow the log', 30_000, async () => {
    const { checks } = ((await readinessOf(resolver))?.body ?? {}) as { checks?: Record<string, { status: string }> };
    return checks?.['erasures']?.status === 'ok' ? true : undefined;
  });
  const call = { toolCallId: 'call', toolName: 'pay', arguments: { password: 'hunter2' }, labels: { subject } };
  const body = { runId: 'run-1', calls: [call] };
  const requested = await gateway.http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body });
  expect(requested.status).toBe(201);
  const erase = { method: 'POST', path: '/v1/subjects/erase', token: 'ann-token', timeoutMs: 30_000 } as const;
  await expect(gateway.http.send({ ...erase, body: { subject, force: true } })).rejects.toThrow();
  expect(await gateway.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await eventually('the key to be destroyed', 30_000, () => (keysIn(keys, 'erasing') === 0 ? true : undefined));
  expect(keysIn(keys, 'destroyed')).toBeGreaterThan(0);
}, 90_000);
