import { connect } from 'node:net';
import { afterEach, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { closeHttpPlaces, openHttpPlace } from '../testing/http-place.js';
import { envelope, sessionServer } from '../testing/stateless-wire.js';
import { until } from '../testing/until.js';

afterEach(closeHttpPlaces);

it('a question whose response the client has left before it was there is withdrawn, and its call is cancelled', async () => {
  const [wire, server] = InMemoryTransport.createLinkedPair();
  const answer = sessionServer([]);
  const heard: JSONRPCMessage[] = [];
  server.onmessage = (message) => {
    heard.push(message);
    if (isJSONRPCRequest(message) && message.method !== 'tools/call')
      void server.send({ jsonrpc: '2.0', id: message.id, result: { ...answer(message) } });
  };
  await server.start();
  const isCalled = () => heard.some((message) => 'method' in message && message.method === 'tools/call');
  const { url } = await openHttpPlace(
    { fetch: createFakeCountersign().fetch, gate: 'none' },
    { openServer: () => wire },
  );
  const params = { name: 'pay', arguments: {}, _meta: envelope({ elicitation: { form: {} } }) };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params });
  const { host, port } = new URL(url);
  // It does not read, so the gate cannot send all of the response.
  const client = connect(Number(port), '127.0.0.1').pause();
  client.write(
    [
      ...['POST /mcp HTTP/1.1', `host: ${host}`, 'content-type: application/json'],
      ...['accept: application/json, text/event-stream', 'mcp-protocol-version: 2026-07-28', 'mcp-method: tools/call'],
      ...['mcp-name: pay', `content-length: ${String(body.length)}`, '', body],
    ].join('\r\n'),
  );
  await until(isCalled);
  const question = { message: 'x'.repeat(16_000_000), requestedSchema: { type: 'object', properties: {} } };
  await server.send({ jsonrpc: '2.0', id: 'q', method: 'elicitation/create', params: question });
  await new Promise((resolve) => setTimeout(resolve, 100));
  client.destroy();
  await until(() => heard.some((message) => 'id' in message && message.id === 'q'));
  expect(heard.find((message) => 'id' in message && message.id === 'q')).toMatchObject({ error: { code: -32601 } });
  await until(() => heard.some((message) => 'method' in message && message.method === 'notifications/cancelled'));
});
