import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createClient, type ToolCallView } from '@countersign/worker-sdk';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { openGate, type Gate } from '../gate.js';
import { remoteServer, type RemoteLimits } from './servers.js';
import { textOf } from '../testing/place.js';

const bytesMax = 4096;
const open: { server: Server; gate: Gate }[] = [];
afterEach(async () => {
  for (const { server, gate } of open.splice(0)) {
    await gate.close();
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

const eventStream = { 'content-type': 'text/event-stream' };

type Respond = (response: ServerResponse, id: unknown) => void;

/** Refuses a stream that the client asks for: the server has none. */
const noStream: Respond = (response) => response.writeHead(405).end();

/**
 * A client before a gate, before an MCP server over HTTP whose tool and prompts answer as told.
 *
 * @param resume responds to a client that resumes a stream; it gets the id of the last event.
 */
async function place(
  respond: Respond,
  resume = noStream,
  limits: RemoteLimits = { bytesMax },
): Promise<{ client: Client; gate: Gate; server: Server; calls: () => Promise<readonly ToolCallView[]> }> {
  const results: Readonly<Record<string, (id: unknown, response: ServerResponse) => void>> = {
    initialize: (id, response) => {
      const serverInfo = { name: 'remote', version: '1' };
      response.setHeader('mcp-session-id', 'session-1');
      json(response, {
        jsonrpc: '2.0',
        id,
        result: { protocolVersion: '2025-06-18', capabilities: { tools: {}, prompts: {} }, serverInfo },
      });
    },
    'tools/list': (id, response) => {
      const tools = [{ name: 'read', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }];
      json(response, { jsonrpc: '2.0', id, result: { tools } });
    },
    'tools/call': (id, response) => respond(response, id),
    'prompts/list': (id, response) => respond(response, id),
  };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const { id, method = '' } = (text === '' ? {} : JSON.parse(text)) as { id?: unknown; method?: string };
      const answer = results[method];
      const eventId = request.headers['last-event-id'];
      if (eventId !== undefined) resume(response, eventId);
      else if (answer === undefined) response.writeHead(request.method === 'POST' ? 202 : 405).end();
      else answer(id, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`);
  const [clientSide, gateSide] = InMemoryTransport.createLinkedPair();
  const ledger = { url: 'http://fake.test', token: 't', resolverToken: 't', fetch: createFakeCountersign().fetch };
  const gate = await openGate(gateSide, remoteServer(url, undefined, limits), {
    ...{ ...ledger, agentId: 'mcp', runId: 'run', continuesRun: false, gate: 'writes', holdMs: 0 },
    endpoint: 'remote',
    ungated: { globs: [], readOnly: false },
  });
  open.push({ server, gate });
  const client = new Client({ name: 'spec', version: '1' });
  await client.connect(clientSide);
  const calls = async () => (await createClient(ledger).listToolCalls()).calls;
  return { client, gate, server, calls };
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
        response.writeHead(200, eventStream);
        response.write(`event: message\ndata: ${JSON.stringify(resultOf(id, 'x'.repeat(bytesMax)))}\n\n`);
      },
    ],
    [
      'as an event without end',
      (response) => {
        response.writeHead(200, eventStream);
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
      response.writeHead(200, eventStream);
      for (const end of ['\n', '\r', '\r\n']) {
        for (let event = 0; event < 10; event += 1) response.write(`: ${'x'.repeat(1000)}${end}${end}`);
      }
      response.write(`data: ${JSON.stringify(resultOf(id, 'done'))}\n`);
      response.end('\n');
    });
    expect(textOf(await client.callTool(read))).toBe('done');
  });
});

/** Opens a stream of events. The client may resume it after an event with an id. */
function stream(response: ServerResponse, events: string): void {
  response.writeHead(200, eventStream).write(events);
}
const eventOf = (id: unknown, text: string) => `data: ${JSON.stringify(resultOf(id, text))}\n\n`;
/** An event without data. Its id is that of the request, so that a resumed stream can have the response. */
const primingOf = (id: unknown) => `id: ${String(id)}\nretry: 1\ndata:\n\n`;

describe('a server that ends its response without a result', () => {
  const ended: Respond = (response) => {
    stream(response, ': hello\n\n');
    response.end();
  };
  const broken: Respond = (response) => {
    response.writeHead(200, eventStream);
    response.write(': hello\n\n', () => response.destroy());
  };
  const primed: Respond = (response, id) => {
    stream(response, primingOf(id));
    response.end();
  };
  const ways: readonly [string, Respond, Respond][] = [
    ['ends its stream', ended, noStream],
    ['breaks its stream off', broken, noStream],
    ['sends the result of another request', (response) => json(response, resultOf(4711, 'other')), noStream],
    ['accepts the request without a response', (response) => response.writeHead(202).end(), noStream],
    ['resumes no stream', primed, noStream],
    ['fails when the client resumes its stream', primed, (response) => response.writeHead(500).end()],
    ['breaks off when the client resumes its stream', primed, (response) => response.destroy()],
    ['ends the resumed stream, which cannot be resumed', primed, ended],
    ['opens a stream without a body', (response) => response.writeHead(204, eventStream).end(), noStream],
    ['resumes its stream without a body', primed, (response) => response.writeHead(204).end()],
  ];
  it.each(ways)('leaves an unknown outcome when it %s', async (_, respond, resume) => {
    const { client } = await place(respond, resume);
    const result = await client.callTool(read);
    expect(textOf(result)).toMatch(/without a result.*may or may not have taken effect/);
    expect(result).toMatchObject({ isError: true, _meta: { 'countersign/call': { status: 'unknown' } } });
  });

  it.each(ways)('gives an error for another request when it %s', async (_, respond, resume) => {
    const { client } = await place(respond, resume);
    await expect(client.listPrompts()).rejects.toThrow('ended its response without a result');
  });

  it.each([
    ['with the result of another request', (id: unknown) => `id: ${String(id)}\nretry: 1\n${eventOf(4711, 'other')}`],
    ['to be resumed in days', (id: unknown) => primingOf(id).replace('retry: 1', 'retry: 99999999')],
  ])('leaves an unknown outcome when it is not asked in time to resume a stream %s', async (_, eventsFor) => {
    const respond: Respond = (response, id) => {
      stream(response, eventsFor(id));
      response.end();
    };
    const { client } = await place(respond, noStream, { resumptionMs: 100 });
    expect(await client.callTool(read)).toMatchObject({ _meta: { 'countersign/call': { status: 'unknown' } } });
  });

  it.each(['Text/Event-Stream', 'text/event-stream;', 'application/json; profile="text/event-stream"'])(
    'sends the result in a response of type %s',
    async (type) => {
      const { client } = await place((response, id) => {
        response.writeHead(200, { 'content-type': type });
        const isJson = type.startsWith('application');
        const rest = isJson ? JSON.stringify(resultOf(id, 'done')) : eventOf(id, 'done');
        response.write('\n', () => setImmediate(() => response.end(rest)));
      });
      expect(textOf(await client.callTool(read))).toBe('done');
    },
  );

  it('sends the result when the client resumes the stream, also after failures', async () => {
    let resumed = 0;
    const { client } = await place(primed, (response, id) => {
      resumed += 1;
      if (resumed % 2 === 1) response.writeHead(503).end();
      else if (resumed < 6) primed(response, id);
      else stream(response, eventOf(id, 'done'));
    });
    expect(textOf(await client.callTool(read))).toBe('done');
    expect(resumed).toBe(6);
  });
});

describe('a server that refuses a request', () => {
  it('gives the client an error', async () => {
    const { client } = await place((response) => response.writeHead(500).end('out of order'));
    await expect(client.listPrompts()).rejects.toThrow('out of order');
  });

  it('says so when it cannot be reached', async () => {
    const { client, server } = await place(noStream);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(client.listPrompts()).rejects.toThrow(/the MCP server cannot be reached: .*ECONNREFUSED/);
  });

  it('says that the tool did not run when it cannot be reached', async () => {
    const { client, server } = await place((response, id) => json(response, resultOf(id, 'done')));
    expect(textOf(await client.callTool(read))).toBe('done');
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await expect(client.listPrompts()).rejects.toThrow(/cannot be reached/);
    const result = await client.callTool(read);
    expect(textOf(result)).toMatch(/the tool did not run: the MCP server cannot be reached: .*ECONNREFUSED/);
    expect(result).toMatchObject({ isError: true, _meta: { 'countersign/call': { status: 'failed' } } });
  });

  it.each([401, 403])('says that the tool did not run, and goes on: %i', async (status) => {
    let isRefused = true;
    const { client } = await place((response, id) => {
      if (isRefused) response.writeHead(status).end('token expired');
      else json(response, resultOf(id, 'done'));
    });
    const result = await client.callTool(read);
    expect(textOf(result)).toMatch(new RegExp(`the tool did not run: .* refused .* ${status}: token expired`));
    expect(result).toMatchObject({ isError: true, _meta: { 'countersign/call': { status: 'failed' } } });
    isRefused = false;
    expect(textOf(await client.callTool(read))).toBe('done');
  });

  it('says that the tool did not run when the session is not known any more, and ends the connection', async () => {
    const { client, gate, calls } = await place((response) => response.writeHead(404).end('no such session'));
    const result = await client.callTool(read);
    expect(textOf(result)).toMatch(/tool did not run: the MCP server does not know the session any more/i);
    const error = { message: 'the MCP server does not know the session any more' };
    expect(await gate.ended).toMatchObject({ side: 'server', error });
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await calls()).toMatchObject([{ state: 'failed' }]);
  });

  it('goes on when it knows the session, but not the method', async () => {
    const { client } = await place((response, id) => {
      const body = { jsonrpc: '2.0', id, error: { code: -32601, message: 'no prompts' } };
      response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    });
    await expect(client.listPrompts()).rejects.toThrow('no prompts');
    await expect(client.listTools()).resolves.toHaveProperty('tools');
  });

  it('leaves an unknown outcome when it breaks the connection off', async () => {
    const { client } = await place((response) => response.destroy());
    expect(await client.callTool(read)).toMatchObject({ _meta: { 'countersign/call': { status: 'unknown' } } });
  });

  it('leaves an unknown outcome when it has redirected the request to one that cannot be reached', async () => {
    const { client, server } = await place((response) => {
      server.close();
      response.writeHead(307, { location: '/mcp', connection: 'close' }).end();
    });
    expect(await client.callTool(read)).toMatchObject({ _meta: { 'countersign/call': { status: 'unknown' } } });
  });

  it('gives the error of a stream too, and goes on', async () => {
    const { client } = await place((response) => response.writeHead(500, eventStream).end('data: {}\n\n'));
    await expect(client.listPrompts()).rejects.toThrow('Error POSTing');
    await new Promise((resolve) => setTimeout(resolve, 50));
    await expect(client.listTools()).resolves.toHaveProperty('tools');
  });
});
