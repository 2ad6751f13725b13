import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import type { RecordedEvent } from '@countersign/contracts';
import { systemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openDeafStream, openStream } from '../testing/event-stream.js';
import type { Message, Stream } from '../testing/event-stream.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import { createFileTokens } from '../tokens-file.js';
import type { TokenEntry } from '../tokens.js';

/** A clock whose 15-second timers fire at once, for heartbeats. */
let hurryMs: number | null = null;
const system = systemClock;
const clock: Clock = {
  ...system,
  setTimer: (delayMs, fn) => system.setTimer(delayMs === 15_000 ? (hurryMs ?? delayMs) : delayMs, fn),
};

let world: World;
let api: Api;
let streams: Stream[] = [];
beforeEach(async () => {
  hurryMs = null;
  world = await openWorld({ clock });
  api = createApi(world);
});
afterEach(async () => {
  for (const stream of streams) stream.close();
  streams = [];
  await world.close();
});

const open = async (query = '', as = 'auditor', headers = {}) => {
  const stream = await openStream(`${world.url}/v1/events${query}`, as, headers);
  streams.push(stream);
  return stream;
};
const settle = () => new Promise((resolve) => setTimeout(resolve, 30));
const log = async (): Promise<readonly RecordedEvent[]> => readable(await world.store.readAll(0, 10_000));
const idsOf = (messages: readonly Message[]) => messages.map(({ id }) => Number(id));

/** A refused request of a sender, or of none that was proven, and then an event that everybody may read. */
async function recordRefusal(requestId: string, sender: { readonly tenant?: string; readonly principal?: string }) {
  const { tenant = 'default', ...principal } = sender;
  const stream = `refusals-${tenant}`;
  const data = { requestId, code: 'forbidden', detail: 'no', toolCallIds: ['call_1'], ...principal };
  const metadata = { tenant, callId: null, runId: 'run-1', schemaVersion: 2, commandId: requestId };
  const revision = (await world.store.readStream(stream)).length - 1;
  const event = { eventId: randomUUID(), type: 'RequestRefused' as const, data, metadata };
  expect((await world.store.append(stream, revision, [event])).status).toBe('committed');
}

describe('a refused request', () => {
  it.each([
    ['its sender', 'agent', ['own']],
    ['another agent', 'agent2', []],
    ['an approver', 'ann', []],
    ['a resolver', 'worker', []],
    ['an auditor', 'auditor', ['own', 'of another', 'without a principal']],
    ['an admin', 'admin', ['own', 'of another', 'without a principal']],
    ['the same name in another tenant', 'other', ['of another tenant']],
  ])('is shown to its sender, auditors and admins alone: %s', async (_, reader, shown) => {
    await recordRefusal('own', { principal: 'agent' });
    await recordRefusal('of another', { principal: 'billing' });
    await recordRefusal('without a principal', {});
    await recordRefusal('of another tenant', { tenant: 'other', principal: 'agent' });
    // Every reader of the tenant gets these events, so the stream has a known end.
    const body = { runId: 'run-1', calls: [{ toolCallId: 'call-1', toolName: 'browse', arguments: {} }] };
    await api.send('POST', '/v1/tool-calls', { as: reader === 'other' ? 'other' : 'agent', body });
    for (const query of ['', '?runId=run-1']) {
      const messages = await (await open(query, reader)).until(shown.length + 2);
      const refused = messages.filter(({ event }) => event === 'RequestRefused');
      expect(refused.map(({ data }) => (data.data as { requestId: string }).requestId)).toEqual(shown);
      expect(messages.at(-1)?.data.callId).not.toBeNull();
    }
  });
});

