import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { openRawSocket } from './harness/raw-socket.js';
import type { RawSocket } from './harness/raw-socket.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually, within } from './harness/wait.js';

let installation: Installation;

// Registered before the cleaning up, so that it runs while the process is there.
beforeEach(async () => {
  installation = await install();
}, 60_000);

afterEach(async () => {
  const { server, http, tokens } = installation;
  expect(await within(1, server().exited)).toBeUndefined();
  const answer = await http.send({ method: 'GET', path: '/v1/approvals', token: tokens.me, timeoutMs: 5000 });
  expect(answer.status).toBe(200);
}, 60_000);

cleanUpAfterEach();

function postOf(toolCallId: string): string {
  const body = JSON.stringify({ runId: 'raw', calls: [{ toolCallId, toolName: 'move', arguments: {} }] });
  return `${headOf([`content-length: ${Buffer.byteLength(body)}`, `idempotency-key: ${toolCallId}`])}${body}`;
}

function headOf(headers: readonly string[]): string {
  const authorization = `authorization: Bearer ${installation.tokens.agent}`;
  const lines = [
    'POST /v1/tool-calls HTTP/1.1',
    'host: x',
    authorization,
    'content-type: application/json',
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const open = (): Promise<RawSocket> => openRawSocket(installation.port);

/** What was recorded, by the ids that the requests gave. */
async function recorded(): Promise<readonly string[]> {
  const { http, tokens } = installation;
  const run = await http.send({ method: 'GET', path: '/v1/runs/raw', token: tokens.agent });
  if (run.status === 404) return [];
  return (run.body as { readonly calls: readonly { readonly toolCallId: string }[] }).calls.map(
    (call) => call.toolCallId,
  );
}

async function hear(socket: RawSocket, pattern: RegExp): Promise<string> {
  return eventually(`an answer like ${String(pattern)}`, 10_000, () =>
    pattern.test(socket.heard()) ? socket.heard() : undefined,
  );
}

describe('a request that is not framed as HTTP says is refused, and nothing is recorded', () => {
  test.each([
    ['a chunk whose length is no number', () => `${headOf(['transfer-encoding: chunked'])}zz\r\n{}\r\n0\r\n\r\n`],
    ['a length and chunks at once', () => `${headOf(['transfer-encoding: chunked', 'content-length: 4'])}0\r\n\r\n`],
    ['two lengths', () => `${headOf(['content-length: 4', 'content-length: 6'])}{}{}{}`],
    ['a negative length', () => `${headOf(['content-length: -1'])}{}`],
    ['a line break inside a header', () => headOf(['x-header: a\rb', 'content-length: 0'])],
  ])(
    '%s',
    async (_, text) => {
      const socket = await open();
      await socket.say(text());
      expect(await hear(socket, /HTTP\/1.1 \d/)).toMatch(/^HTTP\/1.1 400 /);
      expect(
        await within(
          5000,
          socket.closed.then(() => 'closed'),
        ),
      ).toBe('closed');
      expect(await recorded()).toEqual([]);
    },
    60_000,
  );

  test('more headers than anybody needs', async () => {
    const socket = await open();
    const flood = Array.from({ length: 5000 }, (_, index) => `x-${index}: ${'y'.repeat(100)}`);
    await socket.say(headOf(flood));
    expect(await hear(socket, /HTTP\/1.1 \d/)).toMatch(/^HTTP\/1.1 (400|431) /);
    expect(await recorded()).toEqual([]);
  }, 60_000);

  test('a body of 20 MB is refused before it is all there', async () => {
    const socket = await open();
    await socket.say(headOf([`content-length: ${20 * 1024 * 1024}`]));
    const megabyte = Buffer.alloc(1024 * 1024, ' ');
    for (let sent = 0; sent < 20 && !/HTTP\/1.1 413/.test(socket.heard()); sent += 1) {
      await within(1000, socket.say(megabyte));
    }
    expect(await hear(socket, /HTTP\/1.1 \d/)).toMatch(/^HTTP\/1.1 413 /);
    expect(await recorded()).toEqual([]);
  }, 60_000);
});

describe('a connection that is not what one hopes for', () => {
  test('two hundred that never finish their request keep nobody else waiting', async () => {
    const sockets = await Promise.all(Array.from({ length: 200 }, open));
    const whole = postOf('slow');
    await Promise.all(sockets.map((socket, index) => socket.say(whole.slice(0, 20 + index))));
    const startedAt = performance.now();
    const prompt = await open();
    await prompt.say(postOf('prompt'));
    await hear(prompt, /HTTP\/1.1 201/);
    expect(performance.now() - startedAt).toBeLessThan(2000);
    for (const { socket } of sockets) socket.destroy();
    expect(await recorded()).toEqual(['prompt']);
  }, 60_000);

  test('a body that comes byte by byte is taken all the same', async () => {
    const socket = await open();
    const text = postOf('dripping');
    for (const byte of text.slice(0, -1)) await socket.say(byte);
    expect(await recorded()).toEqual([]);
    await socket.say(text.slice(-1));
    await hear(socket, /HTTP\/1.1 201/);
    expect(await recorded()).toEqual(['dripping']);
  }, 60_000);

  test('requests sent without waiting for answers are answered in their order', async () => {
    const socket = await open();
    const ids = ['one', 'two', 'three'];
    await socket.say(ids.map(postOf).join(''));
    const answers = await hear(socket, /(HTTP\/1.1 201[^]*){3}"toolCallId":"three"/);
    const order = [...answers.matchAll(/"toolCallId":"(\w+)"/g)].map(([, id]) => id);
    expect([...new Set(order)]).toEqual(ids);
    expect(await recorded()).toEqual(ids);
  }, 60_000);

  test('one that is half closed after half a request leaves nothing behind', async () => {
    const socket = await open();
    const text = postOf('half');
    await socket.say(text.slice(0, -10));
    socket.socket.end();
    expect(
      await within(
        5000,
        socket.closed.then(() => 'closed'),
      ),
    ).toBe('closed');
    expect(await recorded()).toEqual([]);
  }, 60_000);

  test('one that is gone after a whole request: answered or not, the repeat is, and it is recorded once', async () => {
    for (const end of ['end', 'resetAndDestroy'] as const) {
      const socket = await open();
      await socket.say(postOf(end));
      socket.socket[end]();
      const repeat = await open();
      await repeat.say(postOf(end));
      await hear(repeat, /HTTP\/1.1 20[01]/);
    }
    expect(await recorded()).toEqual(['end', 'resetAndDestroy']);
  }, 60_000);

  test('a reader of events that takes nothing costs the others nothing', async () => {
    const { tokens, ledger, http } = installation;
    const reader = await open();
    reader.socket.pause();
    await reader.say(`GET /v1/events HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${tokens.me}\r\n\r\n`);
    const text = 'x'.repeat(100_000);
    for (let step = 0; step < 20; step += 1) {
      const calls = Array.from({ length: 10 }, (_, call) => ({
        toolCallId: `${call}`,
        toolName: 'move',
        arguments: { text },
      }));
      expect(await ledger.request({ runId: `events-${step}`, calls })).toMatchObject({ status: 'ok' });
    }
    const startedAt = performance.now();
    await http.send({ method: 'GET', path: '/v1/approvals', token: tokens.me });
    expect(performance.now() - startedAt).toBeLessThan(2000);
    // What it has missed is still there for it.
    reader.socket.resume();
    await eventually('the reader to catch up', 20_000, () => (/^id: ?400$/m.test(reader.heard()) ? true : undefined));
  }, 60_000);
});
