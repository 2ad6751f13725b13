import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from '../tools/gate-tool.js';
import type { RunState } from '../state.js';
import { createFakeCountersign } from '../testing.js';
import { createWorker } from '../worker.js';
import type { Worker, WorkerOptions } from '../worker-options.js';

const workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

const tools = [
  gateTool({ name: 'work', inputSchema: z.strictObject({}), execute: () => 'done' }),
  gateTool({
    name: 'fill',
    inputSchema: z.strictObject({ n: z.number().refine((n) => n < 10), unit: z.string().default('m') }),
    needsApproval: true,
    clientExecuted: true,
  }),
];

function setUp(more: Partial<WorkerOptions> = {}) {
  const countersign = createFakeCountersign();
  const bodies: Record<string, unknown>[] = [];
  const noted: typeof fetch = (url, init) => {
    if (typeof init?.body === 'string') bodies.push(JSON.parse(init.body) as Record<string, unknown>);
    return countersign.fetch(url, init);
  };
  const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch: noted, ...more });
  workers.push(worker);
  return { countersign, worker, bodies };
}

const runId = 'r';
const step = { runId, toolCalls: [{ toolCallId: 'c', toolName: 'work', arguments: {} }] };
const state: RunState = {
  version: 1,
  runId,
  batchMode: null,
  calls: [{ toolCallId: 'c', toolName: 'work', callId: 'tc_1', argumentsHash: null, local: null, seenRevision: null }],
};

describe('a time limit', () => {
  const hung: typeof fetch = (_, init) =>
    new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))));
  const refusing: typeof fetch = () => Promise.reject(new TypeError('fetch failed'));
  const works: readonly (readonly [limitMs: number, (worker: Worker) => Promise<unknown>])[] = [
    [5000, (worker) => worker.step(step, { timeoutMs: 40 })],
    [5000, (worker) => worker.run(step, { timeoutMs: 0 })],
    [5000, (worker) => worker.resume(state, { timeoutMs: 40 })],
    [5000, (worker) => worker.restore(runId, { timeoutMs: 40 })],
    [5000, (worker) => worker.wait(state, { timeoutMs: 40 })],
    [5000, (worker) => worker.wait(state, { timeoutMs: 0 })],
  ];

  it('also counts while the server is away, and a request has 5 s at least', async () => {
    const all = [hung, refusing].flatMap((fetch) =>
      works.map(async ([limitMs, work]) => {
        const ended = work(setUp({ fetch }).worker).catch((error: unknown) => error);
        const late = new Promise((resolve) => setTimeout(resolve, 9000, 'still waits'));
        expect(await Promise.race([ended, late])).toMatchObject({
          code: 'unreachable',
          message: expect.stringContaining(`within ${String(limitMs)} ms`),
        });
      }),
    );
    await Promise.all(all);
  });

  it('of 0 is for the wait alone: the request is made', async () => {
    const { worker } = setUp();
    await expect(worker.step(step, { timeoutMs: 0 })).resolves.toMatchObject({ state: { runId } });
  });

  it('of 0 looks once, and returns what has its result', async () => {
    const { worker, countersign } = setUp();
    const asked = { toolCallId: 'f', toolName: 'fill', arguments: { n: 1 } };
    const first = await worker.step({ runId, toolCalls: [...step.toolCalls, asked] });
    const now = { timeoutMs: 0 };
    const known = { results: [{ status: 'succeeded' }], stopReason: 'awaiting_approval' };
    expect([await worker.wait(first.state, now), await worker.resume(first.state, now)]).toMatchObject([known, known]);
    countersign.deny('f');
    expect(await worker.wait(first.state, now)).toMatchObject({
      ...{ stopReason: null, results: [{ status: 'succeeded' }, { status: 'denied' }] },
    });
  });

  it('of 0 starts what may run, and does not wait for it', async () => {
    const gate = Promise.withResolvers<string>();
    const slow = gateTool({ name: 'work', inputSchema: z.strictObject({}), execute: () => gate.promise });
    const { worker } = setUp({ tools: [slow] });
    const begun = await worker.run(step, { timeoutMs: 0 });
    expect(begun).toMatchObject({ results: [], stopReason: 'awaiting_execution' });
    gate.resolve('done');
    expect(await worker.wait(begun.state)).toMatchObject({ results: [{ output: 'done' }] });
  });
});

describe('ask', () => {
  it.each([
    ['that its schema refuses', { n: 50 }, 'invalid-arguments'],
    ['that its schema changes', { n: 5 }, 'digest-mismatch'],
  ])('hands out no client call with an edit %s', async (_, edit, code) => {
    const { worker, countersign } = setUp();
    const asked = { runId, toolCalls: [{ toolCallId: 'c', toolName: 'fill', arguments: { n: 1, unit: 'm' } }] };
    await worker.ask(asked);
    countersign.edit('c', edit);
    const outcome = await worker.ask(asked);
    expect(outcome).toMatchObject({ clientCalls: [], results: [{ status: 'failed', error: { code } }] });
  });
});

describe('a request', () => {
  it.each(['日本', 'a\nb', '', 'x'.repeat(256)])('cannot have the id %j', async (requestId) => {
    const { worker, bodies } = setUp();
    await expect(worker.step({ ...step, requestId })).rejects.toThrow(TypeError);
    await expect(worker.ask({ ...step, requestId })).rejects.toThrow(/requestId/);
    expect(bodies).toEqual([]);
  });

  it('of an agent with a long id names a resolver of whole characters', async () => {
    const { worker, bodies } = setUp({ agentId: `${'a'.repeat(199)}😀` });
    await worker.step(step);
    const { resolverId } = bodies.find((body) => 'resolverId' in body) ?? {};
    expect(resolverId).toMatch(/^a{199}\ufffd\//);
  });
});
