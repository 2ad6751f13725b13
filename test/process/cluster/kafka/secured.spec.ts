import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { kafka } from '@countersign/worker-sdk/kafka';
import { beforeAll, expect, test } from '@jest/globals';
import type { Kafka } from 'kafkajs';
import { z } from 'zod';
import { startSecuredBroker } from '../../../kafka-broker/secured.ts';
import type { SecuredBroker } from '../../../kafka-broker/secured.ts';
import { openReach } from '../../channels/reach.js';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { createKafkaClient } from '../../harness/kafka-client.js';
import { freePort } from '../../../ports.js';
import { endOf, startServer } from '../../harness/server.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { countedTools, moduleTool } from '../../traffic/tools.js';
import type { CountedTools } from '../../traffic/tools.js';
import { openStoreServer, readinessOf, untilWaitingFor, writeTokens } from '../roles.js';

cleanUpAfterAll();

type Env = Readonly<Record<string, string>>;

const topicPrefix = `secured-${randomBytes(4).toString('hex')}`;
const channels = ['ops-slack', 'ops-telegram', 'mail', 'pager'];
const groups = ['ledger', 'batch-closer', 'resolver', ...channels.map((id) => `notifier-${id}`)];
const cli = join(import.meta.dirname, '..', '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');

let broker: SecuredBroker;
let env: Env;
let tools: CountedTools;
let reach: Awaited<ReturnType<typeof openReach>>;
let gatewayPort: number;

/** The settings of a principal: TLS by an authority of the test's own, its password in a file. */
function envOf(name: string, password = broker.userOf(name).password): Env {
  const file = join(temporaryFolder(), 'password');
  writeFileSync(file, `${password}\n`, { mode: 0o600 });
  return {
    ...env,
    NODE_EXTRA_CA_CERTS: broker.authority.caFile,
    COUNTERSIGN_KAFKA_BROKERS: broker.byPassword.join(','),
    COUNTERSIGN_KAFKA_SSL: 'true',
    COUNTERSIGN_KAFKA_SASL_MECHANISM: broker.userOf(name).mechanism,
    COUNTERSIGN_KAFKA_SASL_USERNAME: name,
    COUNTERSIGN_KAFKA_SASL_PASSWORD_FILE: file,
  };
}

async function asOperator(...args: readonly string[]): Promise<string> {
  const given = { env: { ...process.env, ...envOf('operator') } };
  return (await promisify(execFile)(process.execPath, [cli, ...args], given)).stdout;
}

async function start(role: string, given: Env): Promise<Server & { readonly port: number }> {
  const port = await freePort();
  return { ...startServer({ folder: temporaryFolder(), port, args: ['start', role], env: given }), port };
}

beforeAll(async () => {
  broker = await startSecuredBroker();
  onCleanup(() => broker.stop());
  await broker.grantDocumentedRights(topicPrefix);
  tools = await countedTools(temporaryFolder());
  reach = await openReach(['{ to: [ops-slack] }']);
  const { url } = await openStoreServer();
  env = {
    ...reach.env,
    COUNTERSIGN_EVENTSTORE_URL: url,
    COUNTERSIGN_TOPIC_PREFIX: topicPrefix,
    COUNTERSIGN_TOPIC_PARTITIONS: '2',
    COUNTERSIGN_TOPIC_REPLICATION: '1',
    COUNTERSIGN_TOKENS_FILE: writeTokens(),
    COUNTERSIGN_TOOLS: tools.toolsFile,
    COUNTERSIGN_REQUESTS_PRINCIPAL: 'agent',
  };
  await asOperator('topics', 'create');
  const behindKafka = ['ledger', 'relay', 'projector', 'resolver', 'notifier'];
  const [gateway, ...others] = await Promise.all([
    start('gateway', env),
    ...behindKafka.map((role) => start(role, envOf(role))),
  ]);
  gatewayPort = gateway.port;
  for (const server of [gateway, ...others]) {
    let last = '';
    await eventually('a process to be ready', async () => {
      const answer = await readinessOf(server);
      last = answer?.text ?? last;
      return answer?.status === 200 ? true : undefined;
    }).catch((error: unknown) => {
      throw new Error(`${String(error)}; it said ${last} and printed:\n${endOf(server.output())}`);
    });
  }
}, 480_000);

/** Approves the pending calls of a run after people were notified, so that earlier decisions are not news. */
async function approve(runId: string, toldBefore: number): Promise<void> {
  const authorization = 'Bearer ann-token';
  const url = `http://127.0.0.1:${String(gatewayPort)}/v1/approvals`;
  const approvalId = await eventually('an approval', async () => {
    const answer = await fetch(`${url}?state=pending&runId=${runId}`, { headers: { authorization } });
    const { approvals } = (await answer.json()) as { readonly approvals: readonly { readonly approvalId: string }[] };
    return approvals[0]?.approvalId;
  });
  await eventually('people to be told', () => (cardsSent() > toldBefore ? true : undefined));
  const answer = await fetch(`${url}/${approvalId}/responses`, {
    method: 'POST',
    headers: { authorization, 'content-type': 'application/json' },
    body: JSON.stringify({ decision: { type: 'approve' } }),
  });
  expect(answer.status).toBe(200);
}

