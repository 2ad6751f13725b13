import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { gateTool, type JsonObject, type StepOutcome, type ToolResult } from '@countersign/worker-sdk';
import { z } from 'zod';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { startWorld, untilNoted } from './worker-sdk/setup.js';
import type { World } from './worker-sdk/setup.js';

cleanUpAfterEach();

const call = (toolCallId: string, toolName: string, args: JsonObject) => ({ toolCallId, toolName, arguments: args });

function deletions(expiresInMs?: number) {
  const ran: string[] = [];
  const tool = gateTool({
    name: 'delete_file',
    inputSchema: z.strictObject({
      path: z
        .string()
        .startsWith('/')
        .refine((path) => !path.includes('..')),
    }),
    needsApproval: ({ path }) => !path.startsWith('/tmp/'),
    ...(expiresInMs === undefined ? {} : { expiresInMs }),
    execute: ({ path }) => {
      ran.push(path);
      return { deleted: path };
    },
  });
  return { ran, tool, deletion: (toolCallId: string, path: string) => call(toolCallId, 'delete_file', { path }) };
}

async function waitForAll(worker: { wait: (state: StepOutcome['state']) => Promise<StepOutcome> }, first: StepOutcome) {
  let outcome = first;
  while (outcome.stopReason !== null) outcome = await worker.wait(outcome.state);
  return outcome.results;
}

const approvalOf = ({ pendingApprovals }: StepOutcome, index: number): string =>
  pendingApprovals[index]?.approvalId ?? '';
const statuses = (results: readonly ToolResult[]): unknown =>
  results.map(({ toolCallId, status }) => [toolCallId, status]);

test('a restored run asks people about an allowed call that its tool does not allow, and runs it once', async () => {
  const { me, workerOf } = await startWorld();
  const { ran, tool } = deletions();
  const worker = workerOf([tool]);
  const { toolSchema } = tool;
  const requested = { toolCallId: 'c', toolName: 'delete_file', arguments: { path: '/etc/x' }, toolSchema };
  const [allowed] = await worker.client.requestToolCalls({ runId: 'r', agentId: 'agent', calls: [requested] });
  expect(allowed?.state).toBe('allowed');
  const first = await worker.restore('r');
  expect([first.stopReason, ran]).toEqual(['awaiting_approval', []]);
  await me.respond(approvalOf(first, 0), { decision: { type: 'approve' } });
  expect(statuses(await waitForAll(worker, first))).toEqual([['c', 'succeeded']]);
  expect(ran).toEqual(['/etc/x']);
});

test('every kind of answer becomes the one result of its call, in several rounds and in order', async () => {
  const { me, workerOf } = await startWorld();
  const { ran, tool, deletion } = deletions();
  const worker = workerOf([tool]);
  const toolCalls = ['/a', '/tmp/b', '/c', '/d', '/e', 'relative', '/f'].map((path, index) =>
    deletion(`c${index}`, path),
  );
  const first = await worker.step({ runId: 'r', toolCalls });
  expect(statuses(first.results)).toEqual([
    ['c1', 'succeeded'],
    ['c5', 'failed'],
  ]);
  expect(first.pendingApprovals.map(({ arguments: args }) => args['path'])).toEqual(['/a', '/c', '/d', '/e', '/f']);

  await me.respond(approvalOf(first, 1), {
    decision: { type: 'deny' },
    reason: 'keep it',
    instruction: 'archive instead',
  });
  const second = await worker.wait(first.state);
  expect(statuses(second.results)).toEqual([
    ['c1', 'succeeded'],
    ['c2', 'denied'],
    ['c5', 'failed'],
  ]);

  await me.respond(approvalOf(first, 0), { decision: { type: 'approve' } });
  await me.respond(approvalOf(first, 2), { decision: { type: 'edit', arguments: { path: '/other' } } });
  await me.respond(approvalOf(first, 3), { decision: { type: 'answer', output: { deleted: 'by hand' } } });
  // It passes the server's schema, but not the tool's own check.
  await me.respond(approvalOf(first, 4), { decision: { type: 'edit', arguments: { path: '/tmp/../etc' } } });
  const results = await waitForAll(worker, second);
  expect(results).toMatchObject([
    { status: 'succeeded', output: { deleted: '/a' }, decidedBy: ['me'] },
    { status: 'succeeded', output: { deleted: '/tmp/b' }, decidedBy: [] },
    { status: 'denied', reason: 'keep it', instruction: 'archive instead' },
    { status: 'succeeded', output: { deleted: '/other' }, edited: true },
    { status: 'succeeded', output: { deleted: 'by hand' }, answered: true },
    { status: 'failed', error: { code: 'invalid-arguments' }, callId: null },
    { status: 'failed', error: { code: 'invalid-arguments' }, edited: true },
  ]);
  expect(ran.toSorted()).toEqual(['/a', '/other', '/tmp/b']);

  const next = await worker.step({ runId: 'r', toolCalls: [deletion('c9', '/g')] });
  await me.respond(approvalOf(next, 0), { decision: { type: 'approve' } });
  expect(statuses(await waitForAll(worker, next))).toEqual([['c9', 'succeeded']]);
  expect((await worker.restore('r')).results).toHaveLength(7);
});

