import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { RequestKeyEntry } from '@countersign/ledger';
import { eventually } from '@countersign/message-bus/testing';
import { createWorker, gateTool, type Worker, type WorkerOptions } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const key: RequestKeyEntry = {
  kid: 'key-1',
  publicKey: publicKey.export({ format: 'jwk' }) as RequestKeyEntry['publicKey'],
  principal: 'kafka',
  agentIds: ['agent'],
};

let brokers: readonly string[];
let ledger: LedgerBehindKafka;
const workers: Worker[] = [];
const requests: string[] = [];
const ran: unknown[] = [];

beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `sdk-http-${randomUUID()}`, { keys: [key] });
});
afterEach(async () => {
  ran.length = 0;
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});
afterAll(() => ledger.close());

/** `fetch`, with a list of the requests. Ids in their paths are left out. */
const counting: typeof fetch = (input, init) => {
  const { pathname } = new URL(input instanceof Request ? input.url : input);
  const path = pathname
    .replace('/v1', '')
    .replace(/tc_[a-z2-7]{26}/, ':call')
    .replace(/run-[0-9a-f-]{36}/, ':run');
  requests.push(`${init?.method ?? 'GET'} ${path}`);
  return fetch(input, init);
};

const mail = gateTool({
  name: 'mail',
  inputSchema: z.strictObject({ to: z.string(), password: z.string().optional() }),
  needsApproval: ({ to }) => to !== 'us',
  execute: (input) => {
    ran.push(input);
    return { sent: input.to, token: 'secret of the tool' };
  },
});
const brief = gateTool({
  name: 'brief_mail',
  inputSchema: z.strictObject({ to: z.string() }),
  needsApproval: true,
  expiresInMs: 1500,
  execute: () => null,
});
/** Not run by the worker, so that it does not prove its token first. */
const form = gateTool({ name: 'form', inputSchema: z.strictObject({}), clientExecuted: true });

function newWorker(more: Partial<WorkerOptions> = {}): Worker {
  const worker = createWorker({
    kafka: kafka({ brokers, topicPrefix: ledger.prefix, signing: { kid: key.kid, privateKey } }),
    url: ledger.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    fetch: counting,
    tools: [mail, brief],
    ...more,
  });
  workers.push(worker);
  return worker;
}

const newRun = (): string => `run-${randomUUID()}`;
const mailTo = (to: string, toolName = 'mail') => ({ toolCallId: '1', toolName, arguments: { to } });

/** A worker that is connected, and has proved its tokens. The list of requests is empty. */
async function connected(more: Partial<WorkerOptions> = {}): Promise<Worker> {
  const worker = newWorker(more);
  await worker.step({ runId: newRun(), toolCalls: [mailTo('us')] });
  requests.length = 0;
  ran.length = 0;
  return worker;
}

/** Everything that an agent asks about one call over HTTP. */
const readsPause = 'GET /runs/:run';
const readsEnd = 'GET /tool-calls/:call';
const claims = 'POST /tool-calls/:call/claim';
const runs = [claims, 'POST /tool-calls/:call/outcome'];

