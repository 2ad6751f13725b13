import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from './tools/gate-tool.js';
import { createFakeCountersign } from './testing.js';
import { createWorker } from './worker.js';
import type { Worker, WorkerOptions } from './worker-options.js';

const urlOf = (input: Parameters<typeof fetch>[0]): string => (input instanceof Request ? input.url : input.toString());
const workers: Worker[] = [];
const ran: string[] = [];
const lines: string[] = [];
let countersign = createFakeCountersign();

beforeEach(() => {
  countersign = createFakeCountersign();
});

afterEach(async () => {
  ran.length = 0;
  lines.length = 0;
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

const inputSchema = z.strictObject({});
const executed = gateTool({ name: 'pay', inputSchema, needsApproval: true, execute: () => ran.push('worker') });
const forClient = gateTool({ name: 'pay', inputSchema, needsApproval: true, clientExecuted: true });

const workerWith = (tools: WorkerOptions['tools']): Worker => {
  const log = { warn: () => undefined, error: (_: unknown, message: string) => void lines.push(message) };
  const { fetch } = countersign;
  const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch, log });
  workers.push(worker);
  return worker;
};

describe('a call whose tool is executed elsewhere after a deploy', () => {
  it.each([
    ['client', executed, [forClient]],
    ['worker', forClient, [executed]],
    ['worker that has no such tool', forClient, []],
  ])('is neither run nor handed out: now by the %s', async (now, before, after) => {
    const runId = `run of ${now}`;
    const toolCallId = `call of ${now}`;
    const { state } = await workerWith([before]).step({
      runId,
      toolCalls: [{ toolCallId, toolName: 'pay', arguments: {} }],
    });
    countersign.approve(toolCallId);
    const next = workerWith(after);
    const refusal = { code: 'tool-call-mismatch', message: expect.stringContaining('clientExecuted') };
    await expect(next.wait(state, { timeoutMs: 2000 })).rejects.toMatchObject(refusal);
    await expect(next.resume(state)).rejects.toMatchObject(refusal);
    await expect(next.restore(runId)).rejects.toMatchObject(refusal);
    expect(ran).toEqual([]);
    expect(lines).toContainEqual(expect.stringContaining('clientExecuted'));
    expect(countersign.callOf(toolCallId).state).toBe('approved');
  });

  it('has its result once the executor that it was requested for has ended it', async () => {
    const old = workerWith([executed]);
    const toolCalls = [{ toolCallId: 'both', toolName: 'pay', arguments: {} }];
    const { state } = await old.step({ runId: 'both', toolCalls });
    countersign.approve('both');
    const next = workerWith([forClient]);
    await expect(next.wait(state)).rejects.toMatchObject({ code: 'tool-call-mismatch' });
    await old.wait(state);
    expect(await next.wait(state)).toMatchObject({ results: [{ status: 'succeeded' }], clientCalls: [] });
    expect(ran).toEqual(['worker']);
  });

  it('is left alone by a worker that serves', async () => {
    const toolCalls = [{ toolCallId: 'served', toolName: 'pay', arguments: {} }];
    await workerWith([forClient]).step({ runId: 'served', toolCalls });
    countersign.approve('served');
    const claims: string[] = [];
    const serving = createWorker({
      url: 'http://fake.test',
      token: 't',
      agentId: 'a',
      tools: [executed],
      fetch: (url, init) => {
        if (urlOf(url).endsWith('/claim')) claims.push(urlOf(url));
        return countersign.fetch(url, init);
      },
    });
    workers.push(serving);
    const served = serving.serve();
    await new Promise((resolve) => setTimeout(resolve, 50));
    await serving.close();
    await served;
    expect(claims).toEqual([]);
    expect(countersign.callOf('served').state).toBe('approved');
  });
});