test('an unanswered approval expires and can be requested again; a call that the agent drops is cancelled', async () => {
  const { me, workerOf } = await startWorld();
  const { ran, tool, deletion } = deletions(400);
  const worker = workerOf([tool]);
  const startedAt = performance.now();
  const expired = await worker.run({ runId: 'r', toolCalls: [deletion('c1', '/a')] });
  expect(expired.results).toMatchObject([{ status: 'expired', reason: 'no person answered in time' }]);
  expect(performance.now() - startedAt).toBeLessThan(60_000);

  await worker.requestAgain(expired.results[0]?.callId ?? '', { expiresInMs: 60_000 });
  const again = await worker.resume(expired.state);
  expect(again).toMatchObject({ stopReason: 'awaiting_approval', pendingApprovals: [{ round: 2 }] });
  await me.respond(approvalOf(again, 0), { decision: { type: 'approve' } });
  expect(await waitForAll(worker, again)).toMatchObject([{ status: 'succeeded' }]);

  const other = workerOf([deletions().tool]);
  const paused = await other.step({ runId: 'other', toolCalls: [deletion('c1', '/b')] });
  await other.client.cancelRun('other', 'the user closed the window');
  expect(await waitForAll(other, paused)).toMatchObject([
    { status: 'cancelled', reason: 'the user closed the window' },
  ]);
  expect(ran).toEqual(['/a']);
});

test('approved calls run side by side, and nothing polls meanwhile', async () => {
  const { me, workerOf } = await startWorld();
  const running = { now: 0, most: 0 };
  const slow = gateTool({
    name: 'slow',
    inputSchema: z.strictObject({}),
    needsApproval: true,
    execute: async () => {
      running.most = Math.max(running.most, (running.now += 1));
      // Each waits for the others, at most for their time limit.
      for (let waits = 0; running.most < 4 && waits < 10_000; waits += 1) await sleep(10);
      running.now -= 1;
    },
  });
  let requests = 0;
  const counting: typeof fetch = (...given) => {
    requests += 1;
    return fetch(...given);
  };
  const worker = workerOf([slow], { fetch: counting });
  const first = await worker.step({ runId: 'r', toolCalls: ['1', '2', '3', '4'].map((id) => call(id, 'slow', {})) });
  // The proof that the worker may claim takes two, and the step one.
  expect(requests).toBe(3);
  const waiting = worker.wait(first.state);
  await sleep(2000);
  // A look, the event stream, and a look once it was open.
  expect(requests - 3).toBeLessThanOrEqual(3);
  const approvalIds = first.pendingApprovals.map(({ approvalId }) => approvalId);
  await Promise.all(approvalIds.map((id) => me.respond(id, { decision: { type: 'approve' } })));
  expect((await waiting).results).toHaveLength(4);
  expect(running.most).toBe(4);
});

