import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import type { SystemEventData } from '@countersign/contracts';
import { describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import type { HttpAnswer } from '../harness/http.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import {
  openPair,
  openStoreServer,
  readAfter,
  startRole,
  storeUrl,
  tokenEntries,
  untilWaitingFor,
  writeTokens,
} from './roles.js';

cleanUpAfterEach();

function request(gateway: Server, toolCallId: string, more: object = {}, idempotencyKey?: string): Promise<HttpAnswer> {
  const call = { toolCallId, toolName: 'delete_file', arguments: { path: '/etc/hosts' }, needsApproval: true, ...more };
  const keyed = idempotencyKey === undefined ? {} : { idempotencyKey };
  return gateway.http.send({
    method: 'POST',
    path: '/v1/tool-calls',
    token: 'agent-token',
    body: { runId: 'run-1', calls: [call] },
    ...keyed,
  });
}

type Changed = SystemEventData<'ConfigurationChanged'>;

interface CallView {
  readonly callId: string;
  readonly state: string;
  readonly approval: { readonly approvalId: string } | null;
}

function callOf(answer: HttpAnswer): CallView {
  const [call] = (answer.body as { calls: CallView[] }).calls;
  if (call === undefined) throw new Error(`no call in ${answer.text}`);
  return call;
}

describe('gateways over one event store', () => {
  test('are ready with a warning while their user may delete streams', async () => {
    const { a } = await openPair();
    const note = await eventually('the warning', async () => {
      const { status, body } = await a.http.send({ method: 'GET', path: '/readyz' });
      expect(status).toBe(200);
      return (body as { checks: Record<string, { note?: string }> }).checks['event-store-rights']?.note;
    });
    expect(note).toContain('countersign store secure');
  });

  test('one reads on any of them what was written on another, at once', async () => {
    const { a, b } = await openPair();
    for (let round = 0; round < 20; round += 1) {
      const written = await request(a, `call-${String(round)}`);
      expect(written.status).toBe(201);
      const { callId, approval } = callOf(written);
      const seen = await readAfter(b, `/v1/tool-calls/${callId}`, written);
      expect(seen).toMatchObject({ status: 200, body: { callId, state: 'awaiting_approval' } });
      const path = `/v1/approvals/${String(approval?.approvalId)}/responses`;
      const approved = await b.http.send({
        method: 'POST',
        path,
        token: 'ann-token',
        body: { decision: { type: 'approve' } },
      });
      expect(approved).toMatchObject({ status: 200, body: { state: 'approved' } });
      const after = await readAfter(a, `/v1/tool-calls/${callId}`, approved);
      expect(after).toMatchObject({ status: 200, body: { state: 'approved' } });
    }
  });

  test('a position that the log has not given out is answered 409', async () => {
    const { a } = await openPair();
    const written = await request(a, 'call-1');
    const beyond = { ...written, headers: { 'countersign-position': String(Number.MAX_SAFE_INTEGER) } };
    const answer = await readAfter(a, `/v1/tool-calls/${callOf(written).callId}`, beyond);
    expect(answer).toMatchObject({ status: 409, body: { code: 'future-position' } });
  });

  test('a repeat that reaches the other one is recognised by the log, and answered with the same call', async () => {
    const { a, b } = await openPair();
    const first = await request(a, 'call-1', {}, 'key-1');
    const again = await request(b, 'call-1', {}, 'key-1');
    expect(first.status).toBe(201);
    // The gateway that sent the first response keeps its wording; the other one builds its response from the log.
    expect(again.status).toBe(200);
    expect(callOf(again)).toEqual(callOf(first));
    const { callId, approval } = callOf(first);
    const path = `/v1/approvals/${String(approval?.approvalId)}/responses`;
    const answer = { method: 'POST', path, token: 'ann-token', body: { decision: { type: 'approve' } } } as const;
    const approved = await b.http.send({ ...answer, idempotencyKey: 'key-2' });
    const repeated = await a.http.send({ ...answer, idempotencyKey: 'key-2' });
    expect(approved.status).toBe(200);
    expect([repeated.status, repeated.body]).toEqual([200, approved.body]);
    const claim = { method: 'POST', path: `/v1/tool-calls/${callId}/claim`, token: 'worker-token' } as const;
    const claims = { ...claim, body: { resolverId: 'w1' }, idempotencyKey: 'key-3' };
    const claimed = await a.http.send(claims);
    const claimedAgain = await b.http.send(claims);
    expect(claimed.status).toBe(200);
    expect([claimedAgain.status, claimedAgain.body]).toEqual([200, claimed.body]);
    expect((await b.http.send({ ...claims, idempotencyKey: 'key-4' })).status).toBe(409);
  });

  test('an event stream goes on at another gateway where it broke off at the first', async () => {
    const { a, b } = await openPair();
    const first = await request(a, 'call-1');
    const second = await request(b, 'call-2');
    const position = String(first.headers['countersign-position']);
    const after = await eventually('the second call alone', async () => {
      const answer = await b.http.send({
        method: 'GET',
        path: `/v1/audit/events?after=${position}`,
        token: 'ann-token',
      });
      return answer.text === '' ? undefined : answer.text;
    });
    expect(after).toContain(callOf(second).callId);
    expect(after).not.toContain(callOf(first).callId);
  });
});