describe('a stream of events', () => {
  it('starts at the first event, goes on live, and says of each what it is', async () => {
    const { callId } = await api.pending();
    const stream = await open();
    expect(stream.headers.get('content-type')).toMatch(/^text\/event-stream/);
    await stream.until(2);
    await api.request();
    const messages = await stream.until(4);
    expect(messages.map(({ event }) => event)).toEqual([
      'ToolCallRequested',
      'ApprovalRequested',
      'ToolCallRequested',
      'ToolCallAllowed',
    ]);
    expect(idsOf(messages)).toEqual((await log()).map(({ position }) => position));
    expect(messages[0]?.data).toMatchObject({
      type: 'ToolCallRequested',
      callId,
      tenant: 'default',
      revision: 0,
      position: 1,
    });
  });

  it.each(['auditor', 'ann'])('says to %s in each event of a call which tool it is about', async (reader) => {
    const { callId, toolCallId, toolName, agentId } = await api.pending();
    await api.send('POST', `/v1/tool-calls/${callId}/cancel`, { body: { reason: 'x' } });
    const messages = await (await open('', reader)).until(3);
    const named = expect.objectContaining({ callId, toolCallId, toolName, agentId });
    expect(messages.map(({ data }) => data)).toEqual([named, named, named]);
  });

  it('from a position shows what comes after it', async () => {
    await api.pending();
    await api.pending();
    const stream = await open('?after=2');
    expect(idsOf(await stream.until(2))).toEqual([3, 4]);
  });

  it('from now shows what is live only, and a reader that loses it before the first event misses none', async () => {
    await api.pending();
    const stream = await open('?after=now');
    await settle();
    expect(stream.messages).toEqual([]);
    stream.close();
    await api.pending();
    const again = await open('?after=now', 'auditor', { 'last-event-id': stream.lastId() ?? '' });
    expect(idsOf(await again.until(2))).toEqual([3, 4]);
  });

  it('resumes after the last event id, which wins over the query', async () => {
    await api.pending();
    await api.pending();
    const stream = await open('?after=0', 'auditor', { 'last-event-id': '3' });
    expect(idsOf(await stream.until(1))).toEqual([4]);
  });

  it('may start at the end: then it shows what comes after that', async () => {
    await api.pending();
    const stream = await open('?after=2');
    await api.pending();
    expect(idsOf(await stream.until(2))).toEqual([3, 4]);
  });

  it('shows one run, one call, or some types', async () => {
    const one = await api.pending();
    await api.pending();
    const byCall = await open(`?callId=${one.callId}`);
    const byRun = await open(`?runId=${one.runId}&after=1`);
    const byType = await open('?types=ApprovalRequested,ToolCallCancelled');
    await api.send('POST', `/v1/tool-calls/${one.callId}/cancel`, { body: { reason: 'x' } });
    expect(idsOf(await byCall.until(3))).toEqual([1, 2, 5]);
    expect(idsOf(await byRun.until(2))).toEqual([2, 5]);
    expect(idsOf(await byType.until(3))).toEqual([2, 4, 5]);
  });

  it('shows the events of its own tenant alone', async () => {
    const stream = await open('', 'other');
    await api.pending();
    await api.send('POST', '/v1/tool-calls', {
      as: 'other',
      body: { runId: 'r', calls: [{ toolCallId: 'c', toolName: 't', arguments: {} }] },
    });
    const messages = await stream.until(2);
    await settle();
    expect(messages.map(({ data }) => data.tenant)).toEqual(['other', 'other']);
  });

  it('sends a heartbeat now and then', async () => {
    hurryMs = 20;
    const stream = await open();
    for (let tries = 0; tries < 100 && stream.comments.length < 4; tries += 1) await settle();
    expect(stream.comments.slice(0, 3)).toEqual([': caught up', ': heartbeat', ': heartbeat']);
  });

  it('is counted while it is open', async () => {
    const counted = async () =>
      /^countersign_event_streams (\d+)$/m.exec((await api.send<string>('GET', '/metrics')).body)?.[1];
    const [one, two] = [await open(), await open()];
    expect(await counted()).toBe('2');
    one.close();
    two.close();
    for (let tries = 0; tries < 100 && (await counted()) !== '0'; tries += 1) await settle();
    expect(await counted()).toBe('0');
  });
});

