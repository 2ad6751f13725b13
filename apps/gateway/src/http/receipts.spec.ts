import { createHash, createPublicKey, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createWriteSide, findCall, fireDue, forgetStreams, receiptOf } from '@countersign/commands';
import type { ApprovalView, ClaimView, JsonObject, LogEvent, ReceiptClaims, StopEffect } from '@countersign/contracts';
import { canonicalJson, isReadable } from '@countersign/contracts';
import { createReceiptKeys, createReceipts } from '@countersign/shell';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const issuer = 'https://approvals.example.com';
const seed = (byte: number): Uint8Array => new Uint8Array(32).fill(byte);
let keys = createReceiptKeys([seed(1)]);
const receipts = createReceipts({ keys: () => keys, issuer: () => issuer, names: false });
const withNames = createReceipts({ keys: () => keys, issuer: () => issuer, names: true });

/** True: the store has lost the keys of all encrypted values. */
let isErased = false;
function shown(event: LogEvent): LogEvent {
  if (!isErased || !isReadable(event) || event.type !== 'ToolCallRequested') return event;
  return { ...event, data: { ...event.data, arguments: { to: '[erased]' }, salt: null } };
}

let world: World;
let named: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({
    over: (store) => ({ ...store, readStream: async (...part) => (await store.readStream(...part)).map(shown) }),
    change: (ports) => ({ ...ports, receipts }),
  });
  named = await openWorld({ change: (ports) => ({ ...ports, receipts: withNames }) });
  api = createApi(world);
});
afterAll(() => Promise.all([world.close(), named.close()]));

interface Requested {
  readonly calls: readonly { readonly callId: string; readonly approval: ApprovalView | null }[];
}

let runs = 0;
async function request(call: JsonObject = {}, of: Api = api, runId = `receipts-${String((runs += 1))}`) {
  const body = {
    runId,
    calls: [{ toolCallId: `c${String((runs += 1))}`, toolName: 'pay', arguments: { to: 'bob', amount: 5 }, ...call }],
  };
  const { body: answer } = await of.send<Requested>('POST', '/v1/tool-calls', { as: 'agent', body });
  const [requested] = answer.calls;
  if (requested === undefined) throw new Error('no call was requested');
  return requested;
}

async function claim(
  callId: string,
  more: { readonly key?: string; readonly of?: Api; readonly leaseMs?: number } = {},
) {
  const { key, of = api, leaseMs } = more;
  const answer = await of.send<ClaimView>('POST', `/v1/tool-calls/${callId}/claim`, {
    as: 'worker',
    body: { resolverId: 'w', ...(leaseMs !== undefined && { leaseMs }) },
    ...(key !== undefined && { headers: { 'idempotency-key': key } }),
  });
  return answer.body;
}

function claimsOf(receipt = ''): ReceiptClaims {
  const [header = '', payload = '', signature = ''] = receipt.split('.');
  const { kid } = JSON.parse(Buffer.from(header, 'base64url').toString()) as { readonly kid: string };
  const claims = JSON.parse(Buffer.from(payload, 'base64url').toString()) as ReceiptClaims;
  const jwk = receipts.jwksOf(claims.tenant).find((one) => one.kid === kid);
  if (jwk === undefined) throw new Error(`no key ${kid}`);
  const key = createPublicKey({ key: { ...jwk }, format: 'jwk' });
  expect(verify(null, Buffer.from(`${header}.${payload}`), key, Buffer.from(signature, 'base64url'))).toBe(true);
  return claims;
}

/** The receipt as another gateway has it, or this one after a restart: it knows the log and the key alone. */
async function receiptElsewhere(callId: string): Promise<string | undefined> {
  const { store, commands } = world;
  const { tools, ids, log } = commands;
  const call = await findCall(createWriteSide({ store, tools, ids, log }), 'default', callId);
  if (call?.execution.status !== 'claimed') return undefined;
  const own = createReceipts({ keys: () => createReceiptKeys([seed(1)]), issuer: () => issuer, names: false });
  const found = receiptOf({ ...call, execution: call.execution });
  return found && own.sign(found);
}

const hashOf = (claims: ReceiptClaims, args: JsonObject): string =>
  `sha256:${createHash('sha256')
    .update(canonicalJson({ nonce: claims.nonce, arguments: args }))
    .digest('hex')}`;

