import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from '../tools/gate-tool.js';
import type { ExecutionContext } from '../tools/tool-definition.js';
import { approvalFor } from '../results/outcome.js';
import { modelText } from '../results/model-text.js';
import { assertRequested } from '../results/not-approved.js';
import { createFakeCountersign, type FakeCountersign } from '../testing.js';
import type { Worker } from '../worker-options.js';
import { createWorker } from '../worker.js';

interface Tenant {
  readonly tenant: string;
}

const ran: (ExecutionContext<Tenant> & { readonly amount: number })[] = [];

const refund = gateTool({
  name: 'refund',
  inputSchema: z.strictObject({ amount: z.int() }),
  needsApproval: ({ amount }, { context }: { readonly context: Tenant | undefined }) =>
    amount > 10 || context?.tenant === 'strict',
  execute: ({ amount }, context: ExecutionContext<Tenant>) => {
    ran.push({ ...context, amount });
    return { refunded: amount };
  },
});

const workers: Worker<Tenant>[] = [];

function workerOf(countersign: FakeCountersign): Worker<Tenant> {
  const { fetch } = countersign;
  const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools: [refund], fetch });
  workers.push(worker);
  return worker;
}

const call = (amount: number) => ({
  runId: 'run',
  toolCallId: 'c1',
  toolName: 'refund',
  arguments: { amount },
});

afterEach(async () => {
  ran.length = 0;
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});

describe('a call that a framework is about to run', () => {
  it('runs at once when no approval is needed', async () => {
    const { result, approval } = await workerOf(createFakeCountersign()).call(call(5));
    expect(result).toMatchObject({ status: 'succeeded', output: { refunded: 5 } });
    expect(approval).toBeNull();
  });

  it('returns the pending approval and does not run', async () => {
    const { result, approval } = await workerOf(createFakeCountersign()).call(call(50));
    expect(result).toBeNull();
    expect(approval).toMatchObject({ toolCallId: 'c1', state: 'pending' });
    expect(ran).toHaveLength(0);
  });

  it('runs after the approval, and returns the recorded result to everybody who calls again', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    await worker.call(call(50));
    countersign.approve('c1');
    const [first, second] = await Promise.all([worker.call(call(50)), workerOf(countersign).call(call(50))]);
    expect(first.result).toEqual(second.result);
    expect(await worker.call(call(50))).toEqual(first);
    expect(ran).toHaveLength(1);
  });

  it('waits for people up to the time limit', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    const { state } = await worker.ask({ runId: 'run', toolCalls: [call(50)] });
    expect(state.calls).toHaveLength(1);
    const ended = worker.call(call(50), { timeoutMs: 60_000 });
    countersign.deny('c1', { reason: 'not today' });
    expect((await ended).result).toMatchObject({ status: 'denied', reason: 'not today' });
  });

  it('is over when the time limit is over', async () => {
    const { result, approval } = await workerOf(createFakeCountersign()).call(call(50), { timeoutMs: 20 });
    expect(result).toBeNull();
    expect(approval).not.toBeNull();
  });
});

describe('ask', () => {
  it('requests and runs nothing, though no approval is needed', async () => {
    const countersign = createFakeCountersign();
    const outcome = await workerOf(countersign).ask({ runId: 'run', toolCalls: [call(5)] });
    expect(outcome.stopReason).toBe('awaiting_execution');
    expect(countersign.callOf('c1').state).toBe('allowed');
    expect(ran).toHaveLength(0);
  });

  it('waits up to the time limit until no call waits for people, and runs nothing', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    const two = [call(50), { ...call(60), toolCallId: 'c2' }];
    const asked = worker.ask({ runId: 'run', toolCalls: two }, { timeoutMs: 60_000 });
    await worker.ask({ runId: 'run', toolCalls: two });
    countersign.approve('c1');
    countersign.deny('c2');
    const outcome = await asked;
    expect(outcome.pendingApprovals).toEqual([]);
    expect(outcome.results).toMatchObject([{ toolCallId: 'c2', status: 'denied' }]);
    expect(ran).toHaveLength(0);
    expect(countersign.callOf('c1').state).toBe('approved');
  });

  it('returns what is pending when the time limit is over', async () => {
    const { pendingApprovals } = await workerOf(createFakeCountersign()).ask(
      { runId: 'run', toolCalls: [call(50)] },
      { timeoutMs: 20 },
    );
    expect(pendingApprovals).toHaveLength(1);
  });

  it('finds the approval of a call by its toolCallId', async () => {
    const outcome = await workerOf(createFakeCountersign()).ask({ runId: 'run', toolCalls: [call(50)] });
    expect(approvalFor(outcome, 'c1')).toBe(outcome.pendingApprovals[0]);
    expect(approvalFor(outcome, 'c2')).toBeUndefined();
  });
});

