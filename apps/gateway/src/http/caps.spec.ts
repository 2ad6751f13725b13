import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { systemClock } from '@countersign/runtime';
import { createApi } from '../testing/api.js';
import { openStream } from '../testing/event-stream.js';
import { sendPipelined } from '../testing/pipelined.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const closing: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

/** A world whose monotonic clock moves only when a test advances it, so that rate limits refill on command. */
async function openStillWorld(requestsPerSecond?: number) {
  const time = { aheadMs: 0 };
  const clock = { ...systemClock, monotonic: () => time.aheadMs };
  const world = await openWorld({ clock, change: (ports) => ({ ...ports, requestsPerSecond }) });
  closing.push(world.close);
  return { world, time };
}

const get = (path: string, token?: string): string =>
  `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${token === undefined ? '' : `authorization: Bearer ${token}\r\n`}\r\n`;

/** The same, with the token of a front end, which names the person. */
const getAs = (id: string, path: string): string =>
  get(path, 'desk-token').replace(/\r\n$/, `countersign-person: ${id}\r\n\r\n`);

const countOf = (statuses: readonly number[]): Record<number, number> =>
  Object.fromEntries([...new Set(statuses)].map((status) => [status, statuses.filter((one) => one === status).length]));

/** Opens connections, and sends a number of requests on each. */
function openSockets({ url }: World, count: number, text: string): Socket[] {
  const sockets = Array.from({ length: count }, () => connect(Number(new URL(url).port), '127.0.0.1'));
  for (const socket of sockets) {
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(text);
  }
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
  });
  return sockets;
}

async function gaugeOf({ ports }: World, name: string): Promise<number> {
  const text = await ports.metrics.registry.metrics();
  return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1]);
}

async function until(world: World, name: string, count: number): Promise<void> {
  const late = Date.now() + 100_000;
  while ((await gaugeOf(world, name)) !== count && Date.now() < late)
    await new Promise((resolve) => setTimeout(resolve, 10));
  expect(await gaugeOf(world, name)).toBe(count);
}

describe('requests of a principal', () => {
  it('are refused beyond its rate with the time to wait, and no other principal notices', async () => {
    const { world, time } = await openStillWorld(50);
    const api = createApi(world);
    const statuses = await sendPipelined(world.url, get('/v1/runs/none', 'agent-token'), 200);
    expect(countOf(statuses)).toEqual({ 404: 50, 429: 150 });
    const refused = await api.send('GET', '/v1/runs/none');
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([
      429,
      'too-many-requests',
      '1',
    ]);
    const others = ['agent2', 'ann', 'other'].map((as) => api.send('GET', '/v1/runs/none', { as }));
    expect((await Promise.all(others)).map(({ status }) => status)).toEqual([404, 404, 404]);
    time.aheadMs += 1000;
    expect((await api.send('GET', '/v1/runs/none')).status).toBe(404);
  });

  it('are counted for each person of a front end, and for all of them together', async () => {
    const { world, time } = await openStillWorld(50);
    const as = (id: string): string => getAs(id, '/v1/runs/none');
    expect(countOf(await sendPipelined(world.url, as('kim'), 60))).toEqual({ 404: 50, 429: 10 });
    expect(countOf(await sendPipelined(world.url, as('lou'), 50))).toEqual({ 404: 50 });
    time.aheadMs += 1000;
    const people = Array.from({ length: 250 }, (_, index) => as(`person-${String(index)}`)).join('');
    expect(countOf(await sendPipelined(world.url, people, 1, 250))).toEqual({ 404: 200, 429: 50 });
    expect((await createApi(world).send('GET', '/v1/runs/none', { as: 'desk' })).status).toBe(404);
  });

  it('are 5,000 per second by default', async () => {
    const { world } = await openStillWorld();
    const statuses = await sendPipelined(world.url, get('/v1/runs/none', 'agent-token'), 5010);
    expect(countOf(statuses)).toEqual({ 404: 5000, 429: 10 });
  });
});

describe('requests without a proved sender', () => {
  it('are refused beyond the rate of their address, and a principal at the same address is answered', async () => {
    const { world } = await openStillWorld();
    const api = createApi(world);
    const unproved = await sendPipelined(world.url, get('/v1/runs/none', 'not-a-token'), 600);
    expect(countOf(unproved)).toEqual({ 401: 500, 429: 100 });
    expect(countOf(await sendPipelined(world.url, get('/openapi.json'), 510))).toEqual({ 200: 500, 429: 10 });
    expect(countOf(await sendPipelined(world.url, get('/metrics'), 110))).toEqual({ 200: 100, 429: 10 });
    expect((await api.send('GET', '/v1/runs/none')).status).toBe(404);
    for (const path of ['/healthz', '/readyz'])
      expect(countOf(await sendPipelined(world.url, get(path), 1000))).toEqual({ 200: 1000 });
    const lines = world.log.entries.filter(({ message }) => message === 'refused: not authenticated');
    expect(lines.length).toBeLessThanOrEqual(20);
  });
});

