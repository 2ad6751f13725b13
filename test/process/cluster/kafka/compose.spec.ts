import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lintMetrics } from '@countersign/shell/testing';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import type { Worker } from '@countersign/worker-sdk';
import { kafka as overKafka } from '@countersign/worker-sdk/kafka';
import { expect, test } from '@jest/globals';
import { z } from 'zod';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../harness/cleanup.js';
import { filesWith } from '../../harness/files-with.js';
import type { HttpAnswer } from '../../harness/http.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { untilWaitingFor } from '../roles.js';
import { credentialsOf } from './compose-credentials.js';
import type { Credentials } from './compose-credentials.js';
import { askHealth, openMachine, untilReady } from './compose-processes.js';
import type { Container, Machine } from './compose-processes.js';

cleanUpAfterEach();

const tools = 'tools:\n  - { name: greet, module: ./greet.mjs }\n';
const greet = 'export default { execute: (args) => ({ greeting: `Hello ${args.name}`, apiKey: args.password }) };\n';

const password = 'hunter2-in-an-argument';

/** The example of the guide; nothing of it is sent to the network. */
function guideChannels(): string {
  const guide = readFileSync(join(import.meta.dirname, '..', '..', '..', '..', 'docs', 'channels.md'), 'utf8');
  const [, example = ''] = /```yaml\n(version: 1\n.*?)```/s.exec(guide) ?? [];
  expect(example).toContain('SLACK_BOT_TOKEN');
  const secret = 'signingSecret: { env: SLACK_SIGNING_SECRET }';
  return example.replace(secret, `${secret}\n    apiUrl: 'http://127.0.0.1:1'`);
}

/** The `channels.env` of an operator who forgot the webhook. */
const channelsEnv = `SLACK_BOT_TOKEN='xoxb-1'\nSLACK_SIGNING_SECRET='se$cret'\nSMTP_URL='smtp://127.0.0.1:1'\nHOOK_SECRET=''\n`;

/** An operator's `.env`: their own tool, the channels of the guide, and topics of this test only. */
function settings() {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'channels.yaml'), guideChannels());
  writeFileSync(join(folder, 'tools.yaml'), tools);
  writeFileSync(join(folder, 'greet.mjs'), greet);
  return {
    COUNTERSIGN_SETTINGS: folder,
    COUNTERSIGN_TOOLS: '/etc/countersign/settings/tools.yaml',
    COUNTERSIGN_CHANNELS: '/etc/countersign/settings/channels.yaml',
    COUNTERSIGN_TOPIC_PREFIX: `compose-${randomBytes(4).toString('hex')}`,
    COUNTERSIGN_TOPIC_PARTITIONS: '3',
  };
}

interface CallView {
  readonly callId: string;
  readonly state: string;
  readonly output?: unknown;
  readonly approval: { readonly approvalId: string };
}

function requestOverHttp(gateway: Server, token: string, name: string): Promise<HttpAnswer> {
  const call = { toolCallId: `greet-${name}`, toolName: 'greet', arguments: { name, password } };
  return gateway.http.send({ method: 'POST', path: '/v1/tool-calls', token, body: { runId: 'run-1', calls: [call] } });
}