describe('a person who is removed from the tokens file of the gateways', () => {
  test('has no standing grant that covers a call, on any of them', async () => {
    const { port } = await openStoreServer();
    const file = writeTokens();
    const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: file };
    const gateways = await Promise.all([startRole('gateway', env), startRole('gateway', env)]);
    await Promise.all(gateways.map((one) => one.ready()));
    const [a, b] = gateways;
    const body = { toolName: 'delete_file', match: { any: true }, expiresInMs: 3_600_000, reason: 'a test' };
    const granted = await a.http.send({ method: 'POST', path: '/v1/grants', token: 'me-token', body });
    expect(granted.status).toBe(201);
    await eventually('the grant to cover a call on the other gateway', async () =>
      callOf(await request(b, `before-${randomUUID()}`)).state === 'allowed' ? true : undefined,
    );
    writeFileSync(file, JSON.stringify(tokenEntries.filter(({ principal }) => principal !== 'me')));
    for (const one of gateways) {
      await eventually('the changed tokens', async () => {
        const { status } = await one.http.send({ method: 'GET', path: '/v1/approvals', token: 'me-token' });
        return status === 401 ? true : undefined;
      });
      expect(callOf(await request(one, `after-${randomUUID()}`)).state).toBe('awaiting_approval');
    }
    // Each process records the rights that it began with, and their end.
    const changes = await eventually('the record of both gateways', async () => {
      const { text } = await a.http.send({ method: 'GET', path: '/v1/audit/events', token: 'ann-token' });
      const events = text.split('\n').filter((line) => line.includes('"configures":"tokens"'));
      return events.length < 4 ? undefined : events.map((line) => (JSON.parse(line) as { data: Changed }).data);
    });
    const named = (list: Changed['added']) => list.map(({ principal }) => principal);
    expect(new Set(changes.map(({ processId }) => processId)).size).toBe(2);
    expect(changes.filter(({ added }) => named(added).includes('me'))).toHaveLength(2);
    expect(changes.filter(({ removed }) => named(removed).includes('me'))).toHaveLength(2);
  });
});

describe('a gateway whose event store is not there', () => {
  test('waits and says so, answers 503, and serves as soon as the store does', async () => {
    const port = await freePort();
    const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens() };
    const gateway = await startRole('gateway', env);
    await untilWaitingFor(gateway, 'event-store', /ECONNREFUSED|No connection|could not be read/);
    expect(await request(gateway, 'early')).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect((await gateway.http.send({ method: 'GET', path: '/healthz' })).status).toBe(200);
    await openStoreServer(port);
    await gateway.ready();
    expect((await request(gateway, 'call-1')).status).toBe(201);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  });

  test('that stops before it was ready ends with 0', async () => {
    const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(await freePort()), COUNTERSIGN_TOKENS_FILE: writeTokens() };
    const gateway = await startRole('gateway', env);
    await untilWaitingFor(gateway, 'event-store', /./);
    expect(await gateway.stop()).toEqual({ code: 0, signal: null });
  });
});
