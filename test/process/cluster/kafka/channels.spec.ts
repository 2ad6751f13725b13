import { interactive, openVendorServer, slackPress } from '@countersign/channels/testing';
import { topicNames } from '@countersign/message-bus';
import { expect, test } from '@jest/globals';
import { buttonOf, openReach } from '../../channels/reach.js';
import { runCli } from '../../cli/run-cli.js';
import { cleanUpAfterEach, onCleanup } from '../../harness/cleanup.js';
import { createKafkaClient } from '../../harness/kafka-client.js';
import { eventually } from '../../harness/wait.js';
import { readTopic } from '../faults/topic-reader.js';
import { openReachCluster } from './reach-cluster.js';
import type { ReachCluster, RoleOnPort } from './reach-cluster.js';

cleanUpAfterEach();

const canary = 'canary-c1u57e2';
const secrets = {
  password: canary,
  nested: [{ 'x-api-key': canary }],
  body: JSON.stringify({ token: canary, to: 'x' }),
};

async function send({ port }: RoleOnPort, token: string, path: string, body: object): Promise<unknown> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(body),
  });
  expect(answer.ok).toBe(true);
  return answer.json();
}

/** The messages of the events topic, with headers and keys. */
async function eventsTopic({ brokers, topicPrefix }: ReachCluster): Promise<string> {
  const kafka = createKafkaClient({ brokers: [...brokers], clientId: 'reader' });
  const messages = await readTopic(kafka, topicNames(topicPrefix).events);
  return JSON.stringify(messages.map(({ value, ...message }) => ({ ...message, value: value?.toString() })));
}

test('a cluster with a Slack app in socket mode: no secret leaves it, a press decides once, and any gateway tells what is off', async () => {
  const routes = ['{ to: [ops-slack, ops-telegram, mail] }', '{ events: [approved, succeeded], to: [pager] }'];
  const reach = await openReach(routes, { slackMode: 'socket' });
  const { sockets } = reach.slack;
  const collector = await openVendorServer(() => ({ body: {} }));
  onCleanup(collector.close);
  const traced = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '100' };
  const cluster = await openReachCluster(reach, { more: traced });
  const roles = await Promise.all(['gateway', 'relay', 'notifier', 'notifier'].map((role) => cluster.start(role)));
  const [gateway, , ...notifiers] = roles as [RoleOnPort, ...RoleOnPort[]];
  for (const { server } of roles) await cluster.untilReady(server);

  const call = { toolCallId: 'call-1', toolName: 'delete_file', needsApproval: true, arguments: secrets };
  const { calls } = (await send(gateway, 'agent-token', '/v1/tool-calls', { runId: 'run-1', calls: [call] })) as {
    readonly calls: readonly { readonly callId: string; readonly approval: { readonly approvalId: string } }[];
  };
  const { callId = '' } = calls[0] ?? {};
  await eventually('a card in Slack', () => reach.slack.calls().length > 0 || undefined);
  await eventually('a card in Telegram', () => reach.telegram.calls().length > 0 || undefined);
  await eventually('a mail', () => reach.mail.raw.length > 0 || undefined);
  await eventually('both notifiers to listen', () => sockets.connected() === 2 || undefined);

  reach.hooks.next.push({ status: 410 });
  const { action_id: actionId, value } = buttonOf(reach, 'approve');
  const press = interactive(slackPress(actionId, value));
  await sockets.deliver(press);
  await notifiers.at(-1)?.server.stop();
  await eventually('one listener', () => sockets.connected() === 1 || undefined);
  await sockets.deliver(press);
  const claim = { resolverId: 'w1' };
  await eventually('the approval', async () => {
    const { state } = (await at(gateway, `/v1/tool-calls/${callId}`)) as { readonly state: string };
    return state === 'approved' || undefined;
  });
  const { attempt } = (await send(gateway, 'worker-token', `/v1/tool-calls/${callId}/claim`, claim)) as {
    readonly attempt: number;
  };
  const outcome = { attempt, status: 'succeeded', output: { accessToken: canary, text: secrets.body } };
  await send(gateway, 'worker-token', `/v1/tool-calls/${callId}/outcome`, outcome);
  expect(await at(gateway, `/v1/approvals/${calls[0]?.approval.approvalId ?? ''}`)).toMatchObject({
    responses: [{ respondedBy: 'me', via: 'ops-slack' }],
  });

  const place = { folder: '/', port: gateway.port, env: { COUNTERSIGN_TOKEN: 'ann-token' } };
  await eventually('status to tell what is off', async () => {
    const { out } = await runCli(place, ['status']);
    return (/pager: off/.test(out) && /ops-slack: on/.test(out)) || undefined;
  });
  const published = await eventually('the last event on the topic', async () => {
    const topic = await eventsTopic(cluster);
    return topic.includes('ExecutionSucceeded') ? topic : undefined;
  });
  const spans = await eventually('the spans', () => {
    const text = collector.received.map(({ body }) => body).join('\n');
    return text.includes('POST /v1/tool-calls') ? text : undefined;
  });
  const metrics = await Promise.all(
    roles.slice(0, -1).map(async ({ port }) => {
      const headers = { authorization: 'Bearer ann-token' };
      return (await fetch(`http://127.0.0.1:${String(port)}/metrics`, { headers })).text();
    }),
  );
  const told = [reach.slack, reach.telegram, reach.hooks].map(({ received }) => received);
  const everything = JSON.stringify([published, spans, metrics, told, reach.mail.raw]);
  expect(everything).not.toContain(canary);
  for (const { server } of roles) expect(server.output()).not.toContain(canary);
  expect(published).toContain('[masked');
  expect(sockets.violations).toEqual([]);
}, 480_000);

async function at({ port }: RoleOnPort, path: string): Promise<unknown> {
  const headers = { authorization: 'Bearer ann-token' };
  return (await fetch(`http://127.0.0.1:${String(port)}${path}`, { headers })).json();
}
