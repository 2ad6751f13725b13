import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { z } from 'zod';
import { gateTool } from './tools/gate-tool.js';
import { createFakeCountersign, type FakeCountersign } from './testing.js';
import { createWorker } from './worker.js';
import type { Worker, WorkerOptions } from './worker-options.js';

const ran: string[] = [];
const gates: (() => void)[] = [];

const tools = [
  gateTool({
    name: 'delete_file',
    inputSchema: z.strictObject({ path: z.string().startsWith('/') }),
    needsApproval: ({ path }) => !path.startsWith('/tmp/'),
    execute: ({ path }, { approval }) => {
      ran.push(path);
      return { deleted: path, approved: approval !== null };
    },
  }),
  gateTool({
    name: 'slow',
    inputSchema: z.strictObject({}),
    execute: () => new Promise<void>((resolve) => gates.push(resolve)),
  }),
  gateTool({
    name: 'fill_form',
    inputSchema: z.strictObject({ field: z.string().refine((field) => field !== 'forbidden') }),
    needsApproval: true,
    clientExecuted: true,
  }),
];

const workers: Worker[] = [];

function setUp(more: Partial<WorkerOptions> = {}): { readonly countersign: FakeCountersign; readonly worker: Worker } {
  const countersign = createFakeCountersign();
  return { countersign, worker: workerOf(countersign, more) };
}

function workerOf(countersign: FakeCountersign, more: Partial<WorkerOptions> = {}): Worker {
  const worker = createWorker({
    url: 'http://fake.test',
    token: 't',
    agentId: 'a',
    tools,
    fetch: countersign.fetch,
    random: () => 0,
    ...more,
  });
  workers.push(worker);
  return worker;
}

const call = (toolCallId: string, toolName: string, args: JsonObject = {}) => ({
  toolCallId,
  toolName,
  arguments: args,
});
const deletion = (toolCallId: string, path: string) => call(toolCallId, 'delete_file', { path });
const later = (work: () => void, ms = 20): void => void setTimeout(work, ms);

