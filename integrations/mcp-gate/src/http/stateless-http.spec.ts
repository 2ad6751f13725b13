import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { Client, StreamableHTTPClientTransport, type VersionNegotiationMode } from '@modelcontextprotocol/client';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { isJSONRPCRequest, type JSONRPCMessage, type JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { createMcpHandler, McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { z } from 'zod';
import type { GateOptions } from '../calls/gate-options.js';
import { remoteServer } from '../server/servers.js';
import { closeHttpPlaces, openHttpPlace } from '../testing/http-place.js';
import { closeHttpServers, serveHttp } from '../testing/http-server.js';
import { envelope, sessionServer } from '../testing/stateless-wire.js';
import { until } from '../testing/until.js';
import { objectOf } from '../wire.js';
import type { HttpGate } from './http.js';

const clients: Client[] = [];
afterEach(async () => {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await closeHttpPlaces();
  await closeHttpServers();
});

let countersign: FakeCountersign;
let ran: unknown[];
let cancelled: number;
beforeEach(() => {
  countersign = createFakeCountersign();
  ran = [];
  cancelled = 0;
});

/** A bank of the SDK 2, over HTTP. A header repeats the branch. */
const bank: McpServerFactory = () => {
  const server = new McpServer({ name: 'bank', version: '1' });
  const inputSchema = z.object({
    amount: z.number(),
    branch: z.string().optional().meta({ 'x-mcp-header': 'Branch' }),
  });
  server.registerTool('refund', { inputSchema }, ({ amount }) => {
    ran.push(amount);
    return { content: [{ type: 'text', text: `refunded ${String(amount)}` }] };
  });
  server.registerTool('wait', { inputSchema: z.object({}) }, async (_, { mcpReq }) => {
    ran.push('wait');
    await new Promise((resolve) => mcpReq.signal.addEventListener('abort', resolve));
    cancelled += 1;
    return { content: [] };
  });
  return server;
};

/** A gate over HTTP before that bank. */
async function openBank(legacy: 'reject' | undefined, more: Partial<GateOptions> = {}) {
  const handler = createMcpHandler(bank, legacy === undefined ? {} : { legacy });
  const { url, seen } = await serveHttp((request) => handler.fetch(request));
  const gate = await openHttpPlace(
    { fetch: countersign.fetch, ...more },
    { openServer: () => remoteServer(url, undefined) },
  );
  return { gate, seen, handler };
}

async function connect({ url }: HttpGate, mode: VersionNegotiationMode): Promise<Client> {
  const client = new Client({ name: 'spec', version: '1' }, { versionNegotiation: { mode } });
  clients.push(client);
  await client.connect(new StreamableHTTPClientTransport(new URL(url)));
  return client;
}

describe.each([
  ['a stateless client', { pin: '2026-07-28' }, '2026-07-28'],
  ['a client of both versions', 'auto', '2026-07-28'],
  ['a client of sessions', 'legacy', '2025-11-25'],
] as const)('%s over HTTP', (_, mode, version) => {
  it.each(['reject', undefined] as const)('calls a gated tool of a server over HTTP, sessions: %s', async (legacy) => {
    const { gate } = await openBank(legacy, { gate: 'none' });
    const client = await connect(gate, mode);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['refund', 'wait']);
    expect(await client.callTool({ name: 'refund', arguments: { amount: 5, branch: 'Zürich' } })).toMatchObject({
      content: [{ text: 'refunded 5' }],
    });
    expect(ran).toEqual([5]);
  });
});

/** The headers that repeat a request. */
const repeated = (method: string, name?: string) => ({
  ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
  ...{ 'mcp-protocol-version': '2026-07-28', 'mcp-method': method },
  ...(name === undefined ? {} : { 'mcp-name': name }),
});

function post({ url }: HttpGate, headers: object, message: object, signal?: AbortSignal): Promise<Response> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message });
  return fetch(url, { method: 'POST', headers: { ...headers }, body, ...(signal === undefined ? {} : { signal }) });
}