describe('sensitive values in a stream', () => {
  it.each([
    ['auditor', false],
    ['agent', true],
    ['agent2', false],
    ['ann', false],
    ['worker', false],
    ['admin', false],
  ])('are whole for %s: %s', async (as, isWhole) => {
    const live = await open('?after=now', as);
    await api.pending({ arguments: { password: 'hunter2' } });
    const recorded = await open('', as);
    for (const stream of [live, recorded]) {
      const text = JSON.stringify(await stream.until(2));
      expect(text.includes('hunter2')).toBe(isWhole);
      if (!isWhole) expect(text).toContain('"salt":null');
    }
  });

  it('are whole for an auditor who asks for clear values, and stay masked for another reader of the same events', async () => {
    const [clear, masked] = [await open('?after=now&values=clear', 'auditor'), await open('?after=now', 'auditor')];
    await api.pending({ arguments: { password: 'hunter2' } });
    expect(JSON.stringify(await clear.until(2))).toContain('hunter2');
    expect(JSON.stringify(await masked.until(2))).not.toContain('hunter2');
  });
});

describe('a reader that comes and goes while others write', () => {
  it('sees every event once, in order', async () => {
    const seen: number[] = [];
    const total = 400;
    const writing = (async () => {
      for (let n = 0; n < total / 8; n += 1) await Promise.all(Array.from({ length: 4 }, () => api.pending()));
    })();
    let rounds = 0;
    while (seen.length < total) {
      const last = seen.at(-1);
      const stream = await open('', 'ann', last === undefined ? {} : { 'last-event-id': String(last) });
      await stream.until(Math.min(1 + ((rounds * 13) % 60), total - seen.length)).catch(() => undefined);
      stream.close();
      seen.push(...idsOf(stream.messages));
      rounds += 1;
    }
    await writing;
    expect(seen).toEqual((await log()).map(({ position }) => position));
    expect(rounds).toBeGreaterThan(5);
  });

  it('may be one of many, each with all of it', async () => {
    const many = await Promise.all(
      Array.from({ length: 20 }, (_, n) => open(n % 2 === 0 ? '' : '?after=now', n % 3 === 0 ? 'auditor' : 'ann')),
    );
    await Promise.all(Array.from({ length: 25 }, () => api.pending()));
    const positions = (await log()).map(({ position }) => position);
    for (const stream of many) expect(idsOf(await stream.until(50))).toEqual(positions);
  });
});

it('a reader that does not read delays no other reader', async () => {
  const port = Number(new URL(world.url).port);
  const deaf = Array.from({ length: 5 }, () => openDeafStream(port, 'auditor', '/v1/events'));
  const listening = await open('?types=ToolCallAllowed');
  const blob = 'x'.repeat(100 * 1024);
  for (let n = 0; n < 50; n += 1) await api.request({ arguments: { blob } });
  await listening.until(50);
  for (const socket of deaf) socket.destroy();
});

it('a stream ends when the process stops, and its reader can come back', async () => {
  const stream = await open();
  await api.pending();
  await stream.until(2);
  const before = performance.now();
  await world.app.close();
  await stream.ended;
  expect(performance.now() - before).toBeLessThan(60_000);
});

it('a stream ends when its reader is removed from the tokens file, at once, and those of others go on', async () => {
  await world.close();
  const file = join(mkdtempSync(join(tmpdir(), 'countersign-streams-')), 'tokens.json');
  const write = (entries: readonly TokenEntry[]): void => writeFileSync(file, JSON.stringify(entries));
  write(tokenEntries);
  const tokens = createFileTokens(file, createCollectingLog());
  world = await openWorld({ clock, change: (ports) => ({ ...ports, tokens }) });
  api = createApi(world);
  const [removed, staying] = [await open('', 'bob'), await open('', 'ann')];
  write(tokenEntries.filter(({ principal }) => principal !== 'bob'));
  const before = performance.now();
  tokens.reload();
  await removed.ended;
  expect(performance.now() - before).toBeLessThan(60_000);
  await api.pending();
  expect(await staying.until(2)).toHaveLength(2);
  tokens.close();
  rmSync(dirname(file), { recursive: true });
});