describe('the receipt of a claim', () => {
  it('has exactly the claims of its contract, over the arguments that run', async () => {
    const { callId } = await request({ needsApproval: false });
    const { receipt, leaseUntil, actionDigest, digestInput } = await claim(callId);
    const claims = claimsOf(receipt);
    expect(claims).toEqual({
      ...{ iss: issuer, aud: 'pay', sub: callId, attempt: 1, agentId: 'agent', tenant: 'default', actionDigest },
      ...{ runId: digestInput.runId, proposalDigest: null, argumentsHash: hashOf(claims, { amount: 5, to: 'bob' }) },
      ...{ nonce: expect.stringMatching(/^[0-9a-f]{32}$/), approvals: { count: 0, assurance: null } },
      ...{ policyVersion: expect.any(String), seq: { n: 1, of: 1 }, iat: expect.any(Number), jti: `${callId}.1` },
      exp: Math.floor(Date.parse(leaseUntil) / 1000),
    });
    expect(receipt).not.toContain(digestInput.salt);
    expect(claims.nonce).not.toBe(digestInput.salt);
    expect(JSON.parse(Buffer.from(receipt?.split('.')[0] ?? '', 'base64url').toString())).toEqual({
      alg: 'EdDSA',
      kid: receipts.jwksOf('default')[0]?.kid,
      typ: 'countersign-receipt+jwt',
    });
  });

  it('is over the arguments that an approver put in place, and counts who agreed to them', async () => {
    const { callId, approval } = await request({ needsApproval: true });
    const body = { decision: { type: 'edit', arguments: { to: 'bob', amount: 1 } } };
    await api.send('POST', `/v1/approvals/${approval?.approvalId ?? ''}/responses`, { as: 'bob', body });
    const { body: call } = await api.send<{ approval: ApprovalView }>('GET', `/v1/tool-calls/${callId}`, { as: 'bob' });
    const claims = claimsOf((await claim(callId)).receipt);
    expect(claims.argumentsHash).toBe(hashOf(claims, { to: 'bob', amount: 1 }));
    expect(claims).toMatchObject({
      proposalDigest: call.approval.proposal.digest,
      approvals: { count: 1, assurance: 'medium' },
    });
    expect(claims).not.toHaveProperty('approvers');
  });

  it('counts nobody for a call that a grant covers: its person agreed to a kind of call, and to no proposal', async () => {
    const terms = { toolName: 'granted', match: { any: true }, expiresInMs: 60_000, reason: 'for the test' };
    expect((await api.send('POST', '/v1/grants', { as: 'ann', body: terms })).status).toBe(201);
    const { callId, approval } = await request({ toolName: 'granted', needsApproval: true });
    expect(approval).toBeNull();
    const claims = claimsOf((await claim(callId)).receipt);
    expect(claims).toMatchObject({ aud: 'granted', proposalDigest: null, approvals: { count: 0, assurance: null } });
  });

  it('names who agreed where the operator wants it', async () => {
    const of = createApi(named);
    const { callId, approval } = await request({ needsApproval: true }, of);
    const body = { decision: { type: 'approve' } };
    await of.send('POST', `/v1/approvals/${approval?.approvalId ?? ''}/responses`, { as: 'ann', body });
    expect(claimsOf((await claim(callId, { of })).receipt).approvers).toEqual(['ann']);
  });

  it('is the same for a repeated claim, from another gateway too; a renewal has a new one with the same jti', async () => {
    const { callId } = await request({ needsApproval: false });
    const first = await claim(callId, { key: 'k1' });
    expect((await claim(callId, { key: 'k1' })).receipt).toBe(first.receipt);
    expect(await receiptElsewhere(callId)).toBe(first.receipt);
    const { body: renewed } = await api.send<ClaimView>('POST', `/v1/tool-calls/${callId}/claim/renew`, {
      as: 'worker',
      body: { attempt: 1, leaseMs: 600_000 },
    });
    const [before, after] = [claimsOf(first.receipt), claimsOf(renewed.receipt)];
    expect(after).toEqual({ ...before, exp: Math.floor(Date.parse(renewed.leaseUntil) / 1000) });
    expect(after.exp).toBeGreaterThan(before.exp);
    expect((await claim(callId, { key: 'k1' })).receipt).toBe(renewed.receipt);
  });

  it('numbers the calls of a run in the order of their requests', async () => {
    const calls = ['a', 'b', 'c'].map((toolCallId) => ({ toolCallId, toolName: 'pay', arguments: {} }));
    const { body } = await api.send<Requested>('POST', '/v1/tool-calls', {
      as: 'agent',
      body: { runId: 'ten', calls },
    });
    const seqOf = async (index: number) => claimsOf((await claim(body.calls[index]?.callId ?? '')).receipt).seq;
    expect(await seqOf(1)).toEqual({ n: 2, of: 3 });
    world.readModel.flush();
    const fourth = await request({ needsApproval: false }, api, 'ten');
    expect(claimsOf((await claim(fourth.callId)).receipt).seq).toEqual({ n: 4, of: 4 });
    expect(await seqOf(2)).toEqual({ n: 3, of: 4 });
  });

  it('is one for each call of a batch, over its own arguments', async () => {
    const runId = `receipts-${String((runs += 1))}`;
    const calls = [5, 6].map((amount) => ({
      ...{ toolCallId: `b${String(amount)}`, toolName: 'pay', arguments: { amount }, needsApproval: false },
    }));
    const { body } = await api.send<Requested>('POST', '/v1/tool-calls', { as: 'agent', body: { runId, calls } });
    const [first, second] = body.calls;
    if (first === undefined || second === undefined) throw new Error('two calls were not requested');
    const one = claimsOf((await claim(first.callId)).receipt);
    const two = claimsOf((await claim(second.callId)).receipt);
    expect(one).toMatchObject({ sub: first.callId, jti: `${first.callId}.1`, seq: { n: 1, of: 2 } });
    expect(two).toMatchObject({ sub: second.callId, jti: `${second.callId}.1`, seq: { n: 2, of: 2 } });
    expect(one.argumentsHash).toBe(hashOf(one, { amount: 5 }));
    expect(two.argumentsHash).toBe(hashOf(two, { amount: 6 }));
    expect(two.nonce).not.toBe(one.nonce);
  });

  it('is another one for a second attempt', async () => {
    const { callId } = await request({ needsApproval: false, idempotent: true });
    const first = await claim(callId, { leaseMs: 1 });
    await new Promise((resolve) => setTimeout(resolve, 5));
    await fireDue(world.commands, 'default', callId);
    const second = await claim(callId);
    const [before, after] = [claimsOf(first.receipt), claimsOf(second.receipt)];
    expect([before.attempt, before.jti, after.attempt, after.jti]).toEqual([1, `${callId}.1`, 2, `${callId}.2`]);
    expect(after.argumentsHash).toBe(hashOf(after, { amount: 5, to: 'bob' }));
    expect(after.seq).toEqual(before.seq);
  });

  it('is absent without a key', async () => {
    const without = await openWorld();
    const of = createApi(without);
    const { callId } = await request({ needsApproval: false }, of);
    expect(await claim(callId, { of })).not.toHaveProperty('receipt');
    expect((await of.send('GET', '/.well-known/jwks.json', { as: null })).body).toEqual({ keys: [] });
    const body = { token: 'a.b.c' };
    expect(await of.send('POST', '/v1/receipts/introspect', { as: 'worker', body })).toMatchObject({
      status: 409,
      body: { code: 'not-supported' },
    });
    await without.close();
  });
});

