import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createWorker, gateTool, type Worker } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { z } from 'zod';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import type { KafkaBroker } from '../kafka-broker/handles.ts';
import { openLedgerBehindKafka, type LedgerBehindKafka } from './worker-sdk/ledger-behind-kafka.ts';

let broker: KafkaBroker;
let ledger: LedgerBehindKafka;
let worker: Worker;
const ran: string[] = [];

beforeAll(async () => {
  broker = await startKafkaBroker({ own: true });
  ledger = await openLedgerBehindKafka(broker.brokers, 'countersign');
  worker = createWorker({
    kafka: kafka({ brokers: broker.brokers, answerWithinMs: 120_000 }),
    url: ledger.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    tools: [
      gateTool({
        name: 'send_mail',
        inputSchema: z.strictObject({ to: z.string() }),
        needsApproval: ({ to }) => to !== 'us',
        execute: ({ to }) => {
          ran.push(to);
          return null;
        },
      }),
    ],
  });
}, 240_000);
afterAll(async () => {
  await worker.close();
  await ledger.close();
  await broker.stop();
});

const mail = (toolCallId: string, to: string) => ({ toolCallId, toolName: 'send_mail', arguments: { to } });

it('a broker that is killed loses no request and no news: both are there when it is back', async () => {
  const runId = `run-${randomUUID()}`;
  const { state, pendingApprovals } = await worker.step({ runId, toolCalls: [mail('1', 'them')] });
  const waiting = worker.wait(state);
  await broker.kill();
  await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
  const stepping = worker.step({ runId: `run-${randomUUID()}`, toolCalls: [mail('2', 'us')] });
  await broker.restart();
  expect((await stepping).results).toMatchObject([{ toolCallId: '2', status: 'succeeded' }]);
  expect((await waiting).results).toMatchObject([{ toolCallId: '1', status: 'succeeded' }]);
  expect(ran.toSorted()).toEqual(['them', 'us']);
}, 240_000);

it('a decision while the brokers are away is read over HTTP before they are back', async () => {
  ran.length = 0;
  const runId = `run-${randomUUID()}`;
  const { state, pendingApprovals } = await worker.step({ runId, toolCalls: [mail('1', 'them')] });
  const waiting = worker.wait(state, { timeoutMs: 90_000 });
  await broker.kill();
  await ledger.respond(pendingApprovals[0]!.approvalId, { decision: { type: 'approve' } });
  expect((await waiting).results).toMatchObject([{ toolCallId: '1', status: 'succeeded' }]);
  expect(ran).toEqual(['them']);
  await broker.restart();
}, 240_000);
