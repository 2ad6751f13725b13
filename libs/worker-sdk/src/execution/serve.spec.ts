import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { systemClock } from '@countersign/contracts/clock';
import { z } from 'zod';
import { createClient } from '../ledger/client.js';
import { gateTool } from '../tools/gate-tool.js';
import { createFakeCountersign, type FakeCountersign } from '../testing.js';
import type { GateTool, ProposedCall } from '../tools/tool-definition.js';
import type { Worker, WorkerOptions } from '../worker-options.js';
import { createWorker } from '../worker.js';

const ran: string[] = [];
const inputSchema = z.strictObject({ path: z.string() });
const remove = gateTool({
  name: 'remove',
  inputSchema,
  needsApproval: ({ path }) => path.startsWith('/etc/'),
  execute: ({ path }) => void ran.push(path),
});
const form = gateTool({ name: 'form', inputSchema, needsApproval: true, clientExecuted: true });

const workers: Worker[] = [];
const stops: AbortController[] = [];

function workerOf(countersign: FakeCountersign, more: Partial<WorkerOptions> = {}): Worker {
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', tools: [remove, form], random: () => 0 };
  const worker = createWorker({ ...options, fetch: countersign.fetch, ...more });
  workers.push(worker);
  return worker;
}

/** Serves until the test ends. */
function serving(worker: Worker, more: Parameters<Worker['serve']>[0] = {}) {
  const stop = new AbortController();
  stops.push(stop);
  return { stop, ended: worker.serve({ signal: stop.signal, ...more }) };
}

/** A process that asks and is gone. */
async function asked(countersign: FakeCountersign, toolCallId: string, path: string, toolName = 'remove') {
  const toolCalls = [{ toolCallId, toolName, arguments: { path } }];
  await workerOf(countersign).ask({ runId: `run of ${toolCallId}`, toolCalls });
}

/** A process with the token of the agent alone: it says nothing about an approval. */
async function requestAllowed(countersign: FakeCountersign, call: ProposedCall & { readonly arguments: JsonObject }) {
  const client = createClient({ url: 'http://fake.test', token: 't', fetch: countersign.fetch });
  const { toolSchema } = [remove, form].find(({ name }) => name === call.toolName) ?? remove;
  const clientExecuted = call.toolName === 'form';
  await client.requestToolCalls({ runId: 'r', agentId: 'a', calls: [{ ...call, toolSchema, clientExecuted }] });
}

/** A clock whose regular looks are made by the test. */
function clockOf() {
  const looks: (() => void)[] = [];
  let passedMs = 0;
  const clock = {
    ...systemClock,
    monotonic: () => systemClock.monotonic() + passedMs,
    setTimer: (delayMs: number, fn: () => void) => {
      if (delayMs !== 30_000) return systemClock.setTimer(delayMs, fn);
      looks.push(fn);
      return () => undefined;
    },
  };
  return { looks, clock, passMs: (ms: number) => void (passedMs = ms) };
}

/** Serves, at the moment of the look at which calls without an approval are due. */
async function servingAtSecondLook(countersign: FakeCountersign, more: Partial<WorkerOptions> = {}): Promise<void> {
  const { looks, clock, passMs } = clockOf();
  await asked(countersign, 'first', '/etc/first');
  countersign.approve('first');
  serving(workerOf(countersign, { ...more, clock }));
  await until(() => countersign.callOf('first').state === 'succeeded');
  passMs(30_000);
  looks[0]?.();
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setTimeout(resolve, 2));
}

afterEach(async () => {
  for (const stop of stops.splice(0)) stop.abort(new Error('the test is over'));
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
  ran.length = 0;
});