describe('event streams', () => {
  it('are 256 per principal; one more is refused, another principal has its own', async () => {
    const { world } = await openStillWorld();
    const sockets = openSockets(world, 256, get('/v1/events?after=now', 'agent-token'));
    await until(world, 'countersign_event_streams', 256);
    const api = createApi(world);
    const refused = await api.send('GET', '/v1/events');
    expect([refused.status, refused.body['code'], refused.headers.get('retry-after')]).toEqual([
      429,
      'too-many-requests',
      '1',
    ]);
    const other = await openStream(`${world.url}/v1/events`, 'ann');
    expect(other.status).toBe(200);
    const calls = [{ toolCallId: 'c', toolName: 't', arguments: {} }];
    await api.send('POST', '/v1/tool-calls', { as: 'agent2', body: { runId: 'r', calls } });
    await other.until(1);
    other.close();
    for (const socket of sockets) socket.resetAndDestroy();
    await until(world, 'countersign_event_streams', 0);
    const again = await openStream(`${world.url}/v1/events`, 'agent');
    expect(again.status).toBe(200);
    again.close();
  });

  it('that wait behind another on one connection are counted, and end with it', async () => {
    const { world } = await openStillWorld();
    const [socket] = openSockets(world, 1, get('/v1/events?after=now', 'agent-token').repeat(300));
    await until(world, 'countersign_event_streams', 256);
    socket?.resetAndDestroy();
    await until(world, 'countersign_event_streams', 0);
    openSockets(world, 256, get('/v1/events?after=now', 'agent-token'));
    await until(world, 'countersign_event_streams', 256);
  });

  it('are 256 for each person of a front end, and four times that for all of them together', async () => {
    const { world } = await openStillWorld();
    const open = (id: string) => openSockets(world, 1, getAs(id, '/v1/events?after=now').repeat(300));
    const [first] = open('person-0');
    await until(world, 'countersign_event_streams', 256);
    for (const one of [1, 2, 3, 4]) open(`person-${String(one)}`);
    await until(world, 'countersign_event_streams', 1024);
    const refused = await createApi(world).send('GET', '/v1/events?after=now', {
      as: 'desk',
      headers: { 'countersign-person': 'person-9' },
    });
    expect([refused.status, refused.body['detail']]).toEqual([
      429,
      'the people of a front end may have 1024 event streams at a time together',
    ]);
    const other = await openStream(`${world.url}/v1/events?after=now`, 'ann');
    expect(other.status).toBe(200);
    other.close();
    first?.resetAndDestroy();
    await until(world, 'countersign_event_streams', 768);
  });
});

describe('waiting reads', () => {
  it('are 1,024 per principal; one more is refused, and all are counted off when their clients are gone', async () => {
    const { world } = await openStillWorld();
    const api = createApi(world);
    const approval = await api.pending();
    const path = `/v1/tool-calls/${approval.callId}?waitMs=50000`;
    const sockets = openSockets(world, 10, get(path, 'agent-token').repeat(103));
    await until(world, 'countersign_long_polls', 1024);
    const refused = await api.send('GET', path);
    expect([refused.status, refused.body['code']]).toEqual([429, 'too-many-requests']);
    expect((await api.send('GET', `/v1/tool-calls/${approval.callId}`)).status).toBe(200);
    for (const socket of sockets) socket.resetAndDestroy();
    await until(world, 'countersign_long_polls', 0);
    const waiting = api.send('GET', path);
    await until(world, 'countersign_long_polls', 1);
    const body = { decision: { type: 'approve' } };
    await api.send('POST', `/v1/approvals/${approval.approvalId}/responses`, { as: 'ann', body });
    expect((await waiting).status).toBe(200);
    await until(world, 'countersign_long_polls', 0);
  });

  it('are 1,024 for each person of a front end', async () => {
    const { world } = await openStillWorld();
    const api = createApi(world);
    const path = `/v1/tool-calls/${(await api.pending()).callId}?waitMs=50000`;
    openSockets(world, 10, getAs('kim', path).repeat(103));
    await until(world, 'countersign_long_polls', 1024);
    const statusOf = async (id: string, read = path) =>
      (await api.send('GET', read, { as: 'desk', headers: { 'countersign-person': id } })).status;
    expect(await statusOf('kim')).toBe(429);
    expect(await statusOf('lou', path.replace('50000', '1'))).toBe(200);
  });

  it('for a position that the views have not reached are counted as well', async () => {
    const { world } = await openStillWorld();
    const ahead = get('/v1/runs/none', 'agent-token').replace(/\r\n$/, 'countersign-position: 999999\r\n\r\n');
    const statuses = await sendPipelined(world.url, ahead, 1030);
    expect(countOf(statuses)).toEqual({ 429: 6, 409: 1024 });
    expect(countOf(await sendPipelined(world.url, ahead, 1))).toEqual({ 409: 1 });
  });
});

it('large requests of one principal are handled one at a time, and others in between', async () => {
  const world = await openWorld();
  try {
    const names = Array.from({ length: 5_000 }, (_, n) => [`aPassword${String(n)}`, 'x'] as const);
    const large = (n: number) =>
      fetch(`${world.url}/v1/tool-calls`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', authorization: 'Bearer agent-token' },
        body: JSON.stringify({
          runId: `large-${String(n)}`,
          calls: Array.from({ length: 10 }, (_, call) => ({
            toolCallId: `c${String(call)}`,
            toolName: 't',
            arguments: Object.fromEntries(names),
          })),
        }),
      });
    let done = 0;
    const all = Array.from({ length: 8 }, async (_, n) => {
      const answer = await large(n);
      done += 1;
      await answer.text();
      return answer.status;
    });
    await Promise.race(all);
    const before = done;
    expect(await (await fetch(`${world.url}/healthz`)).json()).toMatchObject({ status: 'ok' });
    expect(done - before).toBeLessThanOrEqual(2);
    expect(await Promise.all(all)).toEqual(all.map(() => 201));
  } finally {
    await world.close();
  }
});