const params = { name: 'refund', arguments: { amount: 5, branch: 'Bern' }, _meta: envelope() };
const call = { method: 'tools/call', params };

describe('a stateless request over HTTP', () => {
  it.each([
    ['no version', { 'mcp-protocol-version': undefined }],
    ['another version', { 'mcp-protocol-version': '2025-11-25' }],
    ['no method', { 'mcp-method': undefined }],
    ['another method', { 'mcp-method': 'tools/list' }],
    ['no name', { 'mcp-name': undefined }],
    ['another name', { 'mcp-name': 'wait' }],
    ['an argument that is missing', { 'mcp-param-branch': undefined }],
    ['another argument', { 'mcp-param-branch': 'Basel' }],
    ['an argument in malformed Base64', { 'mcp-param-branch': '=?base64?QmVybg?=' }],
    ['a version that is not spoken', { 'mcp-protocol-version': '2099-01-01' }],
  ])('is refused when its headers have %s, and no tool runs', async (_, wrong) => {
    const { gate } = await openBank('reject', { gate: 'none' });
    const headers = { ...repeated('tools/call', 'refund'), 'mcp-param-branch': 'Bern', ...wrong };
    const sent = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
    const response = await post(gate, sent, call);
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ id: 1, error: { code: -32020 } });
    expect(ran).toEqual([]);
  });

  it('runs the tool when its headers repeat it, also in Base64', async () => {
    const { gate, seen } = await openBank('reject', { gate: 'none' });
    const headers = { ...repeated('tools/call', '=?base64?cmVmdW5k?='), 'mcp-param-branch': '=?base64?QmVybg==?=' };
    expect(await (await post(gate, headers, call)).json()).toMatchObject({ result: { resultType: 'complete' } });
    expect(ran).toEqual([5]);
    expect(seen.at(-1)).toMatchObject({ 'mcp-method': 'tools/call', 'mcp-name': 'refund', 'mcp-param-branch': 'Bern' });
  });

  it.each([
    ['an unknown method', 404, -32601, { method: 'tools/fly', params: { _meta: envelope() } }],
    ['an unknown version', 400, -32022, { method: 'tools/list', params: { _meta: envelope({}, '2099-01-01') } }],
    ['no version in the body', 400, -32602, { method: 'tools/list', params: {} }],
    [
      'no capabilities',
      400,
      -32602,
      { method: 'tools/list', params: { _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' } } },
    ],
  ])('with %s gets the status %i', async (_, status, code, message) => {
    const { gate } = await openBank('reject');
    const { 'io.modelcontextprotocol/protocolVersion': version = '2026-07-28' } = objectOf(
      objectOf(message.params)['_meta'],
    );
    const headers = { ...repeated(message.method), 'mcp-protocol-version': String(version) };
    const response = await post(gate, headers, message);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ id: 1, error: { code } });
  });

  it('is cancelled when the client closes the response', async () => {
    const { gate } = await openBank('reject', { gate: 'none' });
    const leaving = new AbortController();
    const waiting = { method: 'tools/call', params: { name: 'wait', arguments: {}, _meta: envelope() } };
    const response = post(gate, repeated('tools/call', 'wait'), waiting, leaving.signal);
    await until(() => ran.includes('wait'));
    leaving.abort();
    await expect(response).rejects.toThrow();
    await until(() => cancelled === 1);
  });

  it('gets the changes to which it has subscribed as an event stream', async () => {
    const { gate, handler } = await openBank('reject');
    const client = await connect(gate, { pin: '2026-07-28' });
    const changes: string[] = [];
    client.setNotificationHandler('notifications/tools/list_changed', ({ method }) => void changes.push(method));
    const subscription = await client.listen({ toolsListChanged: true });
    handler.notify.toolsChanged();
    await until(() => changes.length > 0);
    await subscription.close();
  });

  it('does not know whether the tool ran when a later round gets no result', async () => {
    const { url } = await serveHttp(async (request) => {
      const {
        id,
        method,
        params: asked,
      } = JSON.parse(await request.text()) as { id: string; method: string; params: object };
      const sure = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } };
      const results: Readonly<Record<string, object>> = {
        'server/discover': { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
        'tools/list': { resultType: 'complete', tools: [{ name: 'refund', inputSchema: { type: 'object' } }] },
        'tools/call': { resultType: 'input_required', inputRequests: { sure } },
      };
      if ('inputResponses' in asked)
        return new Response(': gone\n\n', { headers: { 'content-type': 'text/event-stream' } });
      return Response.json({ jsonrpc: '2.0', id, result: results[method] });
    });
    const openServer = () => remoteServer(url, undefined);
    const gate = await openHttpPlace({ fetch: countersign.fetch, gate: 'none' }, { openServer });
    const early = { inputResponses: { sure: { action: 'accept' } }, _meta: envelope({ elicitation: {} }) };
    const response = await post(gate, repeated('tools/call', 'refund'), {
      ...call,
      params: { name: 'refund', arguments: {}, ...early },
    });
    expect(await response.json()).toMatchObject({
      result: { isError: true, _meta: { 'countersign/call': { status: 'unknown' } } },
    });
  });

  it('never carries a question about the call of another client', async () => {
    const [gateToServer, server] = InMemoryTransport.createLinkedPair();
    const answer = sessionServer([]);
    const calls: JSONRPCRequest[] = [];
    const replies: JSONRPCMessage[] = [];
    server.onmessage = (message) => {
      if (!isJSONRPCRequest(message)) replies.push(message);
      else if (message.method === 'tools/call') calls.push(message);
      else void server.send({ jsonrpc: '2.0', id: message.id, result: { ...answer(message) } });
    };
    await server.start();
    const gate = await openHttpPlace({ fetch: countersign.fetch, gate: 'none' }, { openServer: () => gateToServer });
    const pay = (amount: number) => {
      const _meta = envelope({ elicitation: { form: {} } });
      return post(gate, repeated('tools/call', 'pay'), {
        ...call,
        params: { name: 'pay', arguments: { amount }, _meta },
      });
    };
    const ask = {
      jsonrpc: '2.0',
      method: 'elicitation/create',
      params: { message: 'Sure?', requestedSchema: {} },
    } as const;
    const first = pay(1);
    await until(() => calls.length === 1);
    await server.send({ ...ask, id: 'q1' });
    expect(await (await first).json()).toMatchObject({ result: { resultType: 'input_required' } });
    const second = pay(2);
    await until(() => calls.length === 2);
    await server.send({ ...ask, id: 'q2' });
    await until(() => replies.some((reply) => 'id' in reply && reply.id === 'q2'));
    expect(replies.at(-1)).toMatchObject({ error: { message: expect.stringContaining('no request of the client') } });
    await server.send({ jsonrpc: '2.0', id: calls[1]?.id ?? 0, result: { content: [] } });
    expect(await (await second).json()).toMatchObject({ result: { resultType: 'complete' } });
  });

  it('starts a server of its own only for clients that a server can ask other things', async () => {
    let started = 0;
    const handler = createMcpHandler(bank);
    const { url } = await serveHttp((request) => handler.fetch(request));
    const openServer = () => {
      started += 1;
      return remoteServer(url, undefined);
    };
    const gate = await openHttpPlace({ fetch: countersign.fetch }, { openServer });
    const list = (capabilities: object) =>
      post(gate, repeated('tools/list'), { method: 'tools/list', params: { _meta: envelope(capabilities) } });
    await Promise.all([list({}), list({}), list({ elicitation: { url: {} } }), list({ elicitation: { url: {} } })]);
    expect(started).toBe(2);
  });
});