/** An agent's worker with the printed credentials, at the port that Kafka publishes. */
function openWorker(
  { broker }: Machine,
  { tokens }: Credentials,
  gateway: Container,
  kafka: { readonly topicPrefix: string } & Partial<Credentials['kafka']>,
): Worker {
  const worker = createWorker({
    kafka: overKafka({ brokers: [broker.outside], ...kafka }),
    url: `http://127.0.0.1:${gateway.env['COUNTERSIGN_PORT'] ?? ''}`,
    token: tokens.agent,
    resolverToken: tokens.worker,
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
  return worker;
}

async function approve(gateway: Server, token: string, approvalId: string): Promise<void> {
  const path = `/v1/approvals/${approvalId}/responses`;
  const answer = await gateway.http.send({ method: 'POST', path, token, body: { decision: { type: 'approve' } } });
  expect(answer).toMatchObject({ status: 200, body: { state: 'approved' } });
}

/** The call once it is settled. */
async function settled(gateway: Server, token: string, callId: string): Promise<unknown> {
  return eventually(`${callId} to be settled`, async () => {
    const path = `/v1/tool-calls/${callId}?waitMs=5000&until=settled`;
    const { body } = await gateway.http.send({ method: 'GET', path, token });
    return (body as CallView).state === 'succeeded' ? body : undefined;
  });
}

test('every service as the compose file starts it: requested, approved at the other gateway, executed, seen, stopped', async () => {
  const env = settings();
  const machine = await openMachine(env, { 'channels.env': channelsEnv });
  const [keeper] = await machine.start('keeper');
  await untilReady(keeper!);
  // Compose would wait for the topics. A process that is started without them reports the missing topics and the
  // remedy.
  const [relay1, relay2] = await machine.start('relay');
  await untilWaitingFor(relay1!.server, 'kafka', /countersign topics create/);
  expect(await askHealth(relay1!)).not.toBe(0);
  for (const once of ['rights', 'topics', 'tokens', 'credentials']) {
    await machine.runToEnd(once);
    await machine.runToEnd(once);
  }

  const containers: Container[] = [relay1!, relay2!];
  for (const service of machine.file.services.filter(({ command }) => command[0] === 'start')) {
    if (service.name !== 'relay' && service.name !== 'keeper') containers.push(...(await machine.start(service.name)));
  }
  containers.push(keeper!);
  expect(containers.length).toBe(13);
  await Promise.all(containers.map(untilReady));
  expect(await askHealth(containers.find(({ name }) => name === 'gateway-1-1')!)).toBe(0);
  // The channel without its secret is off, and says so wherever an operator looks; nothing else waits for it.
  for (const name of ['gateway-1-1', 'gateway-2-1', 'notifier-1']) {
    const { server } = containers.find((each) => each.name === name)!;
    const answer = await server.http.send({ method: 'GET', path: '/readyz' });
    expect(answer).toMatchObject({ status: 200 });
    const { channels } = (answer.body as { checks: Readonly<Record<string, { note: string }>> }).checks;
    expect(channels?.note).toContain(
      'pager is off: channels[2].secret: the environment variable HOOK_SECRET is not set',
    );
    expect(server.output()).toMatch(/"channelId":"pager".*a channel is off/);
    const metrics = await server.http.send({ method: 'GET', path: '/metrics' });
    expect(metrics.text).toMatch(/^countersign_channel_\w+\{channel="pager",state="off"\} 1$/m);
  }
  // Until one is elected, both are on standby.
  await eventually('one relay to publish, and the other to stand by', async () => {
    const standings = [relay1!, relay2!].map(async ({ server }) => {
      const { body } = await server.http.send({ method: 'GET', path: '/readyz' });
      return (body as { checks: { relay: { note: string } } }).checks.relay.note;
    });
    const both = (await Promise.all(standings)).toSorted().join(', ');
    return both === 'on standby: another relay publishes, publishes' ? true : undefined;
  });

  const [one, two] = ['gateway-1', 'gateway-2'].map(
    (name) => containers.find((each) => each.service.name === name)!.server,
  );
  const credentials = await credentialsOf(machine);
  const { agent, me } = credentials.tokens;
  const requested = await requestOverHttp(one!, agent, 'Ann');
  expect(requested).toMatchObject({ status: 201, body: { calls: [{ state: 'awaiting_approval' }] } });
  const call = (requested.body as { calls: CallView[] }).calls[0]!;
  await approve(two!, me, call.approval.approvalId);
  expect(await settled(one!, agent, call.callId)).toMatchObject({
    output: { greeting: 'Hello Ann', apiKey: password },
  });

  const gateway = containers.find(({ name }) => name === 'gateway-1-1')!;
  const toolCalls = [{ toolCallId: '1', toolName: 'delete_file', arguments: { path: '/x' } }];
  const { sasl } = credentials.kafka;
  const topicPrefix = env.COUNTERSIGN_TOPIC_PREFIX;
  const unsigned = openWorker(machine, credentials, gateway, { topicPrefix, sasl });
  // No principal is proven, so the ledger shows this refusal to auditors and admins alone.
  await expect(unsigned.run({ runId: 'run-2', toolCalls })).rejects.toMatchObject({
    ...{ code: 'unreachable', message: expect.stringContaining('must be signed') as unknown },
  });
  const asking = openWorker(machine, credentials, gateway, { topicPrefix, ...credentials.kafka }).run({
    runId: 'run-3',
    toolCalls,
  });
  const asked = await eventually('the request off Kafka to be seen', async () => {
    const { body } = await one!.http.send({ method: 'GET', path: '/v1/approvals?runId=run-3', token: me });
    return (body as { approvals: { approvalId: string }[] }).approvals[0];
  });
  await approve(two!, me, asked.approvalId);
  expect((await asking).results).toMatchObject([{ status: 'succeeded', output: { deleted: '/x' } }]);

  const signed = await eventually('a checkpoint of the log', async () => {
    const { status, text } = await one!.http.send({ method: 'POST', path: '/v1/log/checkpoint', token: me });
    return status === 200 ? text : undefined;
  });
  expect(signed).toMatch(/^countersign\.invalid\/[0-9a-f]{16}\/default\/1\n/);

  const texts = await Promise.all(
    containers.map(({ server }) => server.http.send({ method: 'GET', path: '/metrics', token: me })),
  );
  expect(texts.filter(({ status }) => status === 200)).toHaveLength(containers.length);
  expect(texts.flatMap(({ text }) => lintMetrics(text))).toEqual([]);

  // Every other process borrows keys.
  const metrics = await keeper!.server.http.send({ method: 'GET', path: '/metrics' });
  expect(/^countersign_keeper_sessions (\d+)$/m.exec(metrics.text)?.[1]).toBe('10');

  const exits = await Promise.all(containers.map(async ({ name, server }) => [name, await server.stop()] as const));
  expect(exits).toEqual(containers.map(({ name }) => [name, { code: 0, signal: null }]));
  const volumes = ['keys', 'gateway-1', 'gateway-2', 'projector', 'notary-1', 'notary-2'].map(machine.folderOf);
  expect(filesWith([machine.storeFolder, ...volumes], [password])).toEqual([]);
}, 480_000);
