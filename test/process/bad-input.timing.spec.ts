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
    'host: localhost',
    authorization,
    'content-type: application/json',
    ...headers,
  ];
  return `${lines.join('\r\n')}\r\n\r\n`;
}

const open = (): Promise<RawSocket> => openRawSocket(installation.port);

/** The recorded calls, by the ids of their requests. */
async function recorded(): Promise<readonly string[]> {
  const { http, tokens } = installation;
  const run = await http.send({ method: 'GET', path: '/v1/runs/raw', token: tokens.agent });
  if (run.status === 404) return [];
  return (run.body as { readonly calls: readonly { readonly toolCallId: string }[] }).calls.map(
    (call) => call.toolCallId,
  );
}

async function hear(socket: RawSocket, pattern: RegExp): Promise<string> {
  return eventually(`an answer like ${String(pattern)}`, () =>
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

  test('too many headers', async () => {
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
  test('two hundred that never finish their request delay no other client', async () => {
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
    await reader.say(`GET /v1/events HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${tokens.me}\r\n\r\n`);
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
    // It still gets the events that it missed.
    reader.socket.resume();
    await eventually('the reader to catch up', () => (/^id: ?400$/m.test(reader.heard()) ? true : undefined));
  }, 60_000);
});

describe('one principal that takes all it can get', () => {
  const get = (path: string, token: string): string =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${token}\r\n\r\n`;
  const countOf = (sockets: readonly RawSocket[], pattern: RegExp): number =>
    sockets.reduce((sum, socket) => sum + [...socket.heard().matchAll(pattern)].length, 0);

  /** Settles once the process has this number of streams and waiting reads. */
  const held = (streams: number, waits: number): Promise<true> =>
    eventually(`${streams} streams and ${waits} waiting reads`, async () => {
      const { text } = await installation.http.send({ method: 'GET', path: '/metrics' });
      const wanted = [`countersign_event_streams ${streams}`, `countersign_long_polls ${waits}`];
      return wanted.every((line) => text.split('\n').includes(line)) ? true : undefined;
    });

  test('300 streams, 1,100 waiting reads and a flood keep no other principal waiting for a second', async () => {
    const { tokens, ledger, http } = installation;
    const text = 'x'.repeat(5000);
    for (let step = 0; step < 20; step += 1) {
      const calls = Array.from({ length: 20 }, (_, n) => ({
        toolCallId: `${n}`,
        toolName: 'move',
        arguments: { text },
      }));
      expect(await ledger.request({ runId: `log-${step}`, calls })).toMatchObject({ status: 'ok' });
    }
    const waited = await http.send({
      method: 'POST',
      path: '/v1/tool-calls',
      token: tokens.agent,
      body: { runId: 'waited', calls: [{ toolCallId: 'w', toolName: 'move', arguments: {}, needsApproval: true }] },
    });
    const callId = (waited.body as { readonly calls: readonly { readonly callId: string }[] }).calls[0]?.callId ?? '';

    const streams = await Promise.all(Array.from({ length: 300 }, open));
    await Promise.all(streams.map((socket) => socket.say(get('/v1/events', tokens.agent))));
    const waits = await Promise.all(Array.from({ length: 1100 }, open));
    await Promise.all(waits.map((socket) => socket.say(get(`/v1/tool-calls/${callId}?waitMs=50000`, tokens.agent))));
    await held(256, 1024);
    const flood = await Promise.all(Array.from({ length: 4 }, open));
    for (const socket of flood) void socket.say(get('/v1/runs/none', tokens.agent).repeat(5000));

    const slowest = { ms: 0 };
    const isOver = () => countOf(flood, /HTTP\/1\.1 (?:404|429) /g) === 20_000;
    for (let asked = 0; asked < 100 && !(asked > 20 && isOver()); asked += 1) {
      for (const path of ['/healthz', '/v1/approvals']) {
        const startedAt = performance.now();
        expect(await http.send({ method: 'GET', path, token: tokens.me })).toMatchObject({ status: 200 });
        slowest.ms = Math.max(slowest.ms, performance.now() - startedAt);
      }
    }
    expect(slowest.ms).toBeLessThan(1000);
    expect([countOf(streams, /^HTTP\/1\.1 200 /g), countOf(streams, /^HTTP\/1\.1 429 /g)]).toEqual([256, 44]);
    expect([countOf(waits, /^HTTP\/1\.1 200 /g), countOf(waits, /^HTTP\/1\.1 429 /g)]).toEqual([0, 76]);
    expect(countOf(flood, /HTTP\/1\.1 429 /g)).toBeGreaterThan(0);
    for (const { socket } of [...streams, ...waits, ...flood]) socket.resetAndDestroy();
    await held(0, 0);
  }, 180_000);
});
