import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ElicitRequestSchema, EmptyResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { HttpGate } from '../http/http.js';
import { closeHttpPlaces, connectTo, openHttpPlace } from '../testing/http-place.js';
import { textOf } from '../testing/place.js';
import { until } from '../testing/until.js';

afterEach(closeHttpPlaces);

/** A gate over HTTP before a server whose tool asks the user, and whose resource never comes. */
async function open() {
  const { fetch } = createFakeCountersign();
  const [wire, ofServer] = InMemoryTransport.createLinkedPair();
  const server = new McpServer({ name: 'bank', version: '1' });
  const running: (() => void)[] = [];
  server.registerTool('ask', { annotations: { readOnlyHint: true } }, async () => {
    await new Promise<void>((resolve) => running.push(resolve));
    const { action } = await server.server.elicitInput({
      message: 'Sure?',
      requestedSchema: { type: 'object', properties: {} },
    });
    return { content: [{ type: 'text', text: action }] };
  });
  let reads = 0;
  server.registerResource('never', 'note://never', {}, () => {
    reads += 1;
    return new Promise<never>(() => undefined);
  });
  await server.connect(ofServer);
  const gate = await openHttpPlace({ fetch }, { openServer: () => wire });
  return { gate, server, running, reads: () => reads };
}

/** A client of the SDK, and `post` for more requests in its session. */
async function connect(gate: HttpGate) {
  const { client, transport } = await connectTo(gate, { elicitation: { form: {} } }, (unconnected) => {
    unconnected.setRequestHandler(ElicitRequestSchema, () => ({ action: 'decline' }));
  });
  const headers = {
    ...{ 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
    'mcp-session-id': transport.sessionId ?? '',
  };
  const post = (message: object, signal?: AbortSignal) => {
    const body = JSON.stringify({ jsonrpc: '2.0', ...message });
    return fetch(gate.url, { method: 'POST', headers, body, ...(signal === undefined ? {} : { signal }) });
  };
  const ask = async () => textOf(await client.callTool({ name: 'ask' }, undefined, { timeout: 8_000 }));
  return { ask, post };
}

const readNever = { id: 500, method: 'resources/read', params: { uri: 'note://never' } };

describe('a question of the server while a tool runs', () => {
  it('reaches the client when a later request of the client was dropped', async () => {
    const { gate, running, reads } = await open();
    const { ask, post } = await connect(gate);
    const asked = ask();
    await until(() => running.length === 1);
    const dropping = new AbortController();
    const dropped = post(readNever, dropping.signal);
    await until(() => reads() === 1);
    await dropped;
    dropping.abort();
    await new Promise((resolve) => setTimeout(resolve, 100));
    running[0]?.();
    expect(await asked).toBe('decline');
  });

  it('reaches the client when a later request of the client was cancelled', async () => {
    const { gate, running, reads } = await open();
    const { ask, post } = await connect(gate);
    const asked = ask();
    await until(() => running.length === 1);
    const cancelled = await post(readNever);
    await until(() => reads() === 1);
    await post({ method: 'notifications/cancelled', params: { requestId: readNever.id } });
    running[0]?.();
    expect(await asked).toBe('decline');
    await cancelled.body?.cancel();
  });

  it('reaches the client over its event stream when the call itself was dropped', async () => {
    const { gate, running } = await open();
    const { ask, post } = await connect(gate);
    const dropping = new AbortController();
    await Promise.all([
      post({ id: 501, method: 'tools/call', params: { name: 'ask' } }, dropping.signal),
      until(() => running.length === 1),
    ]);
    dropping.abort();
    await new Promise((resolve) => setTimeout(resolve, 100));
    running[0]?.();
    expect(await ask()).toBe('decline');
    expect(running).toHaveLength(1);
  });
});

it('a request of the server that no stream of the client can carry ends with an error', async () => {
  const { gate, server } = await open();
  const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params });
  await (await fetch(gate.url, { method: 'POST', headers, body })).text();
  await expect(server.server.request({ method: 'ping' }, EmptyResultSchema, { timeout: 5_000 })).rejects.toThrow(
    /the MCP client has no open stream/,
  );
});
