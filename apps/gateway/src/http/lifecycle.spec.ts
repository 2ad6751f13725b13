import { connect } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { EventStoreUnavailableError, EventTooLargeError, OutcomeUnknownError } from '@countersign/event-store';
import type { StoreHealth } from '@countersign/event-store';
import type { GatewayPorts } from '../ports.js';
import { createApi } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World, WorldOptions } from '../testing/world.js';

let worlds: World[] = [];
afterEach(async () => {
  for (const world of worlds) await world.close();
  worlds = [];
});
const open = async (options?: WorldOptions) => {
  const world = await openWorld(options);
  worlds.push(world);
  return { world, api: createApi(world) };
};
const body = { runId: 'r', calls: [{ toolCallId: 'c', toolName: 't', arguments: {} }] };

type HandleCommand = GatewayPorts['commands']['handler']['handleCommand'];

/** The ports, with commands that are handled in this way. */
function handling<Ports extends Pick<GatewayPorts, 'commands'>>(ports: Ports, handleCommand: HandleCommand): Ports {
  return { ...ports, commands: { ...ports.commands, handler: { ...ports.commands.handler, handleCommand } } };
}

describe('when something is wrong inside', () => {
  it.each<[string, Error, string]>([
    [
      'nothing was written',
      new EventStoreUnavailableError('disk full: /secret/path'),
      'the event store cannot be written',
    ],
    [
      'it is not known whether it was',
      new OutcomeUnknownError('timed out at /secret/path'),
      'it is not known whether the command was recorded',
    ],
  ])('%s: 503 that says so, to be repeated after a second', async (_what, error, detail) => {
    const { world, api } = await open({
      change: (ports) => handling(ports, () => Promise.reject(error)),
    });
    const reply = await api.send('POST', '/v1/tool-calls', { body, headers: { 'idempotency-key': 'k' } });
    expect(reply).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(reply.body).toHaveProperty('detail', expect.stringContaining(detail));
    expect(reply.headers.get('retry-after')).toBe('1');
    expect(JSON.stringify(reply.body)).not.toContain('secret');
    expect(world.log.entries.at(-1)).toMatchObject({ level: 'warn', fields: { error } });
    const metrics = await api.send<string>('GET', '/metrics', { as: null });
    expect(metrics.body).toMatch(/^countersign_commands_total\{command="\w+",code="unavailable"\} 1$/m);
  });

  it('an event that is too large for the store is answered with 413', async () => {
    const error = new EventTooLargeError('what would be recorded has at most 1048576 bytes, and this has 2000000');
    const append = (): Promise<never> => Promise.reject(error);
    const { world, api } = await open();
    Object.assign(world.store, { append });
    const reply = await api.send('POST', '/v1/tool-calls', { body });
    expect(reply).toMatchObject({ status: 413, body: { code: 'payload-too-large', detail: error.message } });
  });

  it('anything unforeseen is a 500 that tells nothing, and the log tells all', async () => {
    const error = new TypeError('x is not a function, at /secret/path');
    const { world, api } = await open({
      change: (ports) => handling(ports, () => Promise.reject(error)),
    });
    const reply = await api.send('POST', '/v1/tool-calls?', { body });
    expect(reply).toMatchObject({ status: 500, body: { code: 'internal-error' } });
    expect(JSON.stringify(reply.body)).not.toContain('secret');
    expect(world.log.entries.at(-1)).toMatchObject({ level: 'error', fields: { error, path: '/v1/tool-calls' } });
  });

  it('readiness names what is not well', async () => {
    let health: StoreHealth = { status: 'read-only', why: 'damaged at 17' };
    let laterMs = 0;
    const { api } = await open({
      change: (ports) => ({
        ...ports,
        clock: { ...ports.clock, monotonic: () => ports.clock.monotonic() + laterMs },
        store: { ...ports.store, health: () => health, head: async () => 1_000_000 },
        checks: [
          { name: 'deadlines', check: () => ({ status: 'ok' }) },
          { name: 'bus', check: () => Promise.reject(new Error('no broker')) },
        ],
      }),
    });
    const first = await api.send('GET', '/readyz', { as: null });
    expect(first).toMatchObject({ status: 503, body: { checks: { 'read-model': { status: 'ok' } } } });
    laterMs = 11_000;
    const reply = await api.send('GET', '/readyz', { as: null });
    expect(reply).toMatchObject({
      status: 503,
      body: {
        code: 'unavailable',
        checks: {
          'event-store': { status: 'failing', why: 'read-only: damaged at 17' },
          'read-model': { status: 'failing', why: 'behind the log for 11 s' },
          deadlines: { status: 'ok' },
          bus: { status: 'failing', why: 'no broker' },
        },
      },
    });
    expect(reply.headers.get('retry-after')).toBe('1');
    health = { status: 'ok' };
    expect((await api.send('GET', '/healthz', { as: null })).status).toBe(200);
  });
});

