import { describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import { eventually, within } from '../harness/wait.js';
import { openStoreServer, readinessOf, startRole, storeUrl, untilWaitingFor, writeTokens } from './roles.js';

cleanUpAfterEach();

const body = { runId: 'run-1', calls: [{ toolCallId: 'c', toolName: 't', arguments: {}, needsApproval: true }] };

describe('a gateway and its event store', () => {
  test('a store that goes away makes it unready by name, and ready again when it is back; nothing is lost', async () => {
    const [port, folder] = [await freePort(), temporaryFolder()];
    const store = await openStoreServer(port, folder);
    const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens() };
    const gateway = await startRole('gateway', env);
    await gateway.ready();
    const request = { method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body } as const;
    const first = await gateway.http.send(request);
    expect(first.status).toBe(201);
    await store.stop();
    await untilWaitingFor(gateway, 'event-store', /unavailable/);
    const away = await gateway.http.send({ ...request, timeoutMs: 30_000 });
    expect(away).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    await openStoreServer(port, folder);
    await eventually('the gateway to be ready', async () =>
      (await readinessOf(gateway))?.status === 200 ? true : undefined,
    );
    expect(await gateway.http.send(request)).toMatchObject({ status: 200, body: first.body });
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  }, 240_000);

  test('SIGTERM: what is in flight is answered, what comes later is not taken, and the exit code is 0', async () => {
    const store = await openStoreServer();
    const env = { COUNTERSIGN_EVENTSTORE_URL: store.url, COUNTERSIGN_TOKENS_FILE: writeTokens() };
    const gateway = await startRole('gateway', env);
    await gateway.ready();
    // If its reads took a second, the gateway would refuse: it could not know of a stop in time.
    await store.setFaults({ latencyMs: 250 });
    const inFlight = gateway.http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body });
    await eventually('the append to be on its way', async () =>
      (await store.calls()).some((call) => /append/i.test(call)) ? true : undefined,
    );
    const stopped = gateway.stop();
    expect(await inFlight).toMatchObject({ status: 201 });
    expect(await stopped).toEqual({ code: 0, signal: null });
    expect(await readinessOf(gateway)).toBeUndefined();
  });

  test('a store that never answers again ends the process so that a new one starts', async () => {
    const store = await openStoreServer();
    const env = { COUNTERSIGN_EVENTSTORE_URL: store.url, COUNTERSIGN_TOKENS_FILE: writeTokens() };
    const gateway = await startRole('gateway', env);
    await gateway.ready();
    await store.setFaults({ append: 'hang', read: 'hang', features: 'hang', subscriptions: 'silent' });
    const exit = await within(150_000, gateway.exited);
    expect(exit).toEqual({ code: 1, signal: null });
    expect(gateway.output()).toMatch(/to be started again: \S+ answers others, and not this process/);
  }, 300_000);
});

describe('projectors side by side, with Kafka away', () => {
  test('record each deadline once', async () => {
    const { port } = await openStoreServer();
    const kafka = { COUNTERSIGN_KAFKA_BROKERS: `127.0.0.1:${String(await freePort())}` };
    const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens() };
    const gateway = await startRole('gateway', env);
    const projectors = await Promise.all([
      startRole('projector', { ...env, ...kafka }),
      startRole('projector', { ...env, ...kafka }),
    ]);
    await gateway.ready();
    for (const projector of projectors)
      await untilWaitingFor(projector, 'kafka', /cannot be asked|ECONNREFUSED|connect/i);
    const calls = Array.from({ length: 20 }, (_, index) => ({
      ...{ toolCallId: `c${String(index)}`, toolName: 't', arguments: {}, needsApproval: true, expiresInMs: 1000 },
    }));
    const requested = await gateway.http.send({
      ...{ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body: { runId: 'run-1', calls } },
    });
    expect(requested.status).toBe(201);
    const log = await eventually('every approval to expire', async () => {
      const { text } = await gateway.http.send({ method: 'GET', path: '/v1/audit/events', token: 'ann-token' });
      return text.split('ApprovalExpired').length > 20 ? text : undefined;
    });
    const expired = log.split('\n').filter((line) => line.includes('"type":"ApprovalExpired"'));
    expect(expired.length).toBe(20);
    for (const projector of projectors) expect(await projector.stop()).toEqual({ code: 0, signal: null });
  }, 240_000);
});
