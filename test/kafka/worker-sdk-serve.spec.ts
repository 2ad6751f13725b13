import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@countersign/message-bus/testing';
import { createWorker, gateTool, type Worker, type WorkerOptions } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

let brokers: readonly string[];
let ledger: LedgerBehindKafka;
const ran: string[] = [];
const workers: Worker[] = [];

beforeAll(async () => {
  ({ brokers } = await startKafkaBroker());
  ledger = await openLedgerBehindKafka(brokers, `serve-${randomUUID()}`);
});
afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close()));
});
afterAll(() => ledger.close());

const remove = gateTool({
  name: 'remove',
  inputSchema: z.strictObject({ path: z.string() }),
  needsApproval: true,
  execute: ({ path }) => {
    ran.push(path);
    return { removed: path };
  },
});

function newWorker(more: Partial<WorkerOptions> = {}): Worker {
  const worker = createWorker({
    kafka: kafka({ brokers, topicPrefix: ledger.prefix }),
    url: ledger.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    tools: [remove],
    ...more,
  });
  workers.push(worker);
  return worker;
}

/** Asks over Kafka in the name of a worker that is closed then. */
async function askedAndGone(path: string): Promise<string> {
  const runId = randomUUID();
  const worker = newWorker();
  await worker.ask({ runId, toolCalls: [{ toolCallId: '1', toolName: 'remove', arguments: { path } }] });
  await worker.close();
  return runId;
}

it('runs once what closed workers have asked for over Kafka, approved before it served and after that', async () => {
  const [before, after] = [await askedAndGone('/before'), await askedAndGone('/after')];
  await ledger.respondTo(before, { decision: { type: 'approve' } });
  const stop = new AbortController();
  const [one, other] = [newWorker(), newWorker()];
  const serving = [one.serve({ signal: stop.signal }), other.serve({ signal: stop.signal })];
  await eventually(() => expect(ran).toEqual(['/before']));
  await ledger.respondTo(after, { decision: { type: 'approve' } });
  await eventually(async () => {
    for (const runId of [before, after]) {
      expect((await one.client.getRun(runId)).calls).toMatchObject([{ state: 'succeeded' }]);
    }
  });
  stop.abort();
  expect(await Promise.all(serving)).toEqual([undefined, undefined]);
  expect(ran).toEqual(['/before', '/after']);
});

it('requests over Kafka a tool that another worker runs, and gets its result', async () => {
  const requester = newWorker({ toolsElsewhere: ['remove'] });
  const runId = randomUUID();
  const toolCalls = [{ toolCallId: '1', toolName: 'remove', arguments: { path: '/elsewhere' } }];
  const { state } = await requester.step({ runId, toolCalls });
  await ledger.respondTo(runId, { decision: { type: 'approve' } });
  expect(await requester.resume(state)).toMatchObject({ stopReason: 'awaiting_execution' });
  const stop = new AbortController();
  const serving = newWorker().serve({ signal: stop.signal });
  expect(await requester.wait(state)).toMatchObject({ results: [{ output: { removed: '/elsewhere' } }] });
  stop.abort();
  await serving;
});
