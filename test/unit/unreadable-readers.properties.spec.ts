import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { createCliRun } from '@countersign/cli/testing';
import { claim, createWriteSide, reportExecution, requestToolCalls, respond } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { approvalIdOf, deriveCallId, toolCallStream } from '@countersign/contracts';
import type { ApprovalView, LogEventView, NewEvent, ToolCallView } from '@countersign/contracts';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { openCountersign } from '@countersign/standalone';

/** What the tool was called with, and what the webhook of the notifier got. */
const ran: string[] = [];
const told: string[] = [];
const hook = createServer((request, response) => {
  let text = '';
  request.on('data', (chunk: Buffer) => (text += chunk.toString()));
  request.on('end', () => {
    const { callId, data } = JSON.parse(text) as { callId?: string; data?: { callId?: string } };
    (request.url === '/tool' ? ran : told).push(callId ?? data?.callId ?? text);
    response.setHeader('content-type', 'application/json').end('{"paid":true}');
  });
});
let folder: string;
let hookUrl: string;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-readers-'));
  await new Promise<void>((resolve) => hook.listen(0, '127.0.0.1', resolve));
  hookUrl = `http://127.0.0.1:${String((hook.address() as AddressInfo).port)}`;
});
afterAll(() => {
  hook.close();
  rmSync(folder, { recursive: true });
});

const actor = (principal: string, role: 'agent' | 'approver' | 'resolver'): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set([role]), groups: [], agentIds: ['*'], via: 'api' },
  assurance: 'medium',
});
const [agent, ann, worker] = [actor('agent', 'agent'), actor('ann', 'approver'), actor('worker', 'resolver')];
const names = ['settled', 'approved', 'pending', 'waiting', 'other'] as const;
type Name = (typeof names)[number];
const callIdOf = (name: Name): string => deriveCallId('default', `run-${name}`, name);

/** A call in each state of its life. */
async function recordCalls(commands: CommandPorts): Promise<void> {
  for (const name of names) {
    const calls = [
      { toolCallId: name, toolName: name === 'other' ? 'mail' : 'pay', arguments: {}, needsApproval: true },
    ];
    await requestToolCalls(commands, agent, { runId: `run-${name}`, calls }, name);
  }
  const approve = (name: Name) =>
    respond(commands, ann, approvalIdOf(callIdOf(name), 1), { decision: { type: 'approve' } }, `approve-${name}`);
  await approve('settled');
  await claim(commands, worker, callIdOf('settled'), { resolverId: 'w' }, 'claim');
  await reportExecution(
    commands,
    worker,
    callIdOf('settled'),
    { attempt: 1, status: 'succeeded', output: 1 },
    'report',
  );
  await approve('approved');
}

/** What a later version, a half-written migration or a hand may have left in the log. */
type Junk = (event: NewEvent) => object;
const junk: fc.Arbitrary<Junk> = fc.oneof(
  fc.uint8Array().map((bytes): Junk => (event) => ({ ...event, data: Buffer.from(bytes).toString('latin1') })),
  fc.jsonValue().map((data): Junk => (event) => ({ ...event, data })),
  fc.constant<Junk>((event) => ({ ...event, type: 'ToolCallForgotten' })),
  fc.constant<Junk>((event) => ({ ...event, metadata: { ...event.metadata, schemaVersion: 3 } })),
  fc.constantFrom<Junk>(
    ...['ApprovalResponded', 'GrantCreated', 'NotificationClaimed', 'SubjectErased'].map((type): Junk => (event) => ({
      ...event,
      type,
      data: {},
    })),
  ),
  fc.constant<Junk>((event) => ({ ...event, metadata: { ...event.metadata, callId: 7, tenant: null } })),
);
const others = [
  'policy-other',
  'shadow-policy-default',
  'batch-x',
  'grant-x',
  'channel-x',
  'subject-x',
  'refusals-default',
  'runCancellation-x',
  'system-default-x',
];
const found = fc.record({
  hurt: fc.subarray(names.slice(), { minLength: 1, maxLength: 3 }),
  rest: fc.subarray(others, { minLength: 4 }),
  junk: fc.array(junk, { minLength: 6, maxLength: 6 }),
});

async function writeJunk(store: EventStore, stream: string, make: Junk): Promise<void> {
  const callId = stream.startsWith('toolCall-') ? stream.slice('toolCall-'.length) : null;
  const event: NewEvent = {
    ...{ eventId: createSystemIds().uuid(), type: 'ApprovalLapsed' },
    data: { approvalId: 'x', lapsedAt: '2030-01-01T00:00:00.000Z' },
    metadata: { tenant: 'default', callId, runId: 'run-x', schemaVersion: 2, commandId: `junk-${stream}` },
  };
  const end = (await store.readStream(stream)).at(-1)?.revision ?? noStream;
  await store.append(stream, end, [make(event) as NewEvent]);
}

type Found = typeof found extends fc.Arbitrary<infer Value> ? Value : never;

/** A data folder whose log has them all. Returns how many events it has. */
async function fill(data: string, { hurt, rest, junk: kinds }: Found): Promise<number> {
  const [ids, log] = [createSystemIds(), createSilentLog()];
  const store = await openEmbeddedEventStore({ folder: data, clock: systemClock, log });
  await recordCalls(createWriteSide({ store, tools: { find: () => undefined }, ids, log }));
  const streams = [...hurt.map((name) => toolCallStream(callIdOf(name))), ...rest];
  for (const [nth, stream] of streams.entries()) {
    const kind = kinds[nth % kinds.length];
    if (kind !== undefined) await writeJunk(store, stream, kind);
  }
  const { length } = await store.readAll(0, 1000);
  await store.close();
  return length;
}