function cardsSent(): number {
  const messages = reach.slack.calls().filter(({ method }) => method === 'chat.postMessage');
  return messages.filter(({ args }) => args['thread_ts'] === undefined).length;
}

test('every role does its work over TLS, with its own password and the rights of the guide alone', async () => {
  const { cert, key } = broker.authority.certify('worker');
  const ssl = { ca: broker.authority.ca, cert, key };
  const worker = createWorker({
    kafka: kafka({ brokers: broker.byCertificate, ssl, topicPrefix }),
    url: `http://127.0.0.1:${String(gatewayPort)}`,
    token: 'agent-token',
    resolverToken: 'worker-token',
    agentId: 'agent',
    tools: [
      gateTool({
        name: 'delete_file',
        inputSchema: z.strictObject({ path: z.string() }),
        needsApproval: true,
        execute: ({ path }) => ({ deleted: path }),
      }),
    ],
  });
  onCleanup(() => worker.close());
  const step = {
    runId: 'run-worker',
    toolCalls: [{ toolCallId: '1', toolName: 'delete_file', arguments: { path: '/x' } }],
  };
  const asked = worker.run(step);
  await approve('run-worker', 0);
  expect((await asked).results).toMatchObject([{ status: 'succeeded', output: { deleted: '/x' } }]);

  // Another agent, with a password, asks for a tool of the service.
  const producer = clientOf('worker').producer({ allowAutoTopicCreation: false });
  await producer.connect();
  onCleanup(() => producer.disconnect());
  const call = { toolCallId: '1', toolName: moduleTool, arguments: { path: '/y' } };
  const value = JSON.stringify({ runId: 'run-service', calls: [call] });
  const headers = { ce_specversion: '1.0', ce_id: 'r-1', ce_source: '/agents/x', ce_type: 'ToolCallRequested' };
  const message = { key: 'run-service', value, headers: { ...headers, 'content-type': 'application/json' } };
  await producer.send({ topic: `${topicPrefix}.requests.v1`, messages: [message] });
  await approve('run-service', 1);
  await eventually('the tool to run', () => (tools.executions().length === 1 ? true : undefined));
  await eventually('every group to have committed', async () => {
    const committed = await Promise.all(groups.map((group) => hasCommitted(`${topicPrefix}-${group}`)));
    return committed.every(Boolean) ? true : undefined;
  });
}, 300_000);

test('an unreadable message is parked by every consumer, and the operator inspects and replays it', async () => {
  const sendRaw = async (name: string, topic: string, ce_type: string): Promise<void> => {
    const producer = clientOf(name).producer({ allowAutoTopicCreation: false });
    await producer.connect();
    const poison = { key: 'k', value: '{broken', headers: { ce_type, ce_id: 'poison' } };
    await producer.send({ topic: `${topicPrefix}.${topic}.v1`, messages: [poison] });
    await producer.disconnect();
  };
  await sendRaw('worker', 'requests', 'ToolCallRequested');
  await sendRaw('relay', 'events', 'ApprovalResponded');
  const letters = await eventually('the letters', async () => {
    const lines = (await asOperator('dead-letters', 'list', '--json')).split('\n').filter(Boolean);
    const found = lines.map((line) => JSON.parse(line) as { readonly id: string; readonly group: string });
    return found.length >= groups.length ? found : undefined;
  });
  expect(letters.map(({ group }) => group).toSorted()).toEqual(
    groups.map((group) => `${topicPrefix}-${group}`).toSorted(),
  );
  const ofLedger = letters.find(({ group }) => group === `${topicPrefix}-ledger`);
  await asOperator('dead-letters', 'replay', ofLedger?.id ?? '');
  expect(await asOperator('topics', 'describe')).toContain('kept 14 days');
}, 300_000);

test('a process with a wrong password, or that trusts another authority, waits and says what to mend', async () => {
  const [guessing, distrustful] = [
    await start('ledger', envOf('ledger', 'guessed')),
    await start('relay', { ...envOf('relay'), NODE_EXTRA_CA_CERTS: '' }),
  ];
  await untilWaitingFor(guessing, 'kafka', /authentication failed[^]*COUNTERSIGN_KAFKA_SASL_/i);
  await untilWaitingFor(distrustful, 'kafka', /NODE_EXTRA_CA_CERTS/);
  await sleep(3_000);
  for (const server of [guessing, distrustful]) {
    expect((await readinessOf(server))?.status).toBe(503);
    expect(await server.stop()).toEqual({ code: 0, signal: null });
    expect(server.output()).not.toContain('guessed');
  }
}, 300_000);

function clientOf(name: string): Kafka {
  const { username, password } = broker.userOf(name);
  const mechanism = broker.userOf(name).mechanism as 'plain';
  return createKafkaClient({
    brokers: [...broker.byPassword],
    ssl: { ca: broker.authority.ca },
    sasl: { mechanism, username, password },
  });
}

function hasCommitted(groupId: string): Promise<boolean> {
  return broker.administrate(async (admin) => {
    const topics = await admin.fetchOffsets({ groupId });
    return topics.some(({ partitions }) => partitions.some(({ offset }) => Number(offset) > 0));
  });
}