describe('the key set', () => {
  it('has the keys of one tenant, without a token, and is not sent again while it is the same', async () => {
    const [mine, other] = await Promise.all(
      ['', '?tenant=other'].map((query) => fetch(`${world.url}/.well-known/jwks.json${query}`)),
    );
    const tag = mine?.headers.get('etag') ?? '';
    expect(mine?.headers.get('cache-control')).toBe('public, max-age=300');
    const ours = receipts.jwksOf('default');
    expect(await mine?.json()).toEqual({ keys: ours });
    expect(await other?.json()).toEqual({ keys: receipts.jwksOf('other') });
    expect(receipts.jwksOf('other')[0]?.x).not.toBe(receipts.jwksOf('default')[0]?.x);
    const known = { headers: { 'if-none-match': `"x", W/${tag}` } };
    const again = await fetch(`${world.url}/.well-known/jwks.json`, known);
    expect([again.status, await again.text()]).toEqual([304, '']);
    keys = createReceiptKeys([seed(2), seed(1)]);
    const rotated = await fetch(`${world.url}/.well-known/jwks.json`, known);
    const { keys: both } = (await rotated.json()) as { keys: readonly JsonObject[] };
    expect([rotated.status, both.length, both[1]]).toEqual([200, 2, ours[0]]);
  });
});