describe('a worker that serves', () => {
  it('leaves a call to a worker of the folder that people saw, and no other road of this one runs it', async () => {
    const countersign = createFakeCountersign();
    const removeIn = (cwd: string | undefined) =>
      gateTool({
        ...{ name: 'remove', inputSchema, needsApproval: true, ...(cwd !== undefined && { labels: { cwd } }) },
        execute: ({ path }) => void ran.push(`${cwd ?? ''}${path}`),
      });
    const inFolder = (cwd?: string) => workerOf(countersign, { tools: [removeIn(cwd)] });
    const toolCalls = [{ toolCallId: 'one', toolName: 'remove', arguments: { path: '/data' } }];
    const { state } = await inFolder('/dev').ask({ runId: 'run', toolCalls });
    countersign.approve('one');
    const elsewhere = inFolder('/prod');
    serving(elsewhere);
    for (const other of [elsewhere, inFolder()]) {
      await expect(other.resume(state)).rejects.toMatchObject({ code: 'tool-call-mismatch' });
      await expect(other.wait(state)).rejects.toMatchObject({ code: 'tool-call-mismatch' });
    }
    expect([ran, countersign.callOf('one').state]).toEqual([[], 'approved']);
    serving(inFolder('/dev'));
    await until(() => countersign.callOf('one').state === 'succeeded');
    expect(ran).toEqual(['/dev/data']);
  });

  it('runs what was approved before it began and what is approved later, in any run', async () => {
    const countersign = createFakeCountersign();
    await asked(countersign, '1', '/etc/a');
    await asked(countersign, '2', '/etc/b');
    countersign.approve('1');
    const { stop, ended } = serving(workerOf(countersign));
    await until(() => ran.length === 1);
    countersign.approve('2');
    await until(() => countersign.callOf('2').state === 'succeeded');
    expect(ran).toEqual(['/etc/a', '/etc/b']);
    stop.abort(new Error('enough'));
    expect(await ended).toBeUndefined();
  });

  it('looks at nothing when a call of another agent is approved', async () => {
    const countersign = createFakeCountersign();
    await asked(countersign, '1', '/etc/a');
    await workerOf(countersign, { agentId: 'other' }).ask({
      runId: 'run of other',
      toolCalls: [{ toolCallId: 'other', toolName: 'remove', arguments: { path: '/etc/other' } }],
    });
    const lists: string[] = [];
    serving(
      workerOf(countersign, {
        fetch: (input, init) => {
          const { pathname, search } = new URL(input instanceof Request ? input.url : input);
          if (pathname === '/v1/tool-calls') lists.push(search);
          return countersign.fetch(input, init);
        },
      }),
    );
    await until(() => lists.length > 0);
    countersign.approve('other');
    countersign.approve('1');
    await until(() => countersign.callOf('1').state === 'succeeded');
    expect(lists.some((search) => search.includes('other'))).toBe(false);
  });

  it('runs each call once when several serve', async () => {
    const countersign = createFakeCountersign();
    const ids = Array.from({ length: 20 }, (_, index) => String(index));
    for (const id of ids) await asked(countersign, id, `/etc/${id}`);
    for (let n = 0; n < 3; n += 1) serving(workerOf(countersign));
    for (const id of ids) countersign.approve(id);
    await until(() => ids.every((id) => countersign.callOf(id).state === 'succeeded'));
    expect(ran.toSorted()).toEqual(ids.map((id) => `/etc/${id}`).toSorted());
  });

  it('leaves a call that needs no approval to its own process, until a later look finds it still open', async () => {
    const countersign = createFakeCountersign();
    await asked(countersign, '1', '/tmp/a');
    await asked(countersign, '2', '/etc/b');
    countersign.approve('2');
    const { looks, clock, passMs } = clockOf();
    serving(workerOf(countersign, { clock }));
    await until(() => countersign.callOf('2').state === 'succeeded');
    expect(ran).toEqual(['/etc/b']);
    // A little less than the time between two looks: the call was first seen after the first look had begun.
    passMs(29_900);
    looks[0]?.();
    await until(() => countersign.callOf('1').state === 'succeeded');
    expect(ran).toEqual(['/etc/b', '/tmp/a']);
  });

  it('asks people before it claims an allowed call that its own tool does not allow', async () => {
    const countersign = createFakeCountersign();
    const asking = { toolCallId: '1', toolName: 'remove', arguments: { path: '/etc/a' } };
    await requestAllowed(countersign, asking);
    await servingAtSecondLook(countersign);
    await until(() => countersign.callOf('1').state === 'awaiting_approval');
    expect(countersign.callOf('1').approval).toMatchObject({ description: 'Run remove with these arguments?' });
    expect(ran).toEqual(['/etc/first']);
    countersign.approve('1');
    await until(() => countersign.callOf('1').state === 'succeeded');
    expect(ran).toEqual(['/etc/first', '/etc/a']);
  });

  it('runs no such call when people cannot be asked, and says why in the log', async () => {
    const countersign = createFakeCountersign();
    await requestAllowed(countersign, { toolCallId: '1', toolName: 'remove', arguments: { path: '/etc/a' } });
    const lines: unknown[] = [];
    const log = { warn: () => undefined, error: (...line: readonly unknown[]) => void lines.push(line) };
    const full: typeof fetch = async (url, init) => {
      const { pathname } = new URL(url instanceof Request ? url.url : url);
      if (!pathname.endsWith('/approvals')) return countersign.fetch(url, init);
      return Response.json(
        { type: 't', title: 't', status: 409, code: 'too-many', detail: '16 rounds' },
        { status: 409 },
      );
    };
    await servingAtSecondLook(countersign, { log, fetch: full });
    await until(() => lines.length > 0);
    expect(lines).toEqual([
      [
        { callId: expect.any(String), toolName: 'remove', code: 'too-many', error: 'too-many: 16 rounds' },
        'refused to execute: its tool needs an approval here, and people cannot be asked',
      ],
    ]);
    expect([countersign.callOf('1').state, ran]).toEqual(['allowed', ['/etc/first']]);
  });

  it('fails the call of a tool that is gone at once, with a line in the log', async () => {
    const countersign = createFakeCountersign();
    await asked(countersign, '1', '/etc/a');
    countersign.approve('1');
    const lines: unknown[] = [];
    const log = { warn: () => undefined, error: (...line: readonly unknown[]) => void lines.push(line) };
    serving(workerOf(countersign, { tools: [], log }));
    await until(() => countersign.callOf('1').state === 'failed');
    expect(countersign.callOf('1').error).toMatchObject({ code: 'unknown-tool' });
    expect(lines).toMatchObject([[{ toolName: 'remove', code: 'unknown-tool' }, expect.any(String)]]);
  });

  it('leaves the calls of clients, of tools that run elsewhere, and of its other tools', async () => {
    const countersign = createFakeCountersign();
    await asked(countersign, '1', 'x', 'form');
    await asked(countersign, '2', '/etc/a');
    const other = gateTool({ name: 'other', inputSchema, needsApproval: true, execute: () => void ran.push('other') });
    const third = workerOf(countersign, { tools: [other] });
    await third.ask({ runId: 'r3', toolCalls: [{ toolCallId: '3', toolName: 'other', arguments: { path: 'x' } }] });
    for (const id of ['1', '2', '3']) countersign.approve(id);
    serving(workerOf(countersign, { toolsElsewhere: ['remove', 'other'] }));
    serving(workerOf(countersign, { toolsElsewhere: ['remove'] }), { tools: [other] });
    await until(() => countersign.callOf('3').state === 'succeeded');
    expect([countersign.callOf('1').state, countersign.callOf('2').state]).toEqual(['approved', 'approved']);
    expect(ran).toEqual(['other']);
  });

  it.each<[number, Partial<WorkerOptions>, Parameters<Worker['serve']>[0]]>([
    [2, {}, { concurrency: 2 }],
    [1, { sequential: true }, {}],
  ])('runs at most %i at once when told so', async (most, options, more) => {
    const countersign = createFakeCountersign();
    const running = { now: 0, most: 0 };
    const slow: GateTool = gateTool({
      name: 'remove',
      inputSchema,
      execute: async () => {
        running.most = Math.max(running.most, (running.now += 1));
        await new Promise((resolve) => setTimeout(resolve, 5));
        running.now -= 1;
      },
    });
    const ids = ['1', '2', '3', '4', '5'];
    for (const id of ids) await asked(countersign, id, `/etc/${id}`);
    for (const id of ids) countersign.approve(id);
    serving(workerOf(countersign, { tools: [slow], ...options }), more);
    await until(() => ids.every((id) => countersign.callOf(id).state === 'succeeded'));
    expect(running.most).toBe(most);
  });

  it('ends with an error when its token is refused, and without one when it is closed', async () => {
    const countersign = createFakeCountersign();
    const refusing: typeof fetch = async (url, init) => {
      if (init?.method !== 'POST') return countersign.fetch(url, init);
      return Response.json({ type: 't', title: 't', status: 403, code: 'forbidden', detail: 'no' }, { status: 403 });
    };
    await asked(countersign, '1', '/etc/a');
    countersign.approve('1');
    await expect(serving(workerOf(countersign, { fetch: refusing })).ended).rejects.toMatchObject({
      code: 'forbidden',
    });
    const worker = workerOf(createFakeCountersign());
    const { ended } = serving(worker);
    await worker.close();
    expect(await ended).toBeUndefined();
  });
});

describe('a run that is restored', () => {
  it('runs no call, and hands out none to the client, that its own tool does not allow', async () => {
    const countersign = createFakeCountersign();
    await requestAllowed(countersign, { toolCallId: '1', toolName: 'remove', arguments: { path: '/etc/a' } });
    await requestAllowed(countersign, { toolCallId: '2', toolName: 'form', arguments: { path: 'x' } });
    await requestAllowed(countersign, { toolCallId: '3', toolName: 'remove', arguments: { path: '/tmp/b' } });
    const worker = workerOf(countersign);
    const outcome = await worker.restore('r');
    expect(outcome.pendingApprovals.map(({ toolCallId }) => toolCallId)).toEqual(['1', '2']);
    expect([outcome.clientCalls, ran]).toEqual([[], ['/tmp/b']]);
    for (const id of ['1', '2']) countersign.approve(id);
    const { clientCalls } = await worker.resume(outcome.state);
    expect([clientCalls.map(({ toolCallId }) => toolCallId), ran]).toEqual([['2'], ['/tmp/b', '/etc/a']]);
  });
});
