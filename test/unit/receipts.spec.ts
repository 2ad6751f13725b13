// A worker that cheats, against real servers of tools that check receipts: over HTTP with express and fastify, and over MCP.
import { createHmac, generateKeyPairSync, sign } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { ClaimView, JsonObject } from '@countersign/contracts';
import { guardToolCalls, receiptHook, requireReceipt } from '@countersign/receipt';
import type { GuardOptions } from '@countersign/receipt';
import { openCountersign } from '@countersign/standalone';
import express from 'express';
import { fastify } from 'fastify';

const data = mkdtempSync(join(tmpdir(), 'countersign-receipts-'));
const tokens = join(data, 'tokens.json');
const toolsFile = join(data, 'tools.yaml');
const everything = ['agent', 'approver', 'resolver', 'auditor', 'admin'];
const runs: string[] = [];
const stops: (() => unknown)[] = [];
let url = '';
let expressUrl = '';
let fastifyUrl = '';
let mcp: Client;

const trust = (): GuardOptions => ({ issuer: url, jwksUrl: `${url}/.well-known/jwks.json` });
const live = (): GuardOptions => ({
  ...trust(),
  introspection: { url: `${url}/v1/receipts/introspect`, token: 'tool' },
});

beforeAll(async () => {
  writeFileSync(
    tokens,
    JSON.stringify([
      { token: 'all', principal: 'me', roles: everything, agentIds: ['*'] },
      { token: 'other', principal: 'me', roles: everything, agentIds: ['*'], tenant: 'other' },
      { token: 'tool', principal: 'billing', roles: ['tool'] },
    ]),
  );
  // The trust in Countersign is known once it listens, so the servers ask for it late.
  const app = express();
  app.use(express.json());
  const lazy = <T extends object>(make: () => T): (() => T) => {
    let made: T | undefined;
    return () => (made ??= make());
  };
  const guarded = lazy(() => requireReceipt({ ...trust(), toolName: 'refund' }));
  const refund: express.RequestHandler = (request, response) => {
    runs.push(JSON.stringify((request.body as JsonObject)['arguments']));
    response.status(201).json({ refunded: runs.length });
  };
  app.post('/refund', (...given) => guarded()(...given), refund);
  const listening = app.listen(0, '127.0.0.1');
  await once(listening, 'listening');
  stops.push(() => listening.close());
  expressUrl = `http://127.0.0.1:${String((listening.address() as AddressInfo).port)}`;
  const other = fastify();
  const hook = lazy(() => receiptHook({ ...trust(), toolName: 'refund' }));
  other.post('/refund', { preHandler: (request, reply) => hook()(request, reply) }, (request) => {
    runs.push(JSON.stringify((request.body as JsonObject)['arguments']));
    return { refunded: runs.length };
  });
  fastifyUrl = await other.listen({ port: 0, host: '127.0.0.1' });
  stops.push(() => other.close());
  writeFileSync(
    toolsFile,
    `tools: [{ name: refund, needsApproval: false, http: { url: "${expressUrl}/refund", allowPrivateNetwork: true } }]\n`,
  );
  const countersign = await openCountersign({
    COUNTERSIGN_DATA: join(data, 'data'),
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_TOKENS_FILE: tokens,
    COUNTERSIGN_TOKEN: 'all',
    COUNTERSIGN_RESOLVER_TOKEN: 'all',
    COUNTERSIGN_TOOLS: toolsFile,
    COUNTERSIGN_LOG_LEVEL: 'silent',
  });
  ({ url } = countersign);
  stops.push(countersign.close);
  mcp = await openMcp();
});
afterAll(async () => {
  for (const stop of stops.reverse()) await stop();
  rmSync(data, { recursive: true });
});

