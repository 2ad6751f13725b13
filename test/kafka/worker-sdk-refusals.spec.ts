import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { createWorker, gateTool, type Worker } from '@countersign/worker-sdk';
import { kafka as overKafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

/** Longer than a test may take to refuse something that is certain before it is published. */
const answerWithinMs = 100_000;
const atOnceMs = 60_000;

let brokers: readonly string[];
let ledger: LedgerBehindKafka;
const workers: Worker[] = [];

beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `sdk-refusals-${randomUUID()}`);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});
afterAll(() => ledger.close());

const form = gateTool({ name: 'form', inputSchema: z.strictObject({ of: z.string() }), clientExecuted: true });
const mail = gateTool({
  name: 'mail',
  inputSchema: z.strictObject({ to: z.string() }),
  needsApproval: true,
  execute: () => null,
});

/** Both ways to the same ledger. */
const ways = [
  ['HTTP', {}],
  ['Kafka', { kafka: true }],
] as const;

function newWorker({ kafka = false }: { readonly kafka?: boolean }): Worker {
  const worker = createWorker({
    ...(kafka ? { kafka: overKafka({ brokers, topicPrefix: ledger.prefix, answerWithinMs }) } : {}),
    url: ledger.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'kafka',
    tools: [form, mail],
  });
  workers.push(worker);
  return worker;
}

const newRun = (): string => `run-${randomUUID()}`;
const fill = (toolCallId: string) => ({ toolCallId, toolName: 'form', arguments: { of: 'tea' } });
const send = (toolCallId: string) => ({ toolCallId, toolName: 'mail', arguments: { to: 'ann' } });
const messagesOf = (runId: string) => ledger.seen.filter(({ key }) => key === runId);

describe.each(ways)('a worker over %s', (_, way) => {
  it.each<[string, (runId: string) => Parameters<Worker['step']>[0]]>([
    ['a long runId', () => ({ runId: 'x'.repeat(300), toolCalls: [fill('1')] })],
    ['a runId that is no path', () => ({ runId: '..', toolCalls: [fill('1')] })],
    ['the same toolCallId twice', (runId) => ({ runId, toolCalls: [fill('1'), fill('1')] })],
    ['an empty onBehalfOf', (runId) => ({ runId, onBehalfOf: '', toolCalls: [fill('1')] })],
    ['half a character', (runId) => ({ runId, onBehalfOf: '\ud800', toolCalls: [fill('1')] })],
  ])('is refused a step with %s at once', async (_what, stepOf) => {
    const runId = newRun();
    const startedAt = performance.now();
    await expect(newWorker(way).step(stepOf(runId))).rejects.toMatchObject({ code: 'invalid-request' });
    expect(performance.now() - startedAt).toBeLessThan(atOnceMs);
    expect(messagesOf(runId)).toEqual([]);
  });

  it('is refused a call with a long toolCallId alone, at once', async () => {
    const runId = newRun();
    const startedAt = performance.now();
    const { results } = await newWorker(way).step({ runId, toolCalls: [fill('x'.repeat(2049))] });
    expect(results).toMatchObject([{ status: 'failed', error: { code: 'invalid-request' } }]);
    expect(performance.now() - startedAt).toBeLessThan(atOnceMs);
    expect(messagesOf(runId)).toEqual([]);
  });

  it('is refused an output that the ledger cannot record, and an empty reason', async () => {
    const worker = newWorker(way);
    const runId = newRun();
    const { clientCalls } = await worker.step({ runId, toolCalls: [fill('1')] });
    const { callId = '' } = clientCalls[0] ?? {};
    for (const output of ['\ud800', JSON.parse('{"__proto__":{}}') as unknown, 2 ** 60])
      await expect(worker.submitOutput(callId, output)).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(worker.cancel(callId, '')).rejects.toMatchObject({ code: 'invalid-request' });
    await expect(worker.cancelRun(runId, '')).rejects.toMatchObject({ code: 'invalid-request' });
    await worker.cancel(callId, 'enough');
    await expect(worker.cancel(callId, '')).rejects.toMatchObject({ code: 'invalid-request' });
  });

  it('is refused to ask again while people are asked, and to cancel again', async () => {
    const worker = newWorker(way);
    const { pendingApprovals } = await worker.step({ runId: newRun(), toolCalls: [send('1')] });
    const { callId = '' } = pendingApprovals[0] ?? {};
    await expect(worker.requestAgain(callId, { reason: 'now' })).rejects.toMatchObject({ code: 'already-pending' });
    await worker.cancel(callId, 'enough');
    await expect(worker.cancel(callId, 'enough')).rejects.toMatchObject({ code: 'already-settled' });
  });

  it('hears for one of two different outputs at once that it is not the recorded one', async () => {
    const [first, second] = [newWorker(way), newWorker(way)];
    // Both connect before they compete.
    const { state, clientCalls } = await first.step({ runId: newRun(), toolCalls: [fill('1')] });
    await second.step({ runId: newRun(), toolCalls: [fill('1')] });
    const { callId = '' } = clientCalls[0] ?? {};
    const ends = await Promise.allSettled([first.submitOutput(callId, 'A'), second.submitOutput(callId, 'B')]);
    const [result] = (await first.resume(state)).results;
    const recorded = result?.output === 'A' ? 0 : 1;
    expect(ends[recorded]).toMatchObject({ status: 'fulfilled' });
    expect(ends[1 - recorded]).toMatchObject({ status: 'rejected', reason: { code: 'already-settled' } });
    const again = first.submitOutput(callId, result?.output);
    await expect(again).rejects.toMatchObject({ code: 'already-settled' });
  });

  it('is told that a run of which nothing is recorded does not exist', async () => {
    const worker = newWorker(way);
    await expect(worker.cancelRun(newRun(), 'over')).rejects.toMatchObject({ code: 'not-found' });
    const runId = newRun();
    const { clientCalls } = await worker.step({ runId, toolCalls: [fill('1')] });
    await worker.submitOutput(clientCalls[0]?.callId ?? '', 1);
    await worker.cancelRun(runId, 'over');
  });
});
