import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { PingRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import type { HttpGate, HttpGateOptions } from './http.js';
import { closeHttpPlaces, connectTo, openHttpPlace } from '../testing/http-place.js';
import { createLateServer } from '../testing/late-server.js';
import { until } from '../testing/until.js';
import type { Wire } from '../wire.js';

afterEach(closeHttpPlaces);

/** How often the tool `endless` has begun. */
let begun = 0;

/** A server with a tool that says how it is, one that takes its time, and one that ends when it is cancelled. */
function openServer(): Wire {
  const [wire, ofServer] = InMemoryTransport.createLinkedPair();
  const server = new McpServer({ name: 'inner', version: '1' });
  server.registerTool('ping', { annotations: { readOnlyHint: true } }, () => ({
    content: [{ type: 'text', text: 'pong' }],
  }));
  server.registerTool('slow', { annotations: { readOnlyHint: true } }, async () => {
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    return { content: [{ type: 'text', text: 'done' }] };
  });
  server.registerTool('endless', { annotations: { readOnlyHint: true } }, async ({ signal }) => {
    begun += 1;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
    return { content: [] };
  });
  void server.connect(ofServer);
  return wire;
}

const open = (more: Partial<HttpGateOptions> = {}): Promise<HttpGate> =>
  openHttpPlace({ fetch: createFakeCountersign().fetch }, { openServer, ...more });
const connect = async (gate: HttpGate): Promise<Client> => (await connectTo(gate)).client;

const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'spec', version: '1' } },
};
const json = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
/** Sends a request without a client of the SDK, and reads its response to the end. */
async function post(url: string, request: object, sessionId?: string) {
  const headers = sessionId === undefined ? json : { ...json, 'mcp-session-id': sessionId };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...request });
  const response = await fetch(url, { method: 'POST', headers, body });
  return { status: response.status, text: await response.text(), id: response.headers.get('mcp-session-id') };
}

async function beginSession(url: string): Promise<string> {
  return (await post(url, initialize)).id ?? '';
}

const ping = (client: Client) => client.callTool({ name: 'ping', arguments: {} });

it('a connection passes calls on, and leaves its place when it ends', async () => {
  const gate = await open({ sessionsMax: 1 });
  const { client, transport } = await connectTo(gate);
  expect(await ping(client)).toMatchObject({ content: [{ text: 'pong' }] });
  await transport.terminateSession();
  expect(await ping(await connect(gate))).toMatchObject({ content: [{ text: 'pong' }] });
});

describe('a session whose client left without a word', () => {
  it('gives its place to the next one; the one that was used least recently is first', async () => {
    const { url } = await open({ sessionsMax: 2 });
    const [first, second] = [await beginSession(url), await beginSession(url)];
    expect(await post(url, { method: 'ping' }, first)).toMatchObject({ status: 200 });
    const third = await beginSession(url);
    const statuses: number[] = [];
    for (const id of [first, second, third]) statuses.push((await post(url, { method: 'ping' }, id)).status);
    expect(statuses).toEqual([200, 404, 200]);
  });

  it('is told from one with an open stream, which keeps its place', async () => {
    const { url } = await open({ sessionsMax: 1 });
    const id = await beginSession(url);
    const stream = await fetch(url, { headers: { accept: 'text/event-stream', 'mcp-session-id': id } });
    expect(await post(url, initialize)).toMatchObject({
      status: 503,
      text: expect.stringMatching(/too many connections: all 1 .*End one of them/),
    });
    await stream.body?.cancel();
  });
});

it('a session whose server still starts keeps its place', async () => {
  const openSilentServer = (): Wire => {
    const [wire, ofServer] = InMemoryTransport.createLinkedPair();
    void ofServer.start();
    return wire;
  };
  const { url } = await open({ sessionsMax: 1, openServer: openSilentServer });
  const leaving = new AbortController();
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...initialize });
  const first = await fetch(url, { method: 'POST', headers: json, body, signal: leaving.signal });
  expect((await post(url, initialize)).status).toBe(503);
  leaving.abort();
  await expect(first.text()).rejects.toThrow(/abort/);
});

it('a connection without requests ends with its server, and the client hears that it must begin a new one', async () => {
  const serverEnded = Promise.withResolvers<undefined>();
  const openWatchedServer = (): Wire => {
    const wire = openServer();
    const close = wire.close.bind(wire);
    return Object.assign(wire, {
      close: async () => {
        await close();
        serverEnded.resolve(undefined);
      },
    });
  };
  const { url } = await open({ idleMs: 300, openServer: openWatchedServer });
  const id = await beginSession(url);
  expect(await post(url, { method: 'ping' }, id)).toMatchObject({ status: 200 });
  await serverEnded.promise;
  expect(await post(url, { method: 'ping' }, id)).toMatchObject({
    status: 404,
    text: expect.stringContaining('does not know this session'),
  });
});

describe('a connection that is in use for longer than its idle time', () => {
  it('goes on while a request is open, and ends after it', async () => {
    const { url } = await open({ idleMs: 300 });
    const id = await beginSession(url);
    expect(await post(url, { method: 'tools/call', params: { name: 'slow' } }, id)).toMatchObject({
      status: 200,
      text: expect.stringContaining('done'),
    });
    expect(await post(url, { method: 'ping' }, id)).toMatchObject({ status: 200 });
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(await post(url, { method: 'ping' }, id)).toMatchObject({ status: 404 });
  });

  it('goes on while its event stream is open', async () => {
    const client = await connect(await open({ idleMs: 300 }));
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect(await ping(client)).toMatchObject({ content: [{ text: 'pong' }] });
  });
});