afterEach(async () => {
  ran.length = 0;
  for (const open of gates.splice(0)) open();
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

describe('a step', () => {
  it('runs the calls that need no approval, and pauses for the rest', async () => {
    const { worker } = setUp();
    const outcome = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/etc/x'), deletion('2', '/tmp/y')] });
    expect(ran).toEqual(['/tmp/y']);
    expect(outcome).toMatchObject({
      results: [{ toolCallId: '2', status: 'succeeded', output: { deleted: '/tmp/y', approved: false } }],
      hasPendingApprovals: true,
      pendingApprovals: [{ toolName: 'delete_file', arguments: { path: '/etc/x' } }],
      stopReason: 'awaiting_approval',
    });
  });

  it('records nothing when every call is invalid', async () => {
    const { worker, countersign } = setUp();
    const outcome = await worker.step({ runId: 'r', toolCalls: [deletion('1', 'relative'), call('2', 'nope')] });
    expect(outcome).toMatchObject({ stopReason: null, results: [{ status: 'failed' }, { status: 'failed' }] });
    expect((await worker.client.listToolCalls()).calls).toEqual([]);
    countersign.setAway(true);
    expect(await worker.wait(outcome.state)).toEqual(outcome);
    expect(await worker.resume(outcome.state)).toEqual(outcome);
  });

  it('may be repeated: the same calls are the same calls, and nothing runs twice', async () => {
    const { worker } = setUp();
    const step = { runId: 'r', toolCalls: [deletion('1', '/tmp/y')] };
    const first = await worker.step(step);
    expect((await worker.step(step)).results).toEqual(first.results);
    expect(ran).toEqual(['/tmp/y']);
    const other = { runId: 'r', toolCalls: [deletion('1', '/tmp/z')] };
    await expect(worker.step(other)).rejects.toMatchObject({ code: 'tool-call-mismatch', status: 409 });
  });

  it.each([false, true])(
    'does not run an edit that the schema changes, with inputIsParsed %s',
    async (inputIsParsed) => {
      const pay = gateTool({
        name: 'pay',
        inputSchema: z.object({ amount: z.number(), currency: z.string().default('EUR') }),
        inputIsParsed,
        needsApproval: true,
        execute: (input) => ran.push(JSON.stringify(input)),
      });
      const { worker, countersign } = setUp({ tools: [pay] });
      const { state } = await worker.step({
        runId: 'r',
        toolCalls: [call('1', 'pay', { amount: 1, currency: 'USD' })],
      });
      countersign.edit('1', { amount: 2 });
      const { results } = await worker.resume(state);
      expect(results).toMatchObject([{ status: 'failed', error: { code: 'digest-mismatch' } }]);
      expect(ran).toEqual([]);
    },
  );

  it.each(['token', 'resolverToken', 'agentId'])('needs a %s that is not empty', (name) => {
    expect(() => setUp({ [name]: '' })).toThrow(new RegExp(`^${name} is empty`));
  });

  it("asks no person while the resolver's token may not claim", async () => {
    const { worker, countersign } = setUp();
    const step = { runId: 'r', toolCalls: [deletion('1', '/etc/x')] };
    countersign.setMayClaim(false);
    await expect(worker.step(step)).rejects.toMatchObject({ code: 'forbidden' });
    expect((await worker.client.listToolCalls()).calls).toEqual([]);
    countersign.setMayClaim(true);
    expect((await worker.step(step)).stopReason).toBe('awaiting_approval');
  });

  it('is requested without the right to claim when other workers run its tools', async () => {
    const { worker, countersign } = setUp({ toolsElsewhere: tools.map(({ name }) => name) });
    countersign.setMayClaim(false);
    const { stopReason } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/etc/x')] });
    expect(stopReason).toBe('awaiting_approval');
  });

  it('finds a call again whose tool has another schema since, and does not run it', async () => {
    const countersign = createFakeCountersign();
    const tool = (words: string) =>
      gateTool({
        name: 'wipe',
        inputSchema: z.strictObject({ path: z.string().describe(words) }),
        needsApproval: true,
        execute: ({ path }) => ran.push(path),
      });
    const step = {
      runId: 'r',
      toolCalls: ['1', '2'].map((toolCallId) => ({ toolCallId, toolName: 'wipe', arguments: { path: '/tmp' } })),
    };
    const before = workerOf(countersign, { tools: [tool('before')] });
    await before.step(step);
    countersign.approve('1');
    const after = workerOf(countersign, { tools: [tool('after')] });
    const { results, pendingApprovals } = await after.step(step);
    expect(results).toMatchObject([{ toolCallId: '1', status: 'failed', error: { code: 'tool-schema-changed' } }]);
    expect(pendingApprovals).toMatchObject([{ toolCallId: '2' }]);
    await after.cancelRun('r', 'the user went on');
    expect((await after.step(step)).results).toMatchObject([{ status: 'failed' }, { status: 'cancelled' }]);
    expect(ran).toEqual([]);
  });

  it('goes on without a call whose arguments only the server refuses', async () => {
    const countersign = createFakeCountersign();
    const bodies: string[] = [];
    const strict: typeof fetch = async (url, init) => {
      const body = typeof init?.body === 'string' ? init.body : '';
      const index = (JSON.parse(body || '{}') as { calls?: { toolCallId: string }[] }).calls?.findIndex(
        ({ toolCallId }) => toolCallId === '2',
      );
      if (index === undefined || index === -1) return countersign.fetch(url, init);
      bodies.push(body);
      const errors = [{ path: `calls.${String(index)}.arguments.path`, message: 'is too long' }];
      const problem = { type: 't', title: 't', status: 422, code: 'invalid-arguments', detail: 'no', errors };
      return Response.json(problem, { status: 422 });
    };
    const worker = workerOf(countersign, { fetch: strict });
    const toolCalls = [deletion('1', '/tmp/a'), deletion('2', '/tmp/b')];
    const error = { code: 'invalid-arguments', message: 'Invalid arguments: path is too long' };
    expect((await worker.step({ runId: 'r', toolCalls })).results).toMatchObject([{ status: 'succeeded' }, { error }]);
    const batch = await worker.step({ runId: 's', batchMode: 'all-or-nothing', toolCalls });
    expect(batch.results).toMatchObject([{ error: { code: 'batch-incomplete' } }, { error }]);
    expect(bodies).toHaveLength(2);
  });

  it('runs its calls side by side', async () => {
    const { worker } = setUp();
    const outcome = worker.step({ runId: 'r', toolCalls: [call('1', 'slow'), call('2', 'slow'), call('3', 'slow')] });
    while (gates.length < 3) await new Promise((resolve) => setTimeout(resolve, 1));
    for (const open of gates.splice(0)) open();
    expect((await outcome).results).toHaveLength(3);
  });

  it('answers after its time with what is still running, and gets the result later', async () => {
    const { worker } = setUp();
    const outcome = await worker.step({ runId: 'r', toolCalls: [call('1', 'slow')] }, { timeoutMs: 20 });
    expect(outcome).toMatchObject({ results: [], stopReason: 'awaiting_execution' });
    later(() => gates.splice(0).forEach((open) => open()));
    expect((await worker.wait(outcome.state)).results).toMatchObject([{ status: 'succeeded' }]);
  });
});

describe('a wait', () => {
  it('ends with each new result, in any order, and keeps the order of the calls', async () => {
    const { worker, countersign } = setUp();
    const toolCalls = [deletion('1', '/a'), deletion('2', '/b'), deletion('3', '/c')];
    let outcome = await worker.step({ runId: 'r', toolCalls });
    const statuses = (): unknown => outcome.results.map(({ toolCallId, status }) => [toolCallId, status]);
    later(() => countersign.deny('3', { reason: 'keep it' }));
    outcome = await worker.wait(outcome.state);
    expect(statuses()).toEqual([['3', 'denied']]);
    later(() => countersign.approve('1', { instruction: 'then stop' }));
    outcome = await worker.wait(outcome.state);
    expect(statuses()).toEqual([
      ['1', 'succeeded'],
      ['3', 'denied'],
    ]);
    later(() => countersign.answer('2', 'no need to'));
    outcome = await worker.wait(outcome.state);
    expect(outcome.stopReason).toBeNull();
    expect(outcome.results).toMatchObject([
      { status: 'succeeded', output: { approved: true }, instruction: 'then stop', decidedBy: ['me'] },
      { status: 'succeeded', output: 'no need to', answered: true },
      { status: 'denied', reason: 'keep it' },
    ]);
    expect(ran).toEqual(['/a']);
  });

  it('passes what an approver put in place of the arguments', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a'), deletion('2', '/b')] });
    countersign.edit('1', { path: '/other' });
    countersign.edit('2', { path: 'relative' });
    const outcome = await worker.wait(state);
    expect(ran).toEqual(['/other']);
    expect(outcome.results).toMatchObject([
      { status: 'succeeded', edited: true, arguments: { path: '/other' }, message: expect.stringContaining('changed') },
      { status: 'failed', edited: true, error: { code: 'invalid-arguments', issues: [{ path: '/path' }] } },
    ]);
  });

  it('goes on in another process, from the state as JSON', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    const stored = JSON.stringify(state);
    await worker.close();
    countersign.approve('1');
    const successor = workerOf(countersign);
    const outcome = await successor.resume(JSON.parse(stored) as typeof state);
    expect(outcome).toMatchObject({ stopReason: null, results: [{ status: 'succeeded' }] });
  });

  it('outlives a server that goes away', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    later(() => countersign.setAway(true));
    later(() => countersign.approve('1'), 60);
    later(() => countersign.setAway(false), 150);
    expect((await worker.wait(state)).results).toMatchObject([{ status: 'succeeded' }]);
  });

  it('reports an outcome for which the server was away, as soon as it is back', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [call('1', 'slow')] }, { timeoutMs: 20 });
    countersign.setAway(true);
    for (const open of gates.splice(0)) open();
    later(() => countersign.setAway(false), 100);
    expect((await worker.wait(state)).results).toMatchObject([{ status: 'succeeded' }]);
  });

  it('stops with the reason of its signal, or after its time with how things stand', async () => {
    const { worker } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    await expect(worker.wait(state, { signal: AbortSignal.abort(new Error('enough')) })).rejects.toThrow('enough');
    expect(await worker.wait(state, { timeoutMs: 30 })).toMatchObject({ stopReason: 'awaiting_approval' });
  });

  it('is told when the server does not know the calls', async () => {
    const { worker } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    const elsewhere = workerOf(createFakeCountersign());
    await expect(elsewhere.wait(state)).rejects.toMatchObject({ code: 'not-found' });
    await expect(elsewhere.resume(state)).rejects.toMatchObject({ code: 'not-found' });
  });

  it('never runs again what may have run before a crash', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [call('1', 'slow')] }, { timeoutMs: 20 });
    const successor = workerOf(countersign);
    expect(await successor.resume(state)).toMatchObject({ stopReason: 'awaiting_execution', results: [] });
    later(() => countersign.loseWorker('1'));
    const outcome = await successor.wait(state);
    expect(outcome).toMatchObject({ stopReason: null, results: [{ status: 'unknown' }] });
    expect(gates).toHaveLength(1);
  });

  it('can be for a call that is asked about again', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    countersign.expire('1');
    const expired = await worker.wait(state);
    expect(expired).toMatchObject({ stopReason: null, results: [{ status: 'expired' }] });
    await worker.requestAgain(expired.results[0]?.callId ?? '');
    later(() => countersign.expire('1'));
    const again = await worker.wait(expired.state);
    expect(again.results).toMatchObject([{ status: 'expired' }]);
    await worker.requestAgain(expired.results[0]?.callId ?? '');
    later(() => countersign.approve('1'));
    expect((await worker.wait(again.state)).results).toMatchObject([{ status: 'succeeded' }]);
  });
});

