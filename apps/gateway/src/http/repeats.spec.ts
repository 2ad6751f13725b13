import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fireDue } from '@countersign/commands';
import { grantLimits } from '@countersign/contracts';
import type { ApprovalView, ClaimView, GrantView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import { readable } from '@countersign/event-store/testing';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
let keys = 0;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

const anyCall = { toolName: 'looked-at', match: { any: true }, reason: 'x' };
const readAs = (path: string, body: object, headers: Readonly<Record<string, string>>) =>
  api.send('POST', path, { as: 'me', body, headers });
const newKey = () => ({ 'idempotency-key': `key-${(keys += 1)}` });
const call = (id: string) => ({ toolCallId: id, toolName: 't', arguments: {} });
const textOf = ({ status, body }: Reply<unknown>) => `${status} ${JSON.stringify(body)}`;

describe('a call that another batch names again', () => {
  const step = (batchId: string | undefined) =>
    api.send<{ calls: { toolCallId: string; repeated?: true }[]; code?: string }>('POST', '/v1/tool-calls', {
      body: { runId: 'named-again', ...(batchId !== undefined && { batchId }), calls: [call('get_weather')] },
    });

  it('is refused while it is open, and comes back with `repeated` when it has ended', async () => {
    expect((await step('step-1')).status).toBe(201);
    expect((await step('step-2')).body.code).toBe('tool-call-mismatch');
    await api.send('POST', '/v1/runs/named-again/cancel', { body: { reason: 'x' } });
    const again = await step('step-2');
    expect([again.status, again.body.calls[0]?.repeated]).toEqual([200, true]);
    expect((await step(undefined)).body.calls[0]?.repeated).toBe(true);
    expect((await step('step-1')).body.calls[0]).not.toHaveProperty('repeated');
  });
});

describe('the body of a repeat', () => {
  const text = (amount: string) =>
    `{"runId":"spelt","calls":[{"toolCallId":"a","toolName":"t","arguments":{"n":${amount},"s":"é/"}}]}`;
  const spelt =
    ' { "calls" : [ { "arguments":{"s":"\\u00e9\\/", "n":1e1},\n"toolName":"\\u0074","toolCallId":"a"} ],\t"runId":"spelt" } ';

  it('is the same JSON, however it is written', async () => {
    const headers = newKey();
    const send = (raw: string) => api.send<{ code?: string }>('POST', '/v1/tool-calls', { raw, headers });
    expect((await send(text('10'))).status).toBe(201);
    for (const raw of [spelt, text('10.0'), text('1.0E+1')]) {
      const again = await send(raw);
      expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
    }
    expect((await send(text('11'))).body.code).toBe('idempotency-key-reused');
  });

  it('is the same with null in an optional member as without the member, and another one with a value', async () => {
    const call = { toolCallId: 'a', toolName: 't', arguments: { note: null } };
    const headers = newKey();
    const send = (more: object, ofCall: object) =>
      api.send('POST', '/v1/tool-calls', {
        body: { runId: 'nulls', ...more, calls: [{ ...call, ...ofCall }] },
        headers,
      });
    const nulls = [
      { agentId: null, batchMode: null },
      { reason: null, labels: null, hints: { title: null } },
    ] as const;
    expect((await send(nulls[0], { hints: {} })).status).toBe(201);
    expect((await send({}, nulls[1])).headers.get('idempotent-replayed')).toBe('true');
    for (const other of [
      await send({}, { hints: {}, reason: 'r' }),
      await send({}, { hints: {}, arguments: {} }),
      await send({}, {}),
    ])
      expect(other.body).toMatchObject({ code: 'idempotency-key-reused' });
    expect((await send({}, { labels: { team: null } })).status).toBe(400);
  });

  it('may be absent, or empty', async () => {
    const { callId } = await api.request({ toolName: 'lookup' });
    const sent = { headers: newKey() };
    const path = `/v1/tool-calls/${callId}/approvals`;
    expect((await api.send('POST', path, sent)).status).toBe(201);
    const again = await api.send('POST', path, { ...sent, body: {} });
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([201, 'true']);
  });
});

describe('a repeat with the same idempotency key', () => {
  it('of a request records nothing and tells of now', async () => {
    const sent = { body: { runId: 'repeated', calls: [call('a')] }, headers: newKey() };
    expect((await api.send('POST', '/v1/tool-calls', sent)).status).toBe(201);
    await api.send('POST', '/v1/runs/repeated/cancel', { body: { reason: 'x' } });
    const head = await world.store.head();
    const again = await api.send('POST', '/v1/tool-calls', sent);
    expect(again).toMatchObject({ status: 201, body: { calls: [{ toolCallId: 'a', state: 'cancelled' }] } });
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(await world.store.head()).toBe(head);
  });

  it('of a vote is that vote, and without the key it is a refusal', async () => {
    const { approvalId } = await api.pending();
    const path = `/v1/approvals/${approvalId}/responses`;
    const sent = { as: 'ann', body: { decision: { type: 'approve' } }, headers: newKey() };
    const first = await api.send<ApprovalView>('POST', path, sent);
    expect(textOf(await api.send('POST', path, sent))).toBe(textOf(first));
    expect(await api.send('POST', path, { ...sent, headers: {} })).toMatchObject({
      status: 409,
      body: { code: 'already-resolved' },
    });
  });

  it('of a refused claim is judged again', async () => {
    const { approvalId, callId } = await api.pending();
    const sent = { as: 'worker', body: { resolverId: 'w' }, headers: newKey() };
    const path = `/v1/tool-calls/${callId}/claim`;
    expect(await api.send('POST', path, sent)).toMatchObject({ status: 409, body: { code: 'not-approved' } });
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'ann',
      body: { decision: { type: 'approve' } },
    });
    expect(await api.send('POST', path, sent)).toMatchObject({ status: 200, body: { attempt: 1 } });
  });

  it('of a claim or a renewal that another worker has followed is refused', async () => {
    const { callId } = await api.request({ idempotent: true });
    const path = `/v1/tool-calls/${callId}/claim`;
    const claim = { as: 'worker', body: { resolverId: 'w', leaseMs: 60 }, headers: newKey() };
    expect(await api.send('POST', path, claim)).toMatchObject({ status: 200, body: { attempt: 1 } });
    const renewal = { as: 'worker', body: { attempt: 1, leaseMs: 1 }, headers: newKey() };
    expect((await api.send('POST', `${path}/renew`, renewal)).status).toBe(200);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await fireDue(world.commands, 'default', callId);
    // Nobody has the next claim yet: the call has no result, and can be claimed again.
    expect(await api.send('POST', path, claim)).toMatchObject({ status: 409, body: { code: 'already-claimed' } });
    const next = { as: 'worker', body: { resolverId: 'w2' }, headers: newKey() };
    expect(await api.send('POST', path, next)).toMatchObject({ status: 200, body: { attempt: 2 } });
    expect(await api.send('POST', path, claim)).toMatchObject({ status: 409, body: { code: 'already-claimed' } });
    expect(await api.send('POST', `${path}/renew`, renewal)).toMatchObject({
      status: 409,
      body: { code: 'stale-claim' },
    });
  });

  it('of a grant is that grant, also when no more can be given', async () => {
    const body = { toolName: 't', match: { any: true }, expiresInMs: 60_000, reason: 'x' };
    const sent = { as: 'ann', body, headers: newKey() };
    const first = await api.send<GrantView>('POST', '/v1/grants', sent);
    expect(first.status).toBe(201);
    for (let n = 1; n < grantLimits.liveOfToolMax; n += 1) await api.send('POST', '/v1/grants', { as: 'ann', body });
    expect((await api.send('POST', '/v1/grants', { as: 'ann', body })).status).toBe(429);
    expect(textOf(await api.send('POST', '/v1/grants', sent))).toBe(textOf(first));
  });

  it('of a dry run is another look; with another body it is refused', async () => {
    const { approvalId } = await api.pending();
    const look = (reason: string) => ({
      ...{ as: 'ann', headers: { 'idempotency-key': 'look' } },
      body: { approvalIds: [approvalId], decision: { type: 'approve' }, reason, dryRun: true },
    });
    for (const replayed of [null, 'true']) {
      const answer = await api.send('POST', '/v1/approvals/responses', look('one'));
      expect(answer).toMatchObject({ status: 200, body: { results: [{ status: 'possible' }] } });
      expect(answer.headers.get('idempotent-replayed')).toBe(replayed);
    }
    const other = await api.send('POST', '/v1/approvals/responses', look('two'));
    expect(other).toMatchObject({ status: 409, body: { code: 'idempotency-key-reused' } });
  });

  it.each([
    ['/v1/policy/explain', { toolName: 'a' }, { toolName: 'b' }],
    ['/v1/policy/backtest', { content: { version: 1 } }, { content: { version: 1, rules: [] } }],
    ['/v1/grants/preview', { ...anyCall, expiresInMs: 60_000 }, { ...anyCall, expiresInMs: 60_001 }],
    ['/v1/grants?dryRun=true', { ...anyCall, expiresInMs: 60_000 }, { ...anyCall, expiresInMs: 60_001 }],
  ] as const)(
    'of what only reads has the first answer again, and another body is refused: %s',
    async (path, body, other) => {
      const headers = newKey();
      const [first, second] = [await readAs(path, body, headers), await readAs(path, body, headers)];
      expect([first.status, first.headers.get('idempotent-replayed')]).toEqual([200, null]);
      expect([second.status, second.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
      expect(textOf(second)).toBe(textOf(first));
      expect(await readAs(path, other, headers)).toMatchObject({
        status: 409,
        body: { code: 'idempotency-key-reused' },
      });
      const long = await readAs(path, body, { 'idempotency-key': 'k'.repeat(256) });
      expect(long).toMatchObject({ status: 400, body: { errors: [{ path: 'Idempotency-Key' }] } });
    },
  );

  it('of a claim is the same claim, also after an attempt by another worker', async () => {
    const { callId } = await api.request();
    const sent = { as: 'worker', body: { resolverId: 'w' }, headers: newKey() };
    const path = `/v1/tool-calls/${callId}/claim`;
    const all = await Promise.all([sent, sent, sent].map((one) => api.send<ClaimView>('POST', path, one)));
    expect(new Set(all.map(textOf)).size).toBe(1);
    expect(all[0]).toMatchObject({ status: 200, body: { attempt: 1 } });
  });

  it('is healed by the log when the process died before the answer was kept', async () => {
    const forgetful = await openWorld({
      change: (ports) => ({ ...ports, idempotency: { ...ports.idempotency, save: () => undefined } }),
    });
    const other = createApi(forgetful);
    const { callId } = await other.request();
    const sent = { as: 'worker', body: { resolverId: 'w' }, headers: newKey() };
    const path = `/v1/tool-calls/${callId}/claim`;
    const first = await other.send('POST', path, sent);
    const head = await forgetful.store.head();
    // The same key is the same command, so the repeat is not turned away by its own claim.
    expect(textOf(await other.send('POST', path, sent))).toBe(textOf(first));
    expect(await forgetful.store.head()).toBe(head);
    expect((await other.send('POST', path, { ...sent, headers: newKey() })).status).toBe(409);
    await forgetful.close();
  });

  it('on another path or of another principal is another request', async () => {
    const headers = newKey();
    const [one, two] = [await api.request(), await api.request()];
    for (const { callId } of [one, two]) {
      const sent = { body: { reason: 'x' }, headers };
      expect(await api.send('POST', `/v1/tool-calls/${callId}/cancel`, sent)).toMatchObject({
        status: 200,
        body: { callId },
      });
    }
    const body = { runId: 'of-two', calls: [call('a')] };
    expect((await api.send('POST', '/v1/tool-calls', { body, headers })).status).toBe(201);
    expect((await api.send('POST', '/v1/tool-calls', { as: 'agent2', body, headers })).body).not.toMatchObject({
      code: 'idempotency-key-reused',
    });
  });
});

describe('a cancelled run', () => {
  const runsCancelled = async (runId: string) =>
    readable(await world.store.readAll(0, 10_000)).filter(
      ({ type, metadata }) => type === 'RunCancelled' && metadata.runId === runId,
    );
  const request = async (runId: string, id: string) => {
    const { body } = await api.send<{ calls: { callId: string }[] }>('POST', '/v1/tool-calls', {
      body: { runId, calls: [call(id)] },
    });
    return body.calls[0]?.callId;
  };

  it('is recorded once with the calls that were open, also when the request is repeated', async () => {
    const callId = await request('called-off', 'a');
    const sent = { body: { reason: 'the user left' }, headers: newKey() };
    const first = await api.send('POST', '/v1/runs/called-off/cancel', sent);
    const later = await request('called-off', 'b');
    const again = await api.send('POST', '/v1/runs/called-off/cancel', sent);
    expect(textOf(again)).toBe(textOf(first));
    expect(first.body).toEqual({ runId: 'called-off', cancelled: [callId], notCancelled: [] });
    const recorded = await runsCancelled('called-off');
    expect(recorded.map(({ data }) => data)).toMatchObject([{ callIds: [callId], reason: 'the user left' }]);
    expect(Number(first.headers.get('countersign-position'))).toBeGreaterThanOrEqual(recorded[0]?.position ?? Infinity);
    expect((await api.send('GET', `/v1/tool-calls/${later}`)).body).toMatchObject({ state: 'allowed' });
  });

  it('without open calls is recorded with none, and gets an empty answer', async () => {
    await request('ended', 'a');
    const cancel = () => api.send('POST', '/v1/runs/ended/cancel', { body: { reason: 'x' } });
    await cancel();
    expect((await cancel()).body).toEqual({ runId: 'ended', cancelled: [], notCancelled: [] });
    expect((await runsCancelled('ended')).map(({ data }) => data)).toMatchObject([{}, { callIds: [] }]);
  });

  it('that does not exist is refused, and nothing is recorded', async () => {
    expect((await api.send('POST', '/v1/runs/never/cancel', { body: { reason: 'x' } })).status).toBe(404);
    expect(await runsCancelled('never')).toEqual([]);
  });
});
