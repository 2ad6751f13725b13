import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from './tools/gate-tool.js';
import type { RunState } from './state.js';
import { createFakeCountersign } from './testing.js';
import type { ExecutionContext } from './tools/tool-definition.js';
import { createWorker } from './worker.js';
import type { Worker } from './worker-options.js';

const runId = 'r';
const step = { runId, toolCalls: [{ toolCallId: 'c', toolName: 'work', arguments: {} }] };
const clientCall = { toolCallId: 'c', toolName: 'fill', arguments: {} };
const clientStep = { runId, toolCalls: [clientCall] };
const state: RunState = {
  version: 1,
  runId,
  batchMode: null,
  calls: [{ toolCallId: 'c', toolName: 'work', callId: 'tc_1', argumentsHash: null, local: null, seenRevision: null }],
};

interface Setup {
  readonly execute?: (input: object, context: ExecutionContext) => unknown;
  readonly needsApproval?: boolean;
  readonly idempotent?: boolean;
}

function setUp(setup: Setup = {}, fetchOver?: typeof fetch) {
  const countersign = createFakeCountersign();
  const { execute = () => 'done', ...more } = setup;
  const inputSchema = z.strictObject({});
  const tools = [
    gateTool({ name: 'work', inputSchema, ...more, execute }),
    gateTool({ name: 'fill', inputSchema, clientExecuted: true }),
    gateTool({ name: 'slow', inputSchema, execute: () => new Promise(() => undefined) }),
  ];
  const fetch = fetchOver ?? countersign.fetch;
  return { countersign, worker: createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch }) };
}

/** A server that accepts every request and never responds. */
const hung: typeof fetch = (_, init) =>
  new Promise((_resolve, reject) => init?.signal?.addEventListener('abort', () => reject(new Error('aborted'))));

describe('a closed worker', () => {
  it.each<[string, (worker: Worker) => Promise<unknown>]>([
    ['step', (worker) => worker.step(step)],
    ['step of a client', (worker) => worker.step(clientStep)],
    ['run of a client', (worker) => worker.run(clientStep)],
    ['ask of a client', (worker) => worker.ask(clientStep)],
    ['call of a client', (worker) => worker.call({ runId, ...clientCall })],
    ['resume', (worker) => worker.resume(state)],
    ['wait', (worker) => worker.wait(state)],
    ['restore', (worker) => worker.restore(runId)],
    ['pending', (worker) => worker.pending(runId)],
  ])('no longer waits for a server that does not respond: %s', async (_, work) => {
    const { worker } = setUp({}, hung);
    const ended = work(worker).then(
      () => 'resolved',
      (error: unknown) => String(error),
    );
    await new Promise((resolve) => setTimeout(resolve, 10));
    await worker.close();
    const late = new Promise((resolve) => setTimeout(resolve, 500, 'still waits'));
    expect(await Promise.race([ended, late])).toContain('the worker is closed');
  });

  it('begins no tool while it waits for another one', async () => {
    const ran: string[] = [];
    const { worker, countersign } = setUp({ needsApproval: true, execute: () => ran.push('ran') });
    const slow = { runId, toolCalls: [{ toolCallId: 'slow', toolName: 'slow', arguments: {} }] };
    await worker.step(slow, { timeoutMs: 20 });
    const { state: asked } = await worker.step(step);
    countersign.approve('c');
    const closed = worker.close(100);
    await expect(worker.resume(asked)).rejects.toThrow('the worker is closed');
    await closed;
    expect(ran).toEqual([]);
    expect(countersign.callOf('c').state).toBe('approved');
  });
});

describe('a question from inside a tool that ends because the worker is closed', () => {
  it.each([
    [false, 'cancelled'],
    [true, 'awaiting_approval'],
  ])('with idempotent %s is %s', async (idempotent, questionState) => {
    const { worker, countersign } = setUp({
      idempotent,
      execute: (_, { ask }) => ask({ question: 'Which one?' }),
    });
    const ended = worker.step(step).catch(String);
    const question = await eventually(async () => (await worker.pending(runId))[0]);
    await worker.close();
    expect(await ended).toContain('the worker is closed');
    expect(countersign.callOf(question.toolCallId).state).toBe(questionState);
  });
});

async function eventually<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const value = await read().catch(() => undefined);
    if (value !== undefined) return value;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
