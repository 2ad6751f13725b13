import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openKafka } from '@countersign/message-bus/kafka';
import { createLog, createSystemClock, createSystemIds } from '@countersign/runtime';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../../harness/cleanup.js';
import type { HttpAnswer } from '../../harness/http.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { untilWaitingFor } from '../roles.js';
import { askHealth, openMachine, untilReady } from './compose-processes.js';
import type { Container, Machine } from './compose-processes.js';

cleanUpAfterEach();

const tools = 'tools:\n  - { name: greet, module: ./greet.mjs }\n';
const greet = 'export default { execute: (args) => ({ greeting: `Hello ${args.name}` }) };\n';

/** An `.env` as an operator writes it: a tool of their own, and topics of this test's alone. */
function settings() {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'tools.yaml'), tools);
  writeFileSync(join(folder, 'greet.mjs'), greet);
  return {
    COUNTERSIGN_SETTINGS: folder,
    COUNTERSIGN_TOOLS: '/etc/countersign/settings/tools.yaml',
    COUNTERSIGN_TOPIC_PREFIX: `compose-${randomBytes(4).toString('hex')}`,
    COUNTERSIGN_TOPIC_PARTITIONS: '3',
  };
}

interface Tokens {
  readonly agent: string;
  readonly me: string;
}

function tokensOf(machine: Machine): Tokens {
  const file = join(machine.folderOf('tokens'), 'tokens.json');
  const entries = JSON.parse(readFileSync(file, 'utf8')) as { principal: string; token: string }[];
  return Object.fromEntries(entries.map(({ principal, token }) => [principal, token])) as unknown as Tokens;
}

interface CallView {
  readonly callId: string;
  readonly state: string;
  readonly output?: unknown;
  readonly approval: { readonly approvalId: string };
}

function requestOverHttp(gateway: Server, token: string, name: string): Promise<HttpAnswer> {
  const call = { toolCallId: `greet-${name}`, toolName: 'greet', arguments: { name } };
  return gateway.http.send({ method: 'POST', path: '/v1/tool-calls', token, body: { runId: 'run-1', calls: [call] } });
}

/** As an agent worker does in any language: one message, as CloudEvents 1.0 in binary mode. */
async function requestOverKafka({ brokers }: Machine, prefix: string, name: string): Promise<void> {
  const [clock, ids, log] = [createSystemClock(), createSystemIds(), createLog({ level: 'silent' })];
  const kafka = openKafka({ brokers, clientId: 'agent-worker', topicPrefix: prefix, clock, ids, log });
  const call = { toolCallId: `greet-${name}`, toolName: 'greet', arguments: { name } };
  const headers = {
    ce_specversion: '1.0',
    ce_id: ids.uuid(),
    ce_source: '/workers/test',
    ce_type: 'ToolCallRequested',
    ce_time: new Date().toISOString(),
    'content-type': 'application/json',
  };
  const value = JSON.stringify({ runId: 'run-2', calls: [call] });
  await kafka.publisher.publish(kafka.topics.names.requests, [{ key: 'run-2', value, headers }]);
  await kafka.close();
}

async function approve(gateway: Server, token: string, approvalId: string): Promise<void> {
  const path = `/v1/approvals/${approvalId}/responses`;
  const answer = await gateway.http.send({ method: 'POST', path, token, body: { decision: { type: 'approve' } } });
  expect(answer).toMatchObject({ status: 200, body: { state: 'approved' } });
}

/** The call once it is settled. */
async function settled(gateway: Server, token: string, callId: string): Promise<unknown> {
  return eventually(`${callId} to be settled`, 60_000, async () => {
    const path = `/v1/tool-calls/${callId}?waitMs=5000&until=settled`;
    const { body } = await gateway.http.send({ method: 'GET', path, token });
    return (body as CallView).state === 'succeeded' ? body : undefined;
  });
}

test('every service as the compose file starts it: asked, approved on the other gateway, executed, seen, stopped', async () => {
  const env = settings();
  const machine = await openMachine(env);
  // Compose would wait for the topics; a process that is started without says what it misses, and how to get it.
  const [relay1, relay2] = await machine.start('relay');
  await untilWaitingFor(relay1!.server, 'kafka', /countersign topics create/);
  expect(await askHealth(relay1!)).not.toBe(0);
  await machine.runToEnd('topics');
  await machine.runToEnd('topics');
  await machine.runToEnd('tokens');

  const containers: Container[] = [relay1!, relay2!];
  for (const service of machine.file.services.filter(({ command }) => command[0] === 'start')) {
    if (service.name !== 'relay') containers.push(...(await machine.start(service.name)));
  }
  expect(containers.length).toBe(10);
  await Promise.all(containers.map(untilReady));
  expect(await askHealth(containers.find(({ name }) => name === 'gateway-1-1')!)).toBe(0);
  // Until one has been given the turn, both stand by.
  await eventually('one relay to publish, and the other to stand by', 60_000, async () => {
    const standings = [relay1!, relay2!].map(async ({ server }) => {
      const { body } = await server.http.send({ method: 'GET', path: '/readyz' });
      return (body as { checks: { relay: { note: string } } }).checks.relay.note;
    });
    const both = (await Promise.all(standings)).toSorted().join(', ');
    return both === 'publishes, stands by for the relay that publishes' ? true : undefined;
  });

  const [one, two] = ['gateway-1', 'gateway-2'].map(
    (name) => containers.find((each) => each.service.name === name)!.server,
  );
  const { agent, me } = tokensOf(machine);
  const requested = await requestOverHttp(one!, agent, 'Ann');
  expect(requested).toMatchObject({ status: 201, body: { calls: [{ state: 'awaiting_approval' }] } });
  const call = (requested.body as { calls: CallView[] }).calls[0]!;
  await approve(two!, me, call.approval.approvalId);
  expect(await settled(one!, agent, call.callId)).toMatchObject({ output: { greeting: 'Hello Ann' } });

  await requestOverKafka(machine, env.COUNTERSIGN_TOPIC_PREFIX, 'Bob');
  const asked = await eventually('the request off Kafka to be seen', 60_000, async () => {
    const { body } = await one!.http.send({ method: 'GET', path: '/v1/approvals?runId=run-2', token: me });
    return (body as { approvals: { approvalId: string; callId: string }[] }).approvals[0];
  });
  await approve(two!, me, asked.approvalId);
  // The call is that of the principal of unsigned requests, which an auditor may see whole.
  expect(await settled(one!, me, asked.callId)).toMatchObject({ output: { greeting: 'Hello Bob' } });

  const exits = await Promise.all(containers.map(async ({ name, server }) => [name, await server.stop()] as const));
  expect(exits).toEqual(containers.map(({ name }) => [name, { code: 0, signal: null }]));
}, 480_000);