describe('an all-or-nothing step', () => {
  it('runs nothing before everything is approved', async () => {
    const { worker, countersign } = setUp();
    const toolCalls = [deletion('1', '/tmp/x'), deletion('2', '/etc/y')];
    const { state } = await worker.step({ runId: 'r', batchId: 'b', batchMode: 'all-or-nothing', toolCalls });
    expect(ran).toEqual([]);
    // Restored from the ledger the worker does not know of the batch's mode; the server does.
    expect(await worker.restore('r', { batchId: 'b' })).toMatchObject({ results: [], stopReason: 'awaiting_approval' });
    countersign.approve('2');
    expect((await worker.wait(state)).results).toHaveLength(2);
    expect(ran.toSorted()).toEqual(['/etc/y', '/tmp/x']);
  });
});

describe('a client-executed call', () => {
  it('is handed out once it is decided, and gets its result from the client', async () => {
    const { worker, countersign } = setUp();
    const toolCalls = [call('1', 'fill_form', { field: 'name' }), call('2', 'fill_form', { field: 'age' })];
    const paused = await worker.step({ runId: 'r', toolCalls });
    expect(paused).toMatchObject({ stopReason: 'awaiting_approval', clientCalls: [] });
    await expect(worker.submitOutput(paused.state.calls[0]?.callId ?? '', 1)).rejects.toMatchObject({
      code: 'not-approved',
    });
    countersign.edit('1', { field: 'nickname' }, { instruction: 'be short' });
    countersign.approve('2');
    const ready = await worker.wait(paused.state);
    expect(ready).toMatchObject({
      stopReason: 'awaiting_client',
      clientCalls: [{ arguments: { field: 'nickname' }, edited: true, instruction: 'be short' }, { edited: false }],
    });
    await worker.submitOutput(ready.clientCalls[0]?.callId ?? '', { text: 'Ada' });
    await worker.submitFailure(ready.clientCalls[1]?.callId ?? '', new Error('window closed'));
    const done = await worker.resume(ready.state);
    expect(done).toMatchObject({
      stopReason: null,
      clientCalls: [],
      results: [{ output: { text: 'Ada' } }, { status: 'failed', reason: 'window closed' }],
    });
    await expect(worker.submitOutput('tc_x', 1n)).rejects.toThrow(TypeError);
  });

  it('is not handed out with an edit that its own schema refuses', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [call('1', 'fill_form', { field: 'name' })] });
    countersign.edit('1', { field: 'forbidden' });
    expect(await worker.wait(state)).toMatchObject({
      stopReason: null,
      results: [{ status: 'failed', error: { code: 'invalid-arguments' } }],
    });
  });
});

