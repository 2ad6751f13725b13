import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from './tools/gate-tool.js';
import { createFakeCountersign } from './testing.js';
import type { Worker, WorkerOptions } from './worker-options.js';
import { createWorker } from './worker.js';

const workers: Worker[] = [];
const ran: string[] = [];
const tools = [
  gateTool({
    name: 'remove',
    inputSchema: z.strictObject({ path: z.string() }),
    needsApproval: ({ path }) => path.startsWith('/etc/'),
    execute: ({ path }) => {
      ran.push(path);
      return path;
    },
  }),
];
const remove = (toolCallId: string, path: string) => ({ toolCallId, toolName: 'remove', arguments: { path } });

function setUp(more: Partial<WorkerOptions>) {
  const countersign = createFakeCountersign();
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch: countersign.fetch };
  const worker = createWorker({ ...options, random: () => 0, ...more });
  workers.push(worker);
  return { countersign, worker };
}

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
  ran.length = 0;
});

describe('the hooks of a worker', () => {
  it('get copies: one that changes a call or a result changes neither for the worker nor for another hook', async () => {
    const seen: unknown[] = [];
    const spoil = (fact: { readonly arguments: unknown }): void => {
      seen.push(structuredClone(fact.arguments));
      Object.assign(fact.arguments as object, { path: 'swapped' });
    };
    const { worker, countersign } = setUp({ hooks: { onRequested: spoil, onDecided: spoil, onResult: spoil } });
    const { state, pendingApprovals } = await worker.step({ runId: 'r', toolCalls: [remove('1', '/etc/a')] });
    expect(pendingApprovals).toMatchObject([{ arguments: { path: '/etc/a' } }]);
    countersign.approve('1');
    const { results } = await worker.resume(state);
    expect(results).toMatchObject([{ arguments: { path: '/etc/a' }, output: '/etc/a' }]);
    expect(seen).toEqual([{ path: '/etc/a' }, { path: '/etc/a' }, { path: '/etc/a' }]);
  });

  it('hear of each request, decision and result once', async () => {
    const heard: string[] = [];
    const { worker, countersign } = setUp({
      hooks: {
        onRequested: ({ toolCallId, state }) => void heard.push(`requested ${toolCallId} ${state}`),
        onDecided: ({ toolCallId, approval }) => void heard.push(`decided ${toolCallId} ${String(approval?.state)}`),
        onResult: ({ toolCallId, status }) => void heard.push(`result ${toolCallId} ${status}`),
      },
    });
    const step = {
      runId: 'r',
      toolCalls: [
        remove('1', '/tmp/a'),
        remove('2', '/etc/b'),
        remove('3', '/etc/c'),
        { ...remove('4', ''), toolName: 'x' },
      ],
    };
    const first = await worker.step(step);
    expect(heard.splice(0)).toEqual([
      'result 4 failed',
      'requested 1 allowed',
      'requested 2 awaiting_approval',
      'requested 3 awaiting_approval',
      'result 1 succeeded',
    ]);
    countersign.approve('2');
    const second = await worker.wait(first.state);
    countersign.deny('3');
    await worker.wait(second.state);
    await worker.step(step);
    expect(heard).toEqual(['decided 2 approved', 'result 2 succeeded', 'decided 3 denied', 'result 3 denied']);
  });

  it('break nothing when they throw or reject, and are logged', async () => {
    const lines: unknown[] = [];
    const log = { warn: () => undefined, error: (...line: readonly unknown[]) => void lines.push(line) };
    const { worker } = setUp({
      log,
      hooks: {
        onRequested: () => {
          throw new Error('no disk');
        },
        onResult: () => Promise.reject(new Error('no network')),
      },
    });
    const { results } = await worker.run({ runId: 'r', toolCalls: [remove('1', '/tmp/a')] });
    expect(results).toMatchObject([{ status: 'succeeded' }]);
    expect(lines).toMatchObject([
      [{ hook: 'onRequested', error: 'no disk' }, 'a hook failed'],
      [{ hook: 'onResult', error: 'no network' }, 'a hook failed'],
    ]);
  });
});

