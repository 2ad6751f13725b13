import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { recordShadowPolicy } from '@countersign/commands';
import type { BacktestSummary, LogEventView, OversightReport, ShadowReport, StateAt } from '@countersign/contracts';
import { createShadowPolicy, loadPolicy } from '@countersign/policy';
import type { Policy } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openStream } from '../testing/event-stream.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

/** The store has its last 256 commits in memory: these are enough that it reads the first ones from the file. */
const commits = 300;

const candidate = loadPolicy('candidate.yaml', 'version: 1\ndefault: require\n');

let world: World;
let api: Api;
let shadow: Policy | undefined;
let [hurt, whole] = ['', ''];
/** The position of the damaged event, and that of the last one. */
let [at, last] = [0, 0];

beforeAll(async () => {
  const beside = { of: () => shadow };
  world = await openWorld({
    change: (ports) => ({
      ...{ ...ports, isLogDamaged: () => at > 0 },
      commands: { ...ports.commands, shadow: beside },
    }),
  });
  api = createApi(world);
  const judging = createShadowPolicy();
  judging.activate(candidate);
  await recordShadowPolicy(world.store, candidate, '2026-01-02T00:00:00.000Z');
  shadow = judging.of('default');
  const asked = await api.pending({ toolName: 'pay' }, { runId: 'hurt' });
  hurt = asked.callId;
  await api.send('POST', `/v1/approvals/${asked.approvalId}/responses`, {
    ...{ as: 'ann', body: { decision: { type: 'deny' } } },
  });
  whole = (await api.pending({ toolName: 'pay' })).callId;
  const other = await api.pending();
  await api.send('POST', `/v1/approvals/${other.approvalId}/responses`, {
    ...{ as: 'ann', body: { decision: { type: 'deny' } } },
  });
  for (let n = 0; n < commits; n += 1) await api.request({ toolName: 'read', arguments: { n } });
  const events = await world.store.readAll(0, 10_000);
  at = events.find(({ type, metadata }) => type === 'ApprovalRequested' && metadata.callId === hurt)?.position ?? 0;
  last = events.at(-1)?.position ?? 0;
  const file = new DatabaseSync(join(world.folder, 'events.db'), { defensive: false });
  file.prepare("UPDATE events SET data = replace(data, '{', '{\"forged\":1,') WHERE position = ?").run(at);
  file.close();
});
afterAll(() => world.close());

const ask = async <T>(path: string): Promise<Reply<T>> => {
  const reply = await api.send<T>('GET', path, { as: 'auditor' });
  expect({ path, status: reply.status }).toEqual({ path, status: 200 });
  return reply;
};
interface Shown {
  readonly events: readonly LogEventView[];
  readonly toolCall: { readonly unreadable?: object | null } | null;
}
const eventsOf = async (callId: string) => (await ask<Shown>(`/v1/audit/tool-calls/${callId}/events`)).body;

it('the page of the damaged call has the damaged event in its place, and what is sound', async () => {
  const { events, toolCall } = await eventsOf(hurt);
  expect(events.map(({ position, unreadable }) => [position === at, unreadable !== undefined])).toEqual(
    events.map(({ position }) => [position === at, position === at]),
  );
  expect(events.map(({ type }) => type)).toEqual(expect.arrayContaining(['ToolCallRequested', 'ApprovalResponded']));
  expect(JSON.stringify(events)).not.toContain('forged');
  expect(toolCall).not.toBeNull();
  const then = await ask<Shown>(`/v1/audit/tool-calls/${hurt}/events?asOf=2020-01-01T00:00:00Z`);
  expect(then.body.events.map(({ position }) => position)).toEqual([at]);
});

it('the page of another call is whole', async () => {
  const { events } = await eventsOf(whole);
  expect(events.length).toBeGreaterThan(1);
  expect(events.every(({ unreadable }) => unreadable === undefined)).toBe(true);
});

it('the state at a moment is told, with the event that does not count', async () => {
  const { body } = await ask<StateAt>('/v1/audit/state');
  expect(body.unreadable).toEqual([at]);
  expect(body.calls.map(({ callId }) => callId)).toContain(whole);
});

it('searches and files name the position of the damaged event', async () => {
  for (const query of [`callId=${hurt}`, 'runId=hurt', 'actor=ann', 'format=csv', 'format=parquet', 'format=ocsf'])
    expect([query, (await ask(`/v1/audit/events?${query}`)).headers.get('countersign-log-missing')]).toEqual([
      query,
      String(at),
    ]);
});

it.each(['', '&runId=hurt', '&callId='])('a stream of events goes on after the damaged event: %s', async (query) => {
  const only = query === '&callId=' ? `${query}${hurt}` : query;
  const stream = await openStream(`${world.url}/v1/events?after=0${only}`, 'auditor');
  const count = query === '' ? last : (await eventsOf(hurt)).events.length;
  const messages = await stream.until(count);
  stream.close();
  const damaged = messages.filter(({ data }) => 'unreadable' in data);
  expect(damaged.map(({ id }) => Number(id))).toEqual([at]);
});

it('the oversight figures count what is sound, without the damaged call', async () => {
  const { body } = await ask<OversightReport>('/v1/oversight');
  expect(body.total.decisions).toBe(1);
});

it('the report of the candidate policy counts what is sound, and names the damaged event', async () => {
  const { body } = await ask<ShadowReport>('/v1/policy/shadow');
  expect(body).toMatchObject({ calls: 3 + commits, complete: true, unreadable: [at] });
});

it('a back-test leaves out the call whose verdict is damaged, and names the event', async () => {
  const body = { content: { version: 1, default: 'require' } };
  const answer = await api.send<string>('POST', '/v1/policy/backtest', { as: 'auditor', body });
  expect(answer.status).toBe(200);
  const { summary } = JSON.parse(answer.body.trimEnd().split('\n').at(-1) ?? '') as {
    readonly summary: BacktestSummary;
  };
  expect(summary).toMatchObject({ calls: 2 + commits, unreadable: [at] });
});

it('every page says that the log is damaged', async () => {
  for (const path of [
    '/v1/oversight',
    '/v1/oversight?format=csv',
    '/v1/policy/shadow',
    '/v1/audit/state',
    '/v1/audit/events',
    '/v1/tool-calls',
  ])
    expect([path, (await ask(path)).headers.get('countersign-log')]).toEqual([path, 'damaged']);
});

it('what must be whole is refused, and names the damage', async () => {
  const { status, body } = await api.send('GET', '/v1/audit/events?values=stored', { as: 'auditor' });
  expect([status, body['detail']]).toEqual([
    503,
    `the event store is damaged at position ${String(at)} and must be restored`,
  ]);
});
