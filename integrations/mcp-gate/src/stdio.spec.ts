import { PassThrough } from 'node:stream';
import { afterEach, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
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
  return { gate, stdin, wire, ofServer, notes, out: () => text };
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
  ['a batch', JSON.stringify([ping])],
  ['an id that is no integer', JSON.stringify({ ...ping, id: 5.5 })],
  ['no version', JSON.stringify({ id: 1, method: 'ping' })],
  ['no JSON', '{'],
])('a line with %s is dropped with a note, and the gate goes on', async (_, line) => {
  const { stdin, ofServer, notes } = await open();
  const received: unknown[] = [];
  ofServer.onmessage = (message) => received.push(message);
  stdin.write(`${line}\n${JSON.stringify(ping)}\n`);
  await until(() => received.length > 0);
  expect(received).toEqual([ping]);
  expect(notes).toEqual([expect.stringContaining('was dropped')]);
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
