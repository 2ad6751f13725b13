import { randomBytes } from 'node:crypto';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import type { KafkaOptions, Worker } from '@countersign/worker-sdk';
import { kafka as overKafka } from '@countersign/worker-sdk/kafka';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { startKafkaBroker } from '../../../kafka-broker/broker.ts';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import { endOf, startServer, type Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { openStoreServer, readinessOf, storeUrl, writeTokens } from '../roles.js';
import { createTopics } from './create-topics.js';

cleanUpAfterEach();

/** A gateway, a ledger, a relay and a projector as separate processes, and their shared topics. */
async function openCluster() {
  const { brokers } = await startKafkaBroker();
  const topicPrefix = `worker-${randomBytes(4).toString('hex')}`;
  const { port } = await openStoreServer();
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: storeUrl(port),
    COUNTERSIGN_KAFKA_BROKERS: brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: topicPrefix,
    COUNTERSIGN_TOKENS_FILE: writeTokens(),
    // The requests are those of the worker's own token.
    COUNTERSIGN_REQUESTS_PRINCIPAL: 'agent',
  };
  await createTopics({ ...env, COUNTERSIGN_TOPIC_PARTITIONS: '3', COUNTERSIGN_TOPIC_REPLICATION: '1' });
  const start = async (role: string): Promise<Process> => {
    const listen = await freePort();
    const server = startServer({ folder: temporaryFolder(), port: listen, args: ['start', role], env });
    await untilReady(role, server);
    return { server, url: `http://127.0.0.1:${String(listen)}` };
  };
  const [gateway, ledger] = await Promise.all([start('gateway'), start('ledger'), start('relay'), start('projector')]);
  return { gateway, ledger, kafka: { brokers, topicPrefix }, start };
}

/** Longer than the limit of one process: four start at once, and wait for each other's topics and store. */
async function untilReady(role: string, server: Server): Promise<void> {
  let last = '';
  await eventually(`${role} to be ready`, async () => {
    const answer = await readinessOf(server);
    last = answer?.text ?? last;
    return answer?.status === 200 ? true : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it said ${last} and printed:\n${endOf(server.output())}`);
  });
}

interface Process {
  readonly server: Server;
  readonly url: string;
}

const ran: string[] = [];

function newWorker(gateway: Process, kafka: KafkaOptions): Worker {
  const worker = createWorker({
    // Longer than the session of a killed ledger, plus the start of the next one.
    kafka: overKafka({ ...kafka, answerWithinMs: 150_000 }),
    url: gateway.url,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    tools: [
      gateTool({
        name: 'pay',
        inputSchema: z.strictObject({ amount: z.number(), cardPin: z.string().meta({ sensitive: true }) }),
        needsApproval: true,
        execute: ({ amount, cardPin }) => {
          ran.push(`${String(amount)} with ${cardPin}`);
          return { paid: amount };
        },
      }),
    ],
  });
  onCleanup(() => worker.close());
  return worker;
}

const payment = (toolCallId: string, amount: number) => ({
  toolCallId,
  toolName: 'pay',
  arguments: { amount, cardPin: '4711' },
});

async function approve({ server }: Process, approvalId: string): Promise<void> {
  const path = `/v1/approvals/${approvalId}/responses`;
  const body = { decision: { type: 'approve' } };
  expect(await server.http.send({ method: 'POST', path, token: 'ann-token', body })).toMatchObject({ status: 200 });
}

test('a worker asks the cluster over Kafka, and runs what was approved once, though the ledger is killed meanwhile', async () => {
  const { gateway, ledger, kafka, start } = await openCluster();
  const worker = newWorker(gateway, kafka);
  const first = await worker.step({ runId: 'run-1', toolCalls: [payment('1', 10)] });
  expect(first).toMatchObject({ stopReason: 'awaiting_approval', pendingApprovals: [{ toolName: 'pay' }] });
  const waiting = worker.wait(first.state);
  await approve(gateway, first.pendingApprovals[0]!.approvalId);
  expect((await waiting).results).toMatchObject([{ status: 'succeeded', output: { paid: 10 } }]);

  await ledger.server.stop('SIGKILL');
  const asking = worker.step({ runId: 'run-1', toolCalls: [payment('2', 20)] });
  await start('ledger');
  const second = await asking;
  await worker.close();

  const successor = newWorker(gateway, kafka);
  const resumed = successor.wait(second.state);
  await approve(gateway, second.pendingApprovals[0]!.approvalId);
  expect((await resumed).results).toMatchObject([{ toolCallId: '2', status: 'succeeded' }]);
  const mismatch = successor.step({ runId: 'run-1', toolCalls: [payment('1', 11)] });
  await expect(mismatch).rejects.toMatchObject({ code: 'tool-call-mismatch' });
  expect(ran).toEqual(['10 with 4711', '20 with 4711']);
}, 400_000);