describe('when it stops', () => {
  it('requests in progress are finished, those that wait are answered, and nothing new is taken', async () => {
    const { world, api } = await open();
    const { callId } = await api.pending();
    const waiting = api.send('GET', `/v1/tool-calls/${callId}?waitMs=30000`);
    await new Promise((resolve) => setTimeout(resolve, 500));
    const before = performance.now();
    const closed = world.app.close();
    expect(await waiting).toMatchObject({ status: 200, body: { state: 'awaiting_approval' } });
    await closed;
    expect(performance.now() - before).toBeLessThan(30_000);
    await expect(fetch(`${world.url}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('a connection that was never used does not hold it up', async () => {
    const { world } = await open();
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    const ended = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    await new Promise((resolve) => socket.once('connect', resolve));
    await new Promise((resolve) => setTimeout(resolve, 50));
    const before = performance.now();
    await world.app.close();
    await ended;
    expect(performance.now() - before).toBeLessThan(60_000);
  });

  it('a slow command is waited for', async () => {
    const [begun, released] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    const { world, api } = await open({
      change: (ports) =>
        handling(ports, async (...args) => {
          begun.resolve(undefined);
          await released.promise;
          return ports.commands.handler.handleCommand(...args);
        }),
    });
    const requesting = api.send('POST', '/v1/tool-calls', { body });
    await begun.promise;
    const closed = world.app.close();
    await new Promise((resolve) => setTimeout(resolve, 50));
    released.resolve(undefined);
    const { status, headers } = await requesting;
    expect([status, headers.get('connection')]).toEqual([201, 'close']);
    await closed;
  });

  it('a request on a kept connection is told to go elsewhere', async () => {
    let release: () => void = () => undefined;
    const begun = Promise.withResolvers<undefined>();
    const { world } = await open({
      change: (ports) =>
        handling(ports, () => {
          begun.resolve(undefined);
          return new Promise((_, reject) => (release = () => reject(new EventStoreUnavailableError('x'))));
        }),
    });
    // Two requests on one connection: the second is read while the process drains.
    const socket = connect(Number(new URL(world.url).port), '127.0.0.1');
    let received = '';
    socket.on('data', (data) => (received += data.toString()));
    const ended = new Promise((resolve) => socket.on('close', resolve));
    const json = JSON.stringify(body);
    const head = `host: localhost\r\nauthorization: Bearer agent-token\r\ncontent-type: application/json\r\ncontent-length: ${json.length}\r\n\r\n${json}`;
    socket.write(`POST /v1/tool-calls HTTP/1.1\r\n${head}`);
    await begun.promise;
    const closed = world.app.close();
    socket.write(`POST /v1/tool-calls HTTP/1.1\r\n${head}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
    release();
    await ended;
    await closed;
    expect(received.match(/HTTP\/1.1 503/g)?.length).toBeGreaterThanOrEqual(1);
    expect(received.toLowerCase()).toContain('connection: close');
  });
});