test('an all-or-nothing step runs whole or not at all', async () => {
  const { me, workerOf } = await startWorld();
  const { ran, tool, deletion } = deletions();
  const worker = workerOf([tool]);
  const stepOf = (runId: string) =>
    worker.step({
      runId,
      batchMode: 'all-or-nothing',
      toolCalls: [deletion('c1', '/tmp/x'), deletion('c2', '/a'), deletion('c3', '/b')],
    });
  const denied = await stepOf('r1');
  await me.respond(approvalOf(denied, 0), { decision: { type: 'approve' } });
  await me.respond(approvalOf(denied, 1), { decision: { type: 'deny' } });
  expect(statuses(await waitForAll(worker, denied))).toEqual([
    ['c1', 'cancelled'],
    ['c2', 'cancelled'],
    ['c3', 'denied'],
  ]);
  expect(ran).toEqual([]);

  const approved = await stepOf('r2');
  const waiting = waitForAll(worker, approved);
  for (const { approvalId } of approved.pendingApprovals)
    await me.respond(approvalId, { decision: { type: 'approve' } });
  expect(statuses(await waiting)).toEqual([
    ['c1', 'succeeded'],
    ['c2', 'succeeded'],
    ['c3', 'succeeded'],
  ]);
  expect(ran).toHaveLength(3);
});

test('a client-executed call is approved, handed out and answered', async () => {
  const { me, workerOf } = await startWorld();
  const form = gateTool({
    name: 'fill_form',
    inputSchema: z.strictObject({ field: z.string() }),
    needsApproval: true,
    clientExecuted: true,
  });
  const worker = workerOf([form]);
  const paused = await worker.step({ runId: 'r', toolCalls: [call('c1', 'fill_form', { field: 'name' })] });
  await me.respond(approvalOf(paused, 0), { decision: { type: 'edit', arguments: { field: 'nickname' } } });
  const ready = await worker.wait(paused.state);
  expect(ready).toMatchObject({ stopReason: 'awaiting_client', clientCalls: [{ arguments: { field: 'nickname' } }] });
  await worker.submitOutput(ready.clientCalls[0]?.callId ?? '', { text: 'Ada' });
  expect(await worker.resume(ready.state)).toMatchObject({ stopReason: null, results: [{ output: { text: 'Ada' } }] });
});

test('a claim whose arguments were swapped on the way is not executed, and the ledger says so', async () => {
  const { me, workerOf } = await startWorld();
  const { ran, tool, deletion } = deletions();
  const swapping: typeof fetch = async (url, init) => {
    const answer = await fetch(url, init);
    if (!answer.ok || !new URL(url instanceof Request ? url.url : url).pathname.endsWith('/claim')) return answer;
    return Response.json({ ...((await answer.json()) as JsonObject), arguments: { path: '/etc/passwd' } });
  };
  const worker = workerOf([tool], { fetch: swapping });
  const paused = await worker.step({ runId: 'r', toolCalls: [deletion('c1', '/a')] });
  await me.respond(approvalOf(paused, 0), { decision: { type: 'approve' } });
  expect(await waitForAll(worker, paused)).toMatchObject([{ status: 'failed', error: { code: 'digest-mismatch' } }]);
  expect(ran).toEqual([]);
  expect((await me.getRun('r')).calls).toMatchObject([{ state: 'failed', error: { code: 'digest-mismatch' } }]);
});

