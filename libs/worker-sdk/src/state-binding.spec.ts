import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import type { RunState } from './state.js';
import { createFakeCountersign } from './testing.js';
import { gateTool } from './tools/gate-tool.js';
import { createWorker } from './worker.js';
import type { Worker, WorkerOptions } from './worker-options.js';

const ran: unknown[] = [];
const workers: Worker<string>[] = [];
const tools = [
  gateTool({
    name: 'pay',
    inputSchema: z.strictObject({ amount: z.number() }),
    needsApproval: true,
    execute: ({ amount }, { context }: { readonly context: unknown }) => ran.push([amount, context]),
  }),
];

afterEach(async () => {
  ran.length = 0;
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

const step = (runId: string) => ({
  runId,
  toolCalls: [{ toolCallId: 'c', toolName: 'pay', arguments: { amount: 5 } }],
});

async function setUp(options: Partial<WorkerOptions<string>> = {}) {
  const countersign = createFakeCountersign();
  const open = (more: Partial<WorkerOptions<string>> = {}): Worker<string> => {
    const { fetch } = countersign;
    const worker = createWorker({
      url: 'http://fake.test',
      token: 't',
      agentId: 'a',
      tools,
      fetch,
      ...options,
      ...more,
    });
    workers.push(worker);
    return worker;
  };
  const worker = open();
  const { state } = await worker.step(step('of-alice'), { bindTo: 'alice' });
  countersign.approve('c');
  return { open, worker, countersign, state: JSON.parse(JSON.stringify(state)) as RunState };
}

const notBound = { code: 'state-not-bound' };

describe('a state that is bound to a user', () => {
  it('is resumed for this user alone, also by another process and from an old copy', async () => {
    const { open, worker, state } = await setUp();
    for (const bindTo of ['bob', undefined]) {
      await expect(worker.resume(state, { bindTo, context: 'bob' })).rejects.toMatchObject(notBound);
      await expect(worker.wait(state, { bindTo, context: 'bob' })).rejects.toMatchObject(notBound);
    }
    expect(ran).toEqual([]);
    const done = await open().wait(state, { bindTo: 'alice', context: 'alice' });
    expect(done.results).toMatchObject([{ status: 'succeeded' }]);
    expect(ran).toEqual([[5, 'alice']]);
    for (const copy of [state, done.state])
      expect((await worker.resume(copy, { bindTo: 'alice' })).results).toHaveLength(1);
  });

  it('cannot be made from one of another user, or without its proof', async () => {
    const { worker, state } = await setUp();
    const { state: own } = await worker.step(step('of-bob'), { bindTo: 'bob' });
    const { binding, ...bare } = state;
    expect(binding).toEqual(expect.any(String));
    const forged: RunState[] = [{ ...state, binding: own.binding }, { ...own, calls: state.calls }, bare];
    for (const one of forged) await expect(worker.resume(one, { bindTo: 'bob' })).rejects.toMatchObject(notBound);
    expect(ran).toEqual([]);
  });

  it('keeps its user through run, ask and restore', async () => {
    const { worker } = await setUp();
    const bound = { bindTo: 'alice' };
    const outcomes = [
      await worker.run(step('of-alice'), bound),
      await worker.ask(step('of-alice'), bound),
      await worker.restore('of-alice', bound),
    ];
    for (const { state } of outcomes) {
      await expect(worker.resume(state)).rejects.toMatchObject(notBound);
      expect((await worker.resume(state, bound)).results).toHaveLength(1);
    }
  });

  it('is proven by the token, or by a key of its own when the token changes', async () => {
    const { open, state } = await setUp();
    await expect(open({ token: 'next' }).resume(state, { bindTo: 'alice' })).rejects.toMatchObject(notBound);
    const keyed = await setUp({ stateKey: 'a secret of the application' });
    const { results } = await keyed.open({ token: 'next' }).resume(keyed.state, { bindTo: 'alice' });
    expect(results).toHaveLength(1);
  });
});

it('a user without a name is refused, and so is an empty key', async () => {
  const { worker, open, state } = await setUp();
  await expect(worker.step(step('r'), { bindTo: ' ' })).rejects.toThrow(/^bindTo is empty/);
  await expect(worker.resume(state, { bindTo: '' })).rejects.toThrow(/^bindTo is empty/);
  await expect(worker.restore('of-alice', { bindTo: '' })).rejects.toThrow(/^bindTo is empty/);
  expect(() => open({ stateKey: '' })).toThrow(/^stateKey is empty/);
});

it('a state without a user resumes without one, as before', async () => {
  const { worker } = await setUp();
  const { state } = await worker.step(step('of-alice'));
  expect(state).not.toHaveProperty('binding');
  expect((await worker.resume(state)).results).toHaveLength(1);
});