describe('a sequential step', () => {
  it.each([
    ['of its own', {}, { sequential: true }],
    ['by the worker', { sequential: true }, {}],
  ])('%s runs its calls one after another in their order', async (_, options, step) => {
    const { worker, countersign } = setUp(options);
    const toolCalls = [remove('1', '/tmp/a'), remove('2', '/etc/b'), remove('3', '/tmp/c'), remove('4', '/tmp/d')];
    const first = await worker.step({ runId: 'r', toolCalls, ...step });
    expect(first).toMatchObject({ results: [{ toolCallId: '1' }], stopReason: 'awaiting_approval' });
    expect(ran).toEqual(['/tmp/a']);
    countersign.deny('2');
    let outcome = await worker.wait(first.state);
    while (outcome.stopReason !== null) outcome = await worker.wait(outcome.state);
    expect(ran).toEqual(['/tmp/a', '/tmp/c', '/tmp/d']);
    expect(outcome.results.map(({ status }) => status)).toEqual(['succeeded', 'denied', 'succeeded', 'succeeded']);
  });

  it('hands a call out to the client only in its turn', async () => {
    const form = gateTool({ name: 'form', inputSchema: z.strictObject({}), clientExecuted: true });
    const { worker, countersign } = setUp({ tools: [...tools, form] });
    const toolCalls = [remove('1', '/etc/a'), { toolCallId: '2', toolName: 'form', arguments: {} }];
    const first = await worker.step({ runId: 'r', sequential: true, toolCalls });
    expect(first).toMatchObject({ clientCalls: [], stopReason: 'awaiting_approval' });
    countersign.approve('1');
    expect(await worker.wait(first.state)).toMatchObject({ clientCalls: [{ toolCallId: '2' }] });
  });
});

describe('a question from inside a running tool', () => {
  const order = gateTool({
    name: 'order',
    inputSchema: z.strictObject({}),
    toolTimeoutMs: 100,
    execute: async (_, { ask }) => ({ size: await ask({ question: 'Which size?', details: { sizes: ['S', 'M'] } }) }),
  });
  const step = { runId: 'r', toolCalls: [{ toolCallId: '1', toolName: 'order', arguments: {} }] };

  async function untilAsked(client: Worker['client']) {
    for (;;) {
      const { calls } = await client.listToolCalls({ toolName: 'ask_person' });
      if (calls[0] !== undefined) return calls[0];
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }

  it('is a call of its own that only a person can answer, and stops the time of the tool', async () => {
    const { worker, countersign } = setUp({ tools: [order] });
    const ended = worker.run(step);
    const { toolCallId, approval } = await untilAsked(worker.client);
    expect(approval).toMatchObject({
      description: 'Which size?',
      allowedDecisions: ['deny', 'answer'],
      arguments: { question: 'Which size?', details: { sizes: ['S', 'M'] } },
    });
    await new Promise((resolve) => setTimeout(resolve, 150));
    countersign.answer(toolCallId, 'M');
    expect((await ended).results).toMatchObject([{ status: 'succeeded', output: { size: 'M' } }]);
    expect((await worker.restore('r')).results).toHaveLength(1);
  });

  it('has labels of its own, such as that for the chat', async () => {
    const inChat = gateTool({
      ...{ name: 'order', inputSchema: z.strictObject({}), labels: { env: 'dev' } },
      execute: (_, { ask }) => ask({ question: 'Which?', labels: { telegramChat: '-1001' } }),
    });
    const { worker, countersign } = setUp({ tools: [inChat] });
    const ended = worker.run(step);
    const { toolCallId, approval } = await untilAsked(worker.client);
    expect(approval?.labels).toEqual({ telegramChat: '-1001' });
    countersign.deny(toolCallId);
    await ended;
  });

  it('fails the tool when it is denied, unless the tool expects that', async () => {
    const { worker, countersign } = setUp({ tools: [order] });
    const ended = worker.run(step);
    countersign.deny((await untilAsked(worker.client)).toolCallId, { reason: 'not my job' });
    const [result] = (await ended).results;
    expect(result).toMatchObject({ status: 'failed', message: expect.stringContaining('not my job') });
  });

  it('is cancelled when its tool ends without the answer', async () => {
    const hasty = gateTool({
      name: 'order',
      inputSchema: z.strictObject({}),
      execute: async (_, { ask }) => {
        void ask({ question: 'Which size?' });
        return untilAsked(worker.client).then(() => 'M');
      },
    });
    const { worker, countersign } = setUp({ tools: [hasty] });
    expect((await worker.run(step)).results).toMatchObject([{ status: 'succeeded', output: 'M' }]);
    const { callId, toolCallId } = await untilAsked(worker.client);
    await worker.client.getToolCall(callId, { waitMs: 2000, until: 'decided' });
    expect(countersign.callOf(toolCallId).state).toBe('cancelled');
  });

  it('cannot be asked by the model', async () => {
    const { worker } = setUp({ tools: [order] });
    const toolCalls = [{ toolCallId: '1', toolName: 'ask_person', arguments: { question: 'Give me the password' } }];
    const { results } = await worker.step({ runId: 'r', toolCalls });
    expect(results).toMatchObject([{ status: 'failed', error: { code: 'unknown-tool' } }]);
  });
});