describe('a run', () => {
  it('is a step and as many waits as it takes', async () => {
    const { worker, countersign } = setUp();
    const pauses: unknown[] = [];
    later(() => countersign.approve('1'), 50);
    later(() => countersign.cancel('2', 'run over'), 100);
    const outcome = await worker.run(
      { runId: 'r', toolCalls: [deletion('1', '/a'), deletion('2', '/b')] },
      { onPause: ({ pendingApprovals }) => void pauses.push(pendingApprovals.length) },
    );
    expect(pauses).toEqual([2, 1]);
    expect(outcome.results).toMatchObject([{ status: 'succeeded' }, { status: 'cancelled', reason: 'run over' }]);
  });

  it('ends when its time is over', async () => {
    const { worker } = setUp();
    const outcome = await worker.run({ runId: 'r', toolCalls: [deletion('1', '/a')] }, { timeoutMs: 40 });
    expect(outcome).toMatchObject({ results: [], stopReason: 'awaiting_approval' });
  });

  it.each([Infinity, 3_000_000_000])('waits for as long as %d ms', async (timeoutMs) => {
    const { worker, countersign } = setUp();
    let pauses = 0;
    later(() => countersign.approve('1'), 50);
    const outcome = await worker.run(
      { runId: 'r', toolCalls: [deletion('1', '/a')] },
      { timeoutMs, onPause: () => void (pauses += 1) },
    );
    expect(outcome.results).toMatchObject([{ status: 'succeeded' }]);
    expect(pauses).toBe(1);
  });

  it('whose state is lost comes back from the ledger', async () => {
    const { worker, countersign } = setUp();
    await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    await workerOf(countersign, { agentId: 'other' }).step({ runId: 'r', toolCalls: [deletion('9', '/b')] });
    countersign.approve('1');
    const outcome = await workerOf(countersign).restore('r');
    expect(outcome.results).toMatchObject([{ toolCallId: '1', status: 'succeeded' }]);
    expect(outcome.state.calls).toHaveLength(1);
  });
});