describe('a worker with kafka asks over HTTP, for a call that is', () => {
  it('allowed: the verdict, the claim and the report', async () => {
    const worker = await connected();
    const { results } = await worker.run({ runId: newRun(), toolCalls: [mailTo('us')] });
    expect(results).toMatchObject([{ status: 'succeeded', output: { sent: 'us', token: 'secret of the tool' } }]);
    expect(requests).toEqual([readsPause, ...runs]);
  });

  it('allowed, with a value that the topic masks: no more, and the tool gets the value', async () => {
    const worker = await connected();
    const input = { to: 'us', password: 'hunter2' };
    const toolCalls = [{ toolCallId: '1', toolName: 'mail', arguments: input }];
    const { results } = await worker.run({ runId: newRun(), toolCalls });
    expect([ran, requests]).toEqual([[input], [readsPause, ...runs]]);
    expect(results).toMatchObject([{ arguments: input }]);
  });

  it('approved: the question that the pause returns, the approval, the claim and the report, and nothing while it waits', async () => {
    const decided: unknown[] = [];
    const worker = await connected({
      hooks: { onDecided: ({ approval }) => void decided.push(approval?.state) },
    });
    const runId = newRun();
    const { state, pendingApprovals } = await worker.step({ runId, toolCalls: [mailTo('them')] });
    const waiting = worker.wait(state);
    await sleep(2_000);
    expect(requests).toEqual([readsPause]);
    await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' }, instruction: 'then rest' });
    expect((await waiting).results).toMatchObject([
      { status: 'succeeded', output: { sent: 'them' }, instruction: 'then rest', decidedBy: ['ann'] },
    ]);
    expect([requests, decided]).toEqual([[readsPause, readsEnd, ...runs], ['approved']]);
    // It reads the ledger, because an event may be late.
    await worker.resume(state);
    expect(requests).toEqual([readsPause, readsEnd, ...runs, readsPause]);
  });

  it.each([
    ['denied', { decision: { type: 'deny' }, reason: 'not today' }],
    ['answered', { decision: { type: 'answer', output: 'done by hand' } }],
  ])('%s: the question, and the end', async (_how, response) => {
    const worker = await connected();
    const { state, pendingApprovals } = await worker.step({ runId: newRun(), toolCalls: [mailTo('them')] });
    const waiting = worker.wait(state);
    await ledger.respond(pendingApprovals[0]!.approvalId, response);
    expect((await waiting).results).toHaveLength(1);
    expect([requests, ran]).toEqual([[readsPause, readsEnd], []]);
  });

  it('expired: the question, and the end', async () => {
    const worker = await connected();
    const { state } = await worker.step({ runId: newRun(), toolCalls: [mailTo('them', 'brief_mail')] });
    expect((await worker.wait(state)).results).toMatchObject([{ status: 'expired' }]);
    expect(requests).toEqual([readsPause, readsEnd]);
  });

  it('cancelled: the question, and the end', async () => {
    const worker = await connected();
    const { state } = await worker.step({ runId: newRun(), toolCalls: [mailTo('them')] });
    await worker.cancel(state.calls[0]?.callId ?? '', 'changed our mind');
    expect((await worker.wait(state)).results).toMatchObject([{ status: 'cancelled' }]);
    expect(requests).toEqual([readsPause, readsEnd]);
  });

  it('refused: the refusal in the log of the ledger, and once its own principal', async () => {
    const worker = newWorker({ agentId: 'other', tools: [form] });
    // Connects.
    await worker.cancelRun(newRun(), 'enough').catch(() => undefined);
    requests.length = 0;
    const toolCalls = [{ toolCallId: '1', toolName: 'form', arguments: {} }];
    await expect(worker.step({ runId: newRun(), toolCalls })).rejects.toMatchObject({ code: 'forbidden' });
    expect(requests).toEqual(['GET /events', 'GET /me']);
  });

  it('waited for by another process: a look at the start, and one when it hears the topic', async () => {
    const first = await connected();
    const { state, pendingApprovals } = await first.step({ runId: newRun(), toolCalls: [mailTo('them')] });
    await first.close();
    requests.length = 0;
    const waiting = newWorker().wait(state);
    await eventually(() => expect(requests).toEqual([readsPause, readsPause]), 20_000);
    await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
    expect((await waiting).results).toMatchObject([{ status: 'succeeded' }]);
    expect(requests).toEqual([readsPause, readsPause, readsEnd, ...runs]);
  });

  it('served by another worker: a look at the run, the claim and the report, and no stream of events', async () => {
    const asking = newWorker({ toolsElsewhere: ['mail'], fetch });
    const { state, pendingApprovals } = await asking.step({ runId: newRun(), toolCalls: [mailTo('them')] });
    const serving = await connected();
    const stop = new AbortController();
    const served = serving.serve({ signal: stop.signal });
    const waiting = asking.wait(state);
    await eventually(() => expect(requests).toEqual(['GET /tool-calls', 'GET /tool-calls']), 20_000);
    requests.length = 0;
    await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
    expect((await waiting).results).toMatchObject([{ status: 'succeeded' }]);
    expect(requests).toEqual(['GET /tool-calls', ...runs]);
    stop.abort();
    await served;
  });

  it('one of fifty that wait at once: the approval, the claim and the report', async () => {
    const worker = await connected();
    const runIds = Array.from({ length: 50 }, newRun);
    const steps = await Promise.all(runIds.map((runId) => worker.step({ runId, toolCalls: [mailTo('them')] })));
    // A step that takes longer than a second reads again.
    requests.length = 0;
    const waits = steps.map(({ state }) => worker.wait(state));
    for (const { pendingApprovals } of steps)
      await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
    for (const { results } of await Promise.all(waits)) expect(results).toMatchObject([{ status: 'succeeded' }]);
    expect([ran.length, requests.length]).toEqual([50, 3 * 50]);
  });
});

describe('a forged message costs one read, and runs nothing:', () => {
  const approved = { decision: { type: 'approve' }, resolution: 'approved', respondedBy: 'eve', onBehalfOf: null };
  const by = { reason: null, instruction: null, respondedAt: '2026-01-01T00:00:00.000Z', via: 'api' };

  it.each<[string, string, number, object, readonly string[]]>([
    ['an expiry', 'ApprovalExpired', 2, {}, [readsEnd]],
    ['an event far ahead', 'ToolCallCancelled', 9_000_000, {}, [readsEnd]],
    ['an approval', 'ApprovalResponded', 2, { ...approved, ...by }, [readsEnd]],
  ])('%s', async (_what, type, revision, data, cost) => {
    const worker = await connected();
    const runId = newRun();
    const { state, pendingApprovals } = await worker.step({ runId, toolCalls: [mailTo('them')] });
    const { callId, approvalId, actionDigest } = pendingApprovals[0]!;
    requests.length = 0;
    const waiting = worker.wait(state);
    const event = { callId, toolCallId: '1', toolName: 'mail', agentId: 'agent', revision };
    await ledger.publishForged(type, { approvalId, actionDigest, ...data }, runId, { event });
    await eventually(() => expect(requests).toEqual(cost), 20_000);
    await sleep(1_000);
    expect([ran, requests]).toEqual([[], cost]);
    await ledger.respond(approvalId, { decision: { type: 'approve' } });
    expect((await waiting).results).toMatchObject([{ status: 'succeeded', decidedBy: ['ann'] }]);
    expect(ran).toEqual([{ to: 'them' }]);
  });
});