test('a wait outlives kill -9 of the server', async () => {
  const { me, kill, restart, workerOf } = await startWorld();
  const { ran, tool, deletion } = deletions();
  const worker = workerOf([tool]);
  const paused = await worker.step({ runId: 'r', toolCalls: [deletion('c1', '/a'), deletion('c2', '/b')] });
  const waiting = waitForAll(worker, paused);
  await sleep(200);
  await kill();
  await sleep(500);
  await restart();
  for (const { approvalId } of paused.pendingApprovals) await me.respond(approvalId, { decision: { type: 'approve' } });
  expect(statuses(await waiting)).toEqual([
    ['c1', 'succeeded'],
    ['c2', 'succeeded'],
  ]);
  expect(ran.toSorted()).toEqual(['/a', '/b']);
});

test('an outcome for which the server was away is recorded when it is back, also when the lease is over', async () => {
  const { me, kill, restart, workerOf } = await startWorld();
  const gate = { open: (): void => undefined };
  const opened = new Promise<void>((resolve) => (gate.open = resolve));
  let runs = 0;
  const slow = gateTool({
    name: 'slow',
    inputSchema: z.strictObject({}),
    execute: async (_, { signal }) => {
      runs += 1;
      await opened;
      return { wasTold: signal.aborted };
    },
  });
  const worker = workerOf([slow], { leaseMs: 1000 });
  const { state } = await worker.step({ runId: 'r', toolCalls: [call('c1', 'slow', {})] }, { timeoutMs: 15_000 });
  expect(runs).toBe(1);
  await kill();
  await sleep(1500);
  await restart();
  const stateOfCall = async (): Promise<unknown> => (await me.getRun('r')).calls[0]?.state;
  while ((await stateOfCall()) !== 'unknown') await sleep(50);
  gate.open();
  const outcome = await worker.wait(state);
  const results =
    outcome.results[0]?.status === 'unknown' ? (await worker.wait(outcome.state)).results : outcome.results;
  expect(results).toMatchObject([{ status: 'succeeded', output: { wasTold: false } }]);
  expect(runs).toBe(1);
});

test('another process goes on where a killed one waited', async () => {
  const { me, startAgent } = await startWorld();
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'go'), '');
  const first = startAgent(folder, { GATED: 'yes' });
  await untilNoted(first, 'waiting awaiting_approval');
  await first.kill();
  const [approval] = (await me.listApprovals({ state: 'pending' })).approvals;
  await me.respond(approval?.approvalId ?? '', { decision: { type: 'approve' } });
  const second = startAgent(folder, { GATED: 'yes' });
  expect(await second.ended).toBe(0);
  expect(second.results()).toMatchObject([{ status: 'succeeded', output: { n: 1, attempt: 1 } }]);
  expect(second.notes().filter((line) => line.startsWith('begin'))).toHaveLength(1);
});

async function killedWithinItsTool(world: World, idempotent: 'yes' | 'no') {
  const folder = temporaryFolder();
  const first = world.startAgent(folder, { IDEMPOTENT: idempotent });
  await untilNoted(first, 'waiting awaiting_execution');
  await untilNoted(first, 'begin');
  await first.kill();
  writeFileSync(join(folder, 'go'), '');
  const second = world.startAgent(folder, { IDEMPOTENT: idempotent });
  expect(await second.ended).toBe(0);
  return { results: second.results(), begun: second.notes().filter((line) => line.startsWith('begin')) };
}

test('a tool within which its worker was killed is never run again: its outcome is unknown', async () => {
  const world = await startWorld();
  const { results, begun } = await killedWithinItsTool(world, 'no');
  expect(results).toMatchObject([{ status: 'unknown', output: null }]);
  expect(begun).toHaveLength(1);
});

test('an idempotent one is run again, under the same idempotency key', async () => {
  const world = await startWorld();
  const { results, begun } = await killedWithinItsTool(world, 'yes');
  expect(results).toMatchObject([{ status: 'succeeded', output: { attempt: 2 } }]);
  const [one, two] = begun.map((line) => line.split(' '));
  expect(begun).toHaveLength(2);
  expect([one?.[2], two?.[2]]).toEqual(['1', '2']);
  expect(one?.[3]).toBe(two?.[3]);
});