async function openMcp(): Promise<Client> {
  const server = new McpServer({ name: 'billing', version: '1' }, { capabilities: { tools: {} } });
  const handler = guardToolCalls(trust(), ({ params }: { params: { name: string; arguments?: JsonObject } }) => {
    runs.push(JSON.stringify(params.arguments));
    return { content: [{ type: 'text' as const, text: 'done' }] };
  });
  server.server.setRequestHandler(CallToolRequestSchema, (request) => handler(request as never));
  const client = new Client({ name: 'worker', version: '1' });
  const [one, two] = InMemoryTransport.createLinkedPair();
  await Promise.all([server.connect(one), client.connect(two)]);
  stops.push(() => client.close());
  return client;
}

async function post<T = JsonObject>(path: string, body: JsonObject, token = 'all'): Promise<T> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const response = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  return (await response.json()) as T;
}

const args = { amount: 5, to: 'bob' };
let calls = 0;

interface Claiming {
  readonly token?: string;
  readonly leaseMs?: number;
  readonly given?: JsonObject;
}

/** A call of a tool that workers execute, claimed. */
async function claim({ token = 'all', leaseMs = 60_000, given = args }: Claiming = {}) {
  const toolCallId = `c${String((calls += 1))}`;
  const request = { runId: `run-${toolCallId}`, calls: [{ toolCallId, toolName: 'pay', arguments: given }] };
  const { calls: all } = await post<{ calls: readonly { callId: string }[] }>('/v1/tool-calls', request, token);
  const callId = all[0]?.callId ?? '';
  const claimed = await post<ClaimView>(`/v1/tool-calls/${callId}/claim`, { resolverId: 'w', leaseMs }, token);
  return { ...claimed, callId, receipt: claimed.receipt ?? '' };
}

interface Sent {
  readonly receipt?: string | undefined;
  readonly body?: string;
  readonly key?: string;
  readonly at?: string;
}

