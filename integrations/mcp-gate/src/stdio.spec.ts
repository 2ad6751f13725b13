import { PassThrough } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Gate } from './gate.js';
import { openStdioGate } from './stdio.js';
import { until } from './testing/until.js';

const gates: Gate[] = [];
afterEach(async () => {
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

/** A gate on streams, before a server that never replies. */
async function open() {
  const [stdin, stdout] = [new PassThrough(), new PassThrough()];
  const [wire, ofServer] = InMemoryTransport.createLinkedPair();
  await ofServer.start();
  let text = '';
  stdout.on('data', (part: Buffer) => (text += part.toString('utf8')));
  const notes: string[] = [];
  const gate = await openStdioGate(
    stdin as unknown as NodeJS.ReadStream,
    stdout as unknown as NodeJS.WriteStream,
    wire,
    {
      ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run', endpoint: 'bank' },
      ...{ continuesRun: false, gate: 'writes', holdMs: 0, fetch: createFakeCountersign().fetch },
      ungated: { globs: [], readOnly: false },
    },
    (note) => notes.push(note),
  );
  gates.push(gate);
  const replies = () =>
    text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as unknown);
  return { gate, stdin, wire, ofServer, notes, replies, out: () => text };
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' };

it('a message of the client of more than 10 MiB ends the gate, and open requests hear why', async () => {
  const { gate, stdin, out } = await open();
  stdin.write(`${JSON.stringify(ping)}\n`);
  stdin.write('x'.repeat(11 * 1024 * 1024));
  expect(await gate.ended).toMatchObject({
    side: 'client',
    error: { message: expect.stringMatching(/more than \d+ bytes/) },
  });
  await until(() => stdin.destroyed);
  expect(out()).toMatch(/"id":1,"error":.*a message of the MCP client has more than 10485760 bytes/);
});

it.each([
  ['a batch', JSON.stringify([ping]), -32600],
  ['an id that is no integer', JSON.stringify({ ...ping, id: 5.5 }), -32600],
  ['no version', JSON.stringify({ id: 1, method: 'ping' }), -32600],
  ['no JSON', '{', -32700],
])('a line with %s gets an error and a note, and the gate goes on', async (_, line, code) => {
  const { stdin, ofServer, notes, replies } = await open();
  const received: unknown[] = [];
  ofServer.onmessage = (message) => received.push(message);
  stdin.write(`${line}\n${JSON.stringify(ping)}\n`);
  await until(() => received.length > 0);
  expect(received).toMatchObject([{ method: 'ping' }]);
  expect(notes).toEqual([expect.stringContaining('was refused')]);
  expect(replies()).toMatchObject([{ jsonrpc: '2.0', id: null, error: { code } }]);
});

it('a line that looks like a reply gets no error, which the client could answer in the same way', async () => {
  const { stdin, notes, out } = await open();
  stdin.write('{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}\n\n');
  await until(() => notes.length > 0);
  expect([notes.length, out()]).toEqual([1, '']);
});

describe('a batch', () => {
  /** A gate in a session of a version, before a server that replies to pings. */
  async function begin(protocolVersion: string) {
    const place = await open();
    const { stdin, ofServer, replies } = place;
    const heard: string[] = [];
    ofServer.onmessage = (message) => {
      if (!('method' in message)) return;
      heard.push(message.method);
      if (!('id' in message)) return;
      const serverInfo = { name: 'spec', version: '1' };
      const result = message.method === 'ping' ? {} : { protocolVersion, capabilities: {}, serverInfo };
      if (message.method !== 'endless') void ofServer.send({ jsonrpc: '2.0', id: message.id, result });
    };
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
    stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })}\n`);
    await until(() => replies().length === 1);
    const send = async (batch: unknown): Promise<unknown> => {
      const before = replies().length;
      stdin.write(`${JSON.stringify(batch)}\n`);
      await until(() => replies().length > before);
      return replies().at(-1);
    };
    return { ...place, send, heard };
  }
  const endless = (id: number) => ({ jsonrpc: '2.0', id, method: 'endless' });
  const cancelled = (requestId: number) => ({
    ...{ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } },
  });
  const nameless = { jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.any(String) } };

  it('of version 2025-03-26 reaches the server one by one, and has its replies in one batch', async () => {
    const { send, heard } = await begin('2025-03-26');
    const initialized = { jsonrpc: '2.0', method: 'notifications/initialized' };
    expect(await send([ping, initialized, 7, { ...ping, id: 'b' }])).toEqual([
      nameless,
      { jsonrpc: '2.0', id: 1, result: {} },
      { jsonrpc: '2.0', id: 'b', result: {} },
    ]);
    expect(heard).toEqual(['initialize', 'ping', 'notifications/initialized', 'ping']);
  });

  it('does not wait for a request that the client cancels, and its id is free again', async () => {
    const { send, stdin } = await begin('2025-03-26');
    const one = { jsonrpc: '2.0', id: 1, result: {} };
    expect(await send([endless(2), cancelled(2), ping])).toEqual([one]);
    stdin.write(`${JSON.stringify([endless(2), ping])}\n`);
    expect(await send(cancelled(2))).toEqual([one]);
    expect(await send([{ ...ping, id: 2 }])).toEqual([{ ...one, id: 2 }]);
  });

  it('that the gate interrupts has the replies that it got', async () => {
    const { gate, stdin, replies } = await begin('2025-03-26');
    stdin.write(`${JSON.stringify([endless(2), ping])}\n`);
    await gate.close();
    expect(replies().at(-1)).toMatchObject([{ id: 1 }, { id: 2, error: { message: 'the gate was stopped' } }]);
  });

  it.each([
    ['without a message', []],
    ['with too many messages', Array.from({ length: 101 }, () => ping)],
  ])('%s has an error', async (_, batch) => {
    expect(await (await begin('2025-03-26')).send(batch)).toEqual(nameless);
  });

  it('of another version has an error, and none of it reaches the server', async () => {
    const { send, heard, notes } = await begin('2025-06-18');
    expect(await send([ping])).toEqual(nameless);
    expect([heard, notes.length]).toEqual([['initialize'], 1]);
  });
});

it('a reply that comes after the cancellation of its request is not that to a request under the same id', async () => {
  const { stdin, ofServer, replies } = await open();
  const received: JSONRPCMessage[] = [];
  ofServer.onmessage = (message) => received.push(message);
  const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } };
  for (const message of [ping, cancel, ping]) stdin.write(`${JSON.stringify(message)}\n`);
  await until(() => received.length === 3);
  const ids = received.flatMap((message) => ('id' in message ? [message.id] : []));
  for (const [index, id = ''] of ids.entries()) await ofServer.send({ jsonrpc: '2.0', id, result: { index } });
  await until(() => replies().length > 0);
  expect(replies()).toEqual([{ jsonrpc: '2.0', id: 1, result: { index: 1 } }]);
});

it('tells a server that ended by itself from a client that ended', async () => {
  const [first, second] = [await open(), await open()];
  // A server that has ended takes no more messages.
  first.wire.onerror?.(Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
  await first.ofServer.close();
  expect(await first.gate.ended).toEqual({ side: 'server', error: undefined });
  second.stdin.end();
  expect(await second.gate.ended).toBeUndefined();
});
