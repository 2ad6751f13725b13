import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { openGate, type Gate } from './gate.js';
import { remoteServer } from './servers.js';
import { textOf } from './testing/place.js';

const bytesMax = 4096;
const open: { server: Server; gate: Gate }[] = [];
afterEach(async () => {
  for (const { server, gate } of open.splice(0)) {
    await gate.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

type Respond = (response: ServerResponse, id: unknown) => void;

/** A client before a gate, before an MCP server over HTTP whose tool answers as told. */
async function place(respond: Respond): Promise<{ client: Client; gate: Gate }> {
  const results: Readonly<Record<string, (id: unknown, response: ServerResponse) => void>> = {
    initialize: (id, response) => {
      const serverInfo = { name: 'remote', version: '1' };
      json(response, {
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo },
      });
    },
    'tools/list': (id, response) => {
      const tools = [{ name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
      json(response, { jsonrpc: '2.0', id, result: { tools } });
    },
    'tools/call': (id, response) => respond(response, id),
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { id, method = '' } = (text === '' ? {} : JSON.parse(text)) as { id?: unknown; method?: string };
      const answer = results[method];
      if (answer === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end();
      else answer(id, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const [clientSide, gateSide] = InMemoryTransport.createLinkedPair();
  const ledger = { url: 'http://fake.test', token: 't', resolverToken: 't', fetch: createFakeCountersign().fetch };
  const gate = await openGate(gateSide, remoteServer(url, undefined, bytesMax), {
    ...{ ...ledger, agentId: 'mcp', runId: 'run', continuesRun: false, gate: 'writes', holdMs: 0 },
    ungated: { globs: [], readOnly: false },
  });
  open.push({ server, gate });
  const client = new Client({ name: 'spec', version: '1' });
  await client.connect(clientSide);
  return { client, gate };
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

const resultOf = (id: unknown, text: string) => ({
  ...{ jsonrpc: '2.0', id },
  result: { content: [{ type: 'text', text }] },
});
const read = { name: 'read', arguments: {} };

describe('a server that runs elsewhere', () => {
  const ways: readonly [string, Respond][] = [
    ['as JSON', (response, id) => json(response, resultOf(id, 'x'.repeat(bytesMax)))],
    [
      'as an event',
      (response, id) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        response.write(`event: message\ndata: ${JSON.stringify(resultOf(id, 'x'.repeat(bytesMax)))}\n\n`);
      },
    ],
    [
      'as an event without end',
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' });
        for (let part = 0; part < 5; part += 1) response.write(`data: ${'x'.repeat(1000)}\n`);
      },
    ],
  ];
  it.each(ways)(
    'sends no result over the limit %s: the outcome is unknown, and the client hears why',
    async (_, respond) => {
      const { client } = await place(respond);
      const result = await client.callTool(read);
      expect(textOf(result)).toMatch(/more than 4096 bytes.*may or may not have taken effect/);
      expect(result).toMatchObject({ isError: true, _meta: { 'countersign/call': { status: 'unknown' } } });
    },
  );

  it('may send any number of events, with any ends of lines', async () => {
    const { client } = await place((response, id) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const end of ['\n', '\r', '\r\n']) {
        for (let event = 0; event < 10; event += 1) response.write(`: ${'x'.repeat(1000)}${end}${end}`);
      }
      response.write(`data: ${JSON.stringify(resultOf(id, 'done'))}\n`);
      response.end('\n');
    });
    expect(textOf(await client.callTool(read))).toBe('done');
  });
});