describe('an introspection', () => {
  const ask = async (receipt = '', as = 'tool'): Promise<JsonObject> => {
    const response = await fetch(`${world.url}/v1/receipts/introspect`, {
      method: 'POST',
      headers: { authorization: `Bearer ${as}-token`, 'content-type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams({ token: receipt, token_type_hint: 'receipt' }),
    });
    expect(response.status).toBe(200);
    return (await response.json()) as JsonObject;
  };
  const inactive = { active: false };

  it('has the claims while the claim runs, and nothing once its outcome is reported', async () => {
    const { callId } = await request({ needsApproval: false });
    const { receipt = '' } = await claim(callId);
    expect(await ask(receipt)).toEqual({ active: true, ...claimsOf(receipt) });
    expect(await ask(receipt, 'worker')).toMatchObject({ active: true });
    // A token of another tenant learns nothing, and neither does a guess.
    expect(await ask(receipt, 'other')).toEqual(inactive);
    expect(await ask(`${receipt.slice(0, -8)}AAAAAAAA`)).toEqual(inactive);
    // Other texts of the same bytes: padding, and the bits of the last letter that say nothing.
    expect(await ask(`${receipt}==`)).toEqual(inactive);
    const unused = { A: 'B', Q: 'R', g: 'h', w: 'x' }[receipt.slice(-1)] ?? '';
    expect(await ask(receipt.slice(0, -1) + unused)).toEqual(inactive);
    const body = { attempt: 1, status: 'succeeded', output: 1 };
    await api.send('POST', `/v1/tool-calls/${callId}/outcome`, { as: 'worker', body });
    expect(await ask(receipt)).toEqual(inactive);
  });

  it('is inactive while a stop covers the call', async () => {
    const { callId } = await request({ needsApproval: false });
    const { receipt } = await claim(callId);
    const stop = async (toolName: string): Promise<string> => {
      const body = { toolName, reason: 'it pays twice' };
      return (await api.send<StopEffect>('POST', '/v1/stops', { as: 'stopper', body })).body.stop.stopId;
    };
    const [other, own] = await Promise.all([stop('refund'), stop('p*')]);
    expect(await ask(receipt)).toEqual(inactive);
    const lift = (stopId: string) =>
      api.send('POST', `/v1/stops/${stopId}/lift`, { as: 'admin', body: { reason: 'it is mended' } });
    await lift(own);
    expect(await ask(receipt)).toMatchObject({ active: true, sub: callId });
    await lift(other);
  });

  it('is inactive after the lease of the receipt, even while a renewed one is active', async () => {
    const { callId } = await request({ needsApproval: false });
    const { receipt } = await claim(callId, { leaseMs: 1 });
    const renewed = await api.send<ClaimView>('POST', `/v1/tool-calls/${callId}/claim/renew`, {
      as: 'worker',
      body: { attempt: 1, leaseMs: 60_000 },
    });
    expect(await ask(receipt)).toEqual(inactive);
    expect(await ask(renewed.body.receipt)).toMatchObject({ active: true, attempt: 1 });
  });

  it('is inactive once the arguments cannot be read, and no receipt is made over the text in their place', async () => {
    const { callId } = await request({ needsApproval: false });
    const { receipt } = await claim(callId, { key: 'kept' });
    expect(await ask(receipt)).toMatchObject({ active: true });
    isErased = true;
    forgetStreams(world.commands);
    try {
      expect(await ask(receipt)).toEqual(inactive);
      expect(await receiptElsewhere(callId)).toBeUndefined();
      const path = `/v1/tool-calls/${callId}/claim/renew`;
      const renewed = await api.send('POST', path, { as: 'worker', body: { attempt: 1 } });
      expect(renewed).toMatchObject({ status: 200, body: { attempt: 1 } });
      expect(renewed.body).not.toHaveProperty('receipt');
    } finally {
      isErased = false;
      forgetStreams(world.commands);
    }
  });

  it('is for tools and resolvers alone, and a tool may do nothing else', async () => {
    const asTool = { authorization: 'Bearer tool-token' };
    for (const path of ['/v1/me', '/v1/tool-calls', '/v1/runs', '/v1/events', '/v1/approvals', '/v1/policy'])
      expect((await fetch(world.url + path, { headers: asTool })).status).toBe(403);
    const body = { token: 'x' };
    for (const as of ['agent', 'ann', 'auditor', 'admin', 'nobody'])
      expect((await api.send('POST', '/v1/receipts/introspect', { as, body })).status).toBe(403);
  });

  it('takes a form there alone, with each field once', async () => {
    const headers = { authorization: 'Bearer worker-token', 'content-type': 'application/x-www-form-urlencoded' };
    const post = async (path: string, body: string) =>
      (await fetch(world.url + path, { method: 'POST', headers, body })).status;
    expect(await post('/v1/receipts/introspect', 'token=a&token=b')).toBe(400);
    expect(await post('/v1/receipts/introspect', 'token=a&more=b')).toBe(400);
    expect(await post('/v1/tool-calls/tc_3q5kq2m7w4z6x8r9t1v2b3n4aa/claim', 'resolverId=w')).toBe(415);
  });
});