const entries = [
  { token: 'agent-token', principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { token: 'ann-token', principal: 'ann', roles: ['approver', 'auditor', 'admin'] },
  { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
];

function settingsOf(data: string): Record<string, string> {
  const file = (name: string, content: object): string => {
    writeFileSync(join(data, name), JSON.stringify(content), { mode: 0o600 });
    return join(data, name);
  };
  const http = { url: `${hookUrl}/tool`, allowPrivateNetwork: true };
  const channel = { id: 'hook', type: 'webhook', url: `${hookUrl}/told`, secret: { env: 'HOOK_SECRET' } };
  return {
    COUNTERSIGN_DATA: data,
    COUNTERSIGN_PORT: '0',
    COUNTERSIGN_TOKENS_FILE: file('people.json', entries),
    COUNTERSIGN_TOOLS: file('tools.json', { tools: [{ name: 'pay', http }] }),
    COUNTERSIGN_CHANNELS: file('channels.json', {
      ...{
        version: 1,
        channels: [{ ...channel, allowPrivateNetwork: true }],
        routes: [{ tools: ['*'], to: ['hook'] }],
      },
    }),
  };
}

async function eventually(what: string, look: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; !(await look()); tries += 1) {
    if (tries > 4000) throw new Error(`waited in vain for ${what}`);
    await delay(25);
  }
}

let opened = 0;

async function readThroughAll(given: Found): Promise<void> {
  ran.length = told.length = 0;
  const data = join(folder, String((opened += 1)));
  mkdirSync(data);
  const events = await fill(data, given);
  const settings = settingsOf(data);
  const secret = `whsec_${Buffer.from('a secret of the webhook here').toString('base64')}`;
  const server = await openCountersign({ ...settings, HOOK_SECRET: secret, COUNTERSIGN_LOG_LEVEL: 'silent' });
  try {
    await look(server.url, given, events);
  } finally {
    await server.close();
  }
  // A replay of the log gives the same views.
  expect((await createCliRun({ COUNTERSIGN_DATA: data })('projector', 'verify')).code).toBe(0);
}

async function look(url: string, given: Found, events: number): Promise<void> {
  const send = (as: string, path: string, body?: object) =>
    fetch(url + path, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${as}-token`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const view = async (name: Name) =>
    (await (await send('ann', `/v1/tool-calls/${callIdOf(name)}`)).json()) as ToolCallView;
  const isWhole = (name: Name): boolean => !given.hurt.includes(name);

  // Gateway, notifier, bus, resolver: every other call goes on to its end, and nothing of a hurt one runs.
  const asked = (['pending', 'waiting', 'other'] as const).filter(isWhole);
  await eventually('the messages', () => asked.every((name) => told.includes(callIdOf(name))));
  for (const name of ['pending', 'waiting', 'other'] as const) {
    const path = `/v1/approvals/${approvalIdOf(callIdOf(name), 1)}/responses`;
    const { status } = await send('ann', path, { decision: { type: 'approve' } });
    expect([name, status]).toEqual([name, isWhole(name) ? 200 : 409]);
  }
  const { status } = await send('worker', `/v1/tool-calls/${callIdOf('other')}/claim`, { resolverId: 'w' });
  expect(status).toBe(isWhole('other') ? 200 : 409);
  const run = (['approved', 'pending', 'waiting'] as const).filter(isWhole);
  for (const name of run) await eventually(`${name} to run`, async () => (await view(name)).state === 'succeeded');
  expect(ran.toSorted()).toEqual(run.map(callIdOf).toSorted());
  for (const name of names) expect([name, (await view(name)).unreadable === undefined]).toEqual([name, isWhole(name)]);
  expect(told.filter((callId) => given.hurt.some((name) => callIdOf(name) === callId))).toEqual([]);

  // Export, oversight, lists, the terminal.
  const lines = (await (await send('ann', '/v1/audit/events')).text()).trim().split('\n');
  const exported = lines.map((line) => JSON.parse(line) as LogEventView);
  expect(exported.slice(0, 5).every(({ data: inside }) => inside !== null)).toBe(true);
  expect(exported.length).toBeGreaterThan(events - given.hurt.length - given.rest.length);
  expect((await send('ann', '/v1/oversight')).status).toBe(200);
  const { approvals } = (await (await send('ann', '/v1/approvals')).json()) as { approvals: ApprovalView[] };
  const left = (['pending', 'waiting', 'other'] as const).filter((name) => !isWhole(name));
  expect(approvals.map(({ callId }) => callId).toSorted()).toEqual(left.map(callIdOf).toSorted());
  for (const { mayDecide } of approvals) expect(mayDecide).toMatchObject({ now: false, why: 'unreadable' });
  const cli = createCliRun({ COUNTERSIGN_URL: url, COUNTERSIGN_TOKEN: 'ann-token' });
  const commands = [
    ['list'],
    ['calls'],
    ['status'],
    ['log', 'unreadable'],
    ...names.map((name) => ['show', callIdOf(name)]),
  ];
  for (const words of [...commands, ['tail', '--after', '0', '--limit', String(lines.length)]]) {
    expect([words, (await cli(...words)).code]).toEqual([words, 0]);
  }
}

it('an event that cannot be read, in any stream, stops no reader of the log', async () => {
  await fc.assert(fc.asyncProperty(found, readThroughAll), { numRuns: 4, endOnFailure: true });
});