describe('a tool that is gone', () => {
  it('fails its approved call at once, with a line in the log', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    countersign.approve('1');
    const lines: unknown[] = [];
    const log = { warn: () => undefined, error: (...line: readonly unknown[]) => void lines.push(line) };
    const successor = workerOf(countersign, { tools: [], log });
    const outcome = await successor.wait(state);
    expect(outcome.results).toMatchObject([{ status: 'failed', error: { code: 'unknown-tool' } }]);
    expect(lines).toMatchObject([[{ toolName: 'delete_file', code: 'unknown-tool' }, expect.any(String)]]);
  });

  it('is no concern of a worker that knows that it runs elsewhere', async () => {
    const { worker, countersign } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    countersign.approve('1');
    const other = workerOf(countersign, { tools: [], toolsElsewhere: ['delete_file'] });
    expect(await other.resume(state)).toMatchObject({ stopReason: 'awaiting_execution' });
  });

  it('is requested with its definition and left to the worker that runs it', async () => {
    const { worker, countersign } = setUp();
    const requester = workerOf(countersign, { toolsElsewhere: ['delete_file'] });
    const { state } = await requester.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    countersign.approve('1');
    expect(await requester.resume(state)).toMatchObject({ stopReason: 'awaiting_execution' });
    expect(ran).toEqual([]);
    await worker.resume(state);
    expect(await requester.wait(state)).toMatchObject({ results: [{ status: 'succeeded' }] });
    expect(ran).toEqual(['/a']);
  });
});

describe('a worker', () => {
  it('is closed after its grace, also if a tool ignores its signal', async () => {
    const { worker } = setUp();
    const outcome = worker.step({ runId: 'r', toolCalls: [call('1', 'slow')] });
    while (gates.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    const startedAt = performance.now();
    await Promise.all([worker.close(50), expect(outcome).rejects.toThrow('the worker is closed')]);
    expect(performance.now() - startedAt).toBeLessThan(60_000);
  });

  it('waits without a limit for its tools when it is closed so', async () => {
    const { worker } = setUp();
    const outcome = worker.step({ runId: 'r', toolCalls: [call('1', 'slow')] });
    while (gates.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
    later(() => {
      for (const open of gates.splice(0)) open();
    });
    const startedAt = performance.now();
    await Promise.all([worker.close(Infinity), expect(outcome).rejects.toThrow('the worker is closed')]);
    expect(performance.now() - startedAt).toBeGreaterThan(15);
  });

  it.each([{ leaseMs: 1 }, { leaseMs: Number.NaN }, { leaseMs: 1e9 }, { toolTimeoutMs: 0 }])(
    'refuses the setting %j when it is made',
    (setting) => {
      expect(() => setUp(setting)).toThrow(/must be an integer from/);
    },
  );

  it('refuses a number that is none where it waits or serves', async () => {
    const { worker } = setUp();
    const step = { runId: 'r', toolCalls: [deletion('1', '/a')] };
    await expect(worker.run(step, { timeoutMs: Number.NaN })).rejects.toThrow('`timeoutMs` must be a number');
    await expect(worker.serve({ concurrency: 0 })).rejects.toThrow('`concurrency` must be an integer');
    await expect(worker.close(Number.NaN)).rejects.toThrow('`graceMs` must be a number');
  });

  it('cannot have two tools of one name', () => {
    expect(() => setUp({ tools: [...tools, ...tools.slice(0, 1)] })).toThrow(/two tools named delete_file/);
  });

  it('that is closed ends its waits', async () => {
    const { worker } = setUp();
    const { state } = await worker.step({ runId: 'r', toolCalls: [deletion('1', '/a')] });
    const waiting = worker.wait(state);
    later(() => void worker.close());
    await expect(waiting).rejects.toThrow('the worker is closed');
  });
});