describe('pending', () => {
  it('returns the pending approvals of the run, and waits up to the time limit until there are none', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    expect(await worker.pending('run')).toEqual([]);
    await worker.ask({ runId: 'run', toolCalls: [call(50), { ...call(60), toolCallId: 'c2' }] });
    await worker.ask({ runId: 'other', toolCalls: [{ ...call(50), toolCallId: 'c9' }] });
    expect((await worker.pending('run', { timeoutMs: 20 })).map(({ toolCallId }) => toolCallId)).toEqual(['c1', 'c2']);
    const waiting = worker.pending('run', { timeoutMs: 60_000 });
    countersign.deny('c2');
    countersign.approve('c1');
    expect(await waiting).toEqual([]);
    expect(ran).toHaveLength(0);
  });

  it('returns all of them when they are more than a page of the server', async () => {
    const worker = workerOf(createFakeCountersign());
    const toolCalls = Array.from({ length: 101 }, (_, index) => ({ ...call(50), toolCallId: `c${String(index)}` }));
    await worker.ask({ runId: 'run', toolCalls });
    const pending = await worker.pending('run');
    expect(pending.map(({ toolCallId }) => toolCallId)).toEqual(toolCalls.map(({ toolCallId }) => toolCallId));
  });
});

describe('the fake Countersign', () => {
  it('cancels a call that has not ended, or all of a run', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    const calls = ['c1', 'c2', 'c3'].map((toolCallId) => ({ ...call(50), toolCallId }));
    await worker.ask({ runId: 'run', toolCalls: calls });
    countersign.deny('c1');
    await expect(worker.cancel(countersign.callOf('c1').callId, 'no')).rejects.toThrow(/already-settled/);
    await worker.cancel(countersign.callOf('c2').callId, 'the user left');
    await worker.cancelRun('run', 'the end');
    expect(countersign.callOf('c1').state).toBe('denied');
    expect(countersign.callOf('c2')).toMatchObject({ state: 'cancelled', error: { message: 'the user left' } });
    expect(countersign.callOf('c3')).toMatchObject({ state: 'cancelled', error: { message: 'the end' } });
  });
});

describe('assertRequested', () => {
  it('throws for a call that the run does not have, and records nothing', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    await worker.ask({ runId: 'run', toolCalls: [call(50)] });
    await assertRequested(worker, 'run', ['c1']);
    await expect(assertRequested(worker, 'run', ['c1', 'c9'])).rejects.toThrow(
      'The call c9 did not run: it was never requested in Countersign.',
    );
    expect(() => countersign.callOf('c9')).toThrow();
  });
});

describe('the context', () => {
  it('reaches the predicate and the tool', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    const strict = { context: { tenant: 'strict' } };
    expect((await worker.call(call(5), strict)).approval).not.toBeNull();
    countersign.approve('c1');
    await worker.call({ ...call(5), messages: ['hello'] }, strict);
    expect(ran).toMatchObject([{ amount: 5, context: { tenant: 'strict' }, messages: ['hello'] }]);
  });
});

describe('modelText', () => {
  it('is the output as JSON, with the arguments that ran after an edit and the instruction', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    await worker.call(call(50));
    countersign.edit('c1', { amount: 7 }, { instruction: 'apologise' });
    const { result } = await worker.call(call(50));
    expect(result === null ? '' : modelText(result)).toBe(
      [
        '{"refunded":7}',
        'An approver changed the arguments before it ran; these are the ones it ran with.',
        'Arguments: {"amount":7}',
        'Instruction of the approver: apologise',
      ].join('\n'),
    );
  });

  it('says why a denied call did not run', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    await worker.call(call(50));
    countersign.deny('c1', { reason: 'not today' });
    const { result } = await worker.call(call(50));
    expect(result === null ? '' : modelText(result)).toMatch(/was denied.*not today/);
  });
});