it('refuses a request with the id of an open one, which keeps its response', async () => {
  const { url } = await open();
  const id = await beginSession(url);
  const slow = { id: 7, method: 'tools/call', params: { name: 'slow' } };
  const first = post(url, slow, id);
  await new Promise((resolve) => setTimeout(resolve, 200));
  expect(await post(url, slow, id)).toMatchObject({ status: 400, text: expect.stringContaining('the id 7 is in use') });
  expect(await first).toMatchObject({ status: 200, text: expect.stringContaining('done') });
  expect(await post(url, { id: 7, method: 'ping' }, id)).toMatchObject({ status: 200 });
});

it('ends the response to a request that its client has cancelled, and the id is free again', async () => {
  const { url } = await open();
  const id = await beginSession(url);
  const begunBefore = begun;
  const first = post(url, { id: 7, method: 'tools/call', params: { name: 'endless' } }, id);
  await until(() => begun > begunBefore);
  await post(url, { id: undefined, method: 'notifications/cancelled', params: { requestId: 7 } }, id);
  const again = await post(url, { id: 7, method: 'ping' }, id);
  expect(again).toMatchObject({ status: 200, text: expect.stringContaining('"result"') });
  expect(await first).toMatchObject({ status: 200, text: '' });
});

describe('a batch', () => {
  const endless = (id: number) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'endless' } });
  const cancellation = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } };
  const pong = { jsonrpc: '2.0', id: 8, method: 'ping' };
  /** Sends a body as it is. */
  const send = async (url: string, body: unknown, id: string) => {
    const headers = { ...json, 'mcp-session-id': id };
    const response = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: response.status, text: await response.text() };
  };

  it('ends its response when one of its requests has its reply and the client has cancelled the other', async () => {
    const { url } = await open();
    const id = await beginSession(url);
    const begunBefore = begun;
    const batch = send(url, [endless(7), pong], id);
    await until(() => begun > begunBefore);
    await send(url, cancellation, id);
    expect(await batch).toMatchObject({ status: 200, text: expect.stringMatching(/"id":8/) });
  });

  it.each([
    ['alone', [endless(7), cancellation], ''],
    ['and another request', [endless(7), cancellation, pong], '"id":8'],
  ])('with a request, its cancellation %s ends its response', async (_, batch, text) => {
    const { url } = await open();
    const id = await beginSession(url);
    expect(await send(url, batch, id)).toMatchObject({ status: 200, text: expect.stringContaining(text) });
  });
});

it.each([0, 50])(
  'a client that leaves a response, and uses its id again after %i ms, gets the second reply',
  async (ms) => {
    const { url } = await open({ openServer: () => createLateServer().wire });
    const id = await beginSession(url);
    const ask = (text: string, signal?: AbortSignal) => {
      const params = { name: 'p', arguments: { text, waitMs: 300 }, _meta: { progressToken: 7 } };
      const body = JSON.stringify({ jsonrpc: '2.0', id: 7, method: 'prompts/get', params });
      return fetch(url, {
        method: 'POST',
        headers: { ...json, 'mcp-session-id': id },
        body,
        ...(signal && { signal }),
      });
    };
    const leaving = new AbortController();
    await ask('first', leaving.signal);
    leaving.abort();
    await new Promise((resolve) => setTimeout(resolve, ms));
    const text = await (await ask('second')).text();
    expect(text).toContain('second');
    expect(text).not.toContain('first');
  },
);

it('ends an open request with an error when its server ends', async () => {
  const openDyingServer = (): Wire => {
    const [wire, ofServer] = InMemoryTransport.createLinkedPair();
    const server = new McpServer({ name: 'inner', version: '1' });
    server.server.setRequestHandler(PingRequestSchema, async () => {
      await server.close();
      return {};
    });
    void server.connect(ofServer);
    return wire;
  };
  const client = await connect(await open({ openServer: openDyingServer }));
  await expect(client.ping({ timeout: 10_000 })).rejects.toThrow('the MCP server has ended');
});

describe('a request that begins no session', () => {
  const cases: readonly [string, number, Readonly<Record<string, string>>, string][] = [
    [
      'of a page of another origin',
      403,
      { origin: 'http://evil.example' },
      JSON.stringify({ jsonrpc: '2.0', id: 1, ...initialize }),
    ],
    ['of a page without an origin', 403, { origin: 'null' }, JSON.stringify({ jsonrpc: '2.0', id: 1, ...initialize })],
    ['with another method', 400, {}, JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' })],
    ['that is not JSON', 400, {}, '{'],
    ['that is too large', 413, {}, `"${'x'.repeat(4 * 1024 * 1024)}"`],
    [
      'that the transport refuses',
      406,
      { accept: 'text/html' },
      JSON.stringify({ jsonrpc: '2.0', id: 1, ...initialize }),
    ],
  ];
  it.each(cases)('%s is refused with %i and leaves no server behind', async (_, status, headers, body) => {
    const running = new Set<Wire>();
    const openCountedServer = (): Wire => {
      const wire = openServer();
      const close = wire.close.bind(wire);
      running.add(wire);
      return Object.assign(wire, {
        close: async () => {
          running.delete(wire);
          await close();
        },
      });
    };
    const { url } = await open({ openServer: openCountedServer });
    const response = await fetch(url, { method: 'POST', headers: { ...json, ...headers }, body });
    expect([response.status, running.size]).toEqual([status, 0]);
    await response.body?.cancel();
  });
});

it('a port that is taken is an error', async () => {
  const { url } = await open();
  await expect(open({ port: Number(new URL(url).port) })).rejects.toThrow(/EADDRINUSE/);
});