async function send(
  { receipt, body = JSON.stringify({ arguments: args }), key, at = '/refund' }: Sent,
  server = expressUrl,
) {
  const headers = {
    'content-type': 'application/json',
    ...(receipt !== undefined && { 'countersign-receipt': receipt }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  const before = runs.length;
  const response = await fetch(server + at, { method: 'POST', headers, body });
  const answer = (await response.json()) as JsonObject;
  return { status: response.status, code: answer['code'], answer, ran: runs.length - before };
}

const encode = (value: JsonObject | string): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');
const partsOf = (receipt: string) => {
  const [header = '', payload = '', signature = ''] = receipt.split('.');
  return { header, payload, signature, claims: JSON.parse(Buffer.from(payload, 'base64url').toString()) as JsonObject };
};
const ownKey = generateKeyPairSync('ed25519');
const signedByWorker = (header: JsonObject | string, payload: string): string => {
  const text = `${encode(header)}.${payload}`;
  return `${text}.${sign(null, Buffer.from(text), ownKey.privateKey).toString('base64url')}`;
};
const published = async (): Promise<{ readonly kid: string; readonly x: string }> => {
  const { keys } = (await (await fetch(`${url}/.well-known/jwks.json`)).json()) as {
    keys: readonly [{ readonly kid: string; readonly x: string }];
  };
  return keys[0];
};

describe('a tool server that checks receipts', () => {
  it('runs a call that the service itself claimed, whose receipt comes as a header', async () => {
    const before = runs.length;
    const call = { toolCallId: 'own', toolName: 'refund', arguments: args };
    const { calls: all } = await post<{ calls: readonly { callId: string }[] }>('/v1/tool-calls', {
      runId: 'own',
      calls: [call],
    });
    const path = `/v1/tool-calls/${all[0]?.callId ?? ''}?until=settled&waitMs=20000`;
    const settled = await fetch(url + path, { headers: { authorization: 'Bearer all' } });
    expect(await settled.json()).toMatchObject({ state: 'succeeded', output: { refunded: before + 1 } });
  });

  // The name `refund` is the service's own tool here, so the cheating worker claims another one: its server is that of `pay`.
  it.each([
    ['express', () => expressUrl],
    ['fastify', () => fastifyUrl],
  ])('refuses a worker that skipped the claim, or whose receipt is for another tool: %s', async (_, server) => {
    expect(await send({}, server())).toMatchObject({ status: 403, code: 'missing-receipt', ran: 0 });
    const { receipt } = await claim();
    expect(await send({ receipt }, server())).toMatchObject({ status: 403, code: 'wrong-tool', ran: 0 });
  });
});

describe('a hostile worker is refused by an MCP server', () => {
  const call = async (receipt: unknown, given: JsonObject = args, name = 'pay') => {
    const before = runs.length;
    const meta = receipt === undefined ? {} : { _meta: { 'countersign/receipt': receipt } };
    const result = await mcp.callTool({ name, arguments: given, ...meta });
    const { content } = result as { readonly content: readonly { readonly text: string }[] };
    return { text: content[0]?.text, ran: runs.length - before };
  };
  const refused = (code: string) => ({ text: expect.stringMatching(`^${code}: `) as unknown, ran: 0 });

  it('when it skips the claim, changes an argument, or uses the receipt of another tool; the claim itself runs once', async () => {
    const { receipt } = await claim();
    expect(await call(undefined)).toEqual(refused('missing-receipt'));
    expect(await call(receipt, { ...args, amount: 500 })).toEqual(refused('wrong-arguments'));
    expect(await call(receipt, args, 'refund_all')).toEqual(refused('wrong-tool'));
    expect(await call(receipt)).toEqual({ text: 'done', ran: 1 });
    expect(await call(receipt)).toEqual(refused('already-used'));
  });

  it('when the receipt is of another tenant', async () => {
    expect(await call((await claim({ token: 'other' })).receipt)).toEqual(refused('unknown-key'));
  });

  it('when the lease is over, and when a renewed receipt is of a claim that ran', async () => {
    expect(await call((await claim({ leaseMs: 1 })).receipt)).toEqual(refused('expired'));
    const { receipt, callId } = await claim();
    expect(await call(receipt)).toEqual({ text: 'done', ran: 1 });
    const path = `/v1/tool-calls/${callId}/claim/renew`;
    const { receipt: renewed = '' } = await post<ClaimView>(path, { attempt: 1, leaseMs: 120_000 });
    expect(renewed).not.toBe(receipt);
    expect(await call(renewed)).toEqual(refused('already-used'));
  });

  it('when it signs by itself: no algorithm, HS256 over the public key, a key of its own, members twice', async () => {
    const { receipt } = await claim();
    const { payload, signature, claims, header } = partsOf(receipt);
    const { kid, x } = await published();
    const typ = 'countersign-receipt+jwt';
    const hs = `${encode({ alg: 'HS256', kid, typ })}.${payload}`;
    const mac = createHmac('sha256', Buffer.from(x, 'base64url')).update(hs).digest('base64url');
    const jwk = ownKey.publicKey.export({ format: 'jwk' }) as JsonObject;
    const changed = encode({ ...claims, aud: 'refund_all' });
    const forged: Record<string, string> = {
      'alg none': `${encode({ alg: 'none', kid, typ })}.${payload}.`,
      'alg none with a signature': `${encode({ alg: 'none', kid, typ })}.${payload}.${signature}`,
      HS256: `${hs}.${mac}`,
      'its own kid': signedByWorker({ alg: 'EdDSA', kid: 'mine', typ }, payload),
      'its own key under our kid': signedByWorker({ alg: 'EdDSA', kid, typ }, payload),
      'its own key in the header': signedByWorker({ alg: 'EdDSA', jwk, kid, typ }, payload),
      'alg twice': signedByWorker(`{"alg":"none","alg":"EdDSA","kid":"${kid}","typ":"${typ}"}`, payload),
      'claims twice': `${header}.${encode(JSON.stringify(claims).replace('{', '{"aud":"refund_all",'))}.${signature}`,
      'changed claims': `${header}.${changed}.${signature}`,
      'another typ': signedByWorker({ alg: 'EdDSA', kid, typ: 'JWT' }, payload),
      'a fourth part': `${receipt}.AA`,
      'no text': 'null',
    };
    for (const [how, text] of Object.entries(forged)) {
      const { text: why, ran } = await call(text);
      expect([how, ran, /^(malformed-receipt|unknown-key|bad-signature): /.test(why ?? '')]).toEqual([how, 0, true]);
    }
    expect(await call({ toString: 'x' })).toEqual(refused('missing-receipt'));
    expect(await call(receipt)).toEqual({ text: 'done', ran: 1 });
  });

  it('runs a call with arguments that are hard to write in one form, and refuses others that look like them', async () => {
    const given = { é: 1e21, z: -0, a: 0.1, '\u{1f600}': ['\u2028', { '': null }], '\ufb33': 'x', '10': 1, '9': 2 };
    const { receipt } = await claim({ given });
    expect(await call(receipt, { ...given, 'e\u0301': 1 })).toEqual(refused('wrong-arguments'));
    expect(await call(receipt, given)).toEqual({ text: 'done', ran: 1 });
  });
});

describe('a hostile worker is refused by an HTTP server', () => {
  let server: HttpServer;
  let base = '';
  beforeAll(async () => {
    const app = express();
    app.use(express.json());
    const run: express.RequestHandler = (request, response) => {
      runs.push(JSON.stringify((request.body as JsonObject)['arguments']));
      response.status(201).json({ paid: runs.length });
    };
    app.post('/pay', requireReceipt({ ...trust(), toolName: 'pay' }), run);
    app.post('/live', requireReceipt({ ...live(), toolName: 'pay' }), run);
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
    base = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  });
  afterAll(() => {
    server.close();
  });

  it('gives a retry with the same key the first answer, and refuses every other replay', async () => {
    const { receipt, idempotencyKey: key } = await claim();
    const first = await send({ receipt, key, at: '/pay' }, base);
    expect(first).toMatchObject({ status: 201, ran: 1 });
    expect(await send({ receipt, key, at: '/pay' }, base)).toEqual({ ...first, ran: 0 });
    expect(await send({ receipt, key: 'another', at: '/pay' }, base)).toMatchObject({ code: 'already-used', ran: 0 });
    expect(await send({ receipt, at: '/pay' }, base)).toMatchObject({ status: 403, code: 'already-used', ran: 0 });
  });

  it('of two requests at the same moment only one runs', async () => {
    const { receipt, idempotencyKey: key } = await claim();
    const before = runs.length;
    const all = await Promise.all([key, key, 'x', 'y'].map((one) => send({ receipt, key: one, at: '/pay' }, base)));
    expect(runs.length - before).toBe(1);
    expect(all.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(2);
  });

  it('when its JSON has a member twice: what runs is what was hashed', async () => {
    const { receipt } = await claim();
    const twice = '{"arguments":{"amount":5,"to":"bob","amount":500}}';
    expect(await send({ receipt, body: twice, at: '/pay' }, base)).toMatchObject({ code: 'wrong-arguments', ran: 0 });
    const hidden = '{"arguments":{"amount":500,"to":"bob"},"arguments":{"amount":5,"to":"bob"}}';
    expect(await send({ receipt, body: hidden, at: '/pay' }, base)).toMatchObject({ status: 201, ran: 1 });
    expect(runs.at(-1)).toBe('{"amount":5,"to":"bob"}');
  });

  it('after it reported and the values were erased, where the server asks for the live answer', async () => {
    const given = { password: 'secret', to: 'bob' };
    const { receipt, callId, digestInput } = await claim({ given });
    const body = JSON.stringify({ arguments: given });
    await post(`/v1/tool-calls/${callId}/outcome`, { attempt: 1, status: 'failed', error: 'no' });
    expect(await send({ receipt, body, at: '/live' }, base)).toMatchObject({ status: 403, code: 'inactive', ran: 0 });
    await post('/v1/subjects/erase', { subject: `run:${digestInput.runId}`, reason: 'asked' });
    expect(await send({ receipt, body, at: '/live' }, base)).toMatchObject({ status: 403, code: 'inactive', ran: 0 });
    const fresh = await claim();
    expect(await send({ receipt: fresh.receipt, at: '/live' }, base)).toMatchObject({ status: 201, ran: 1 });
  });
});
