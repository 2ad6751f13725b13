import { randomUUID } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createWorker, gateTool, type CountersignError, type Worker } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import type { KafkaBroker } from '../kafka-broker/handles.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

const answerWithinMs = 12_000;
const graceMs = 1_000;
/** The promised time, and what a busy machine adds. */
const slackMs = 20_000;

let broker: KafkaBroker;
let ledger: LedgerBehindKafka;

beforeAll(async () => {
  broker = await startKafkaBroker({ own: true });
  ledger = await openLedgerBehindKafka(broker.brokers, 'countersign');
}, 240_000);
afterAll(async () => {
  await broker.resume();
  await ledger.close();
  // The closed workers still leave their groups.
  await setTimeout(10_000);
  await broker.stop();
}, 240_000);

const form = gateTool({ name: 'form', inputSchema: z.strictObject({}), clientExecuted: true });
const step = () => ({
  runId: `run-${randomUUID()}`,
  toolCalls: [{ toolCallId: '1', toolName: 'form', arguments: {} }],
});

async function connected(): Promise<Worker> {
  const worker = newWorker(60_000);
  await worker.step(step());
  return worker;
}

const newWorker = (within: number): Worker =>
  createWorker({
    kafka: kafka({ brokers: broker.brokers, answerWithinMs: within }),
    url: ledger.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    tools: [form],
  });

async function msOf(work: Promise<unknown>): Promise<number> {
  const startedAt = performance.now();
  await work;
  return performance.now() - startedAt;
}

it('a broker that hangs: a request and `close` of a worker end within their limits', async () => {
  const asking = newWorker(answerWithinMs);
  const first = step();
  // A busy machine may take longer to connect.
  while ((await asking.step(first).catch(() => undefined)) === undefined);
  const idle = await connected();
  await broker.pause();
  // The report of a failure shows the message of a plain object, and not that of an error.
  const asked = asking.step(step()).catch((error: unknown) => {
    const { code, message } = error as CountersignError;
    return { code, message };
  });
  expect(await msOf(asked)).toBeLessThan(answerWithinMs + slackMs);
  expect(await asked).toMatchObject({
    code: 'unreachable',
    // On a slow machine a try may have ended before: then its error is the last problem.
    message: expect.stringMatching(/the Kafka brokers (have not confirmed the message|cannot be used: )/) as unknown,
  });
  // It has never connected, and tries.
  const connecting = newWorker(60_000);
  void connecting.step(step()).catch(() => undefined);
  for (const worker of [asking, idle, connecting])
    expect(await msOf(worker.close(graceMs))).toBeLessThan(graceMs + slackMs);
});
