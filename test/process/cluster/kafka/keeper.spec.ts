import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { topicNames } from '@countersign/message-bus';
import { expect, test } from '@jest/globals';
import type { Kafka } from 'kafkajs';
import { whileFrozen } from '../../../freeze.ts';
import { openReach } from '../../channels/reach.js';
import { cleanUpAfterEach, temporaryFolder } from '../../harness/cleanup.js';
import { filesWith } from '../../harness/files-with.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { openRequestsTopic } from '../faults/requests-topic.js';
import type { RequestsTopic } from '../faults/requests-topic.js';
import { readTopic } from '../faults/topic-reader.js';
import { openKeeper } from '../keeper-process.js';
import { untilWaitingFor } from '../roles.js';
import { erase, erased, inArgument, post, subject, viewOn } from '../secrets.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

/** An argument that nothing hides. */
const shown = 'a-name-that-is-not-hidden';

/** A tools file with a tool whose output has the password that it was called with. */
function writeTools(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'greet.mjs'), 'export default { execute: ({ password }) => ({ apiKey: password }) };\n');
  writeFileSync(join(folder, 'tools.yaml'), 'tools: [{ name: greet, module: ./greet.mjs }]\n');
  return join(folder, 'tools.yaml');
}

/** Every role, each with a data folder of its own, and with keys from a keeper alone. */
async function openCluster() {
  const reach = await openReach(['{ to: [ops-slack] }']);
  const more = { COUNTERSIGN_TOOLS: writeTools(), COUNTERSIGN_REQUESTS_PRINCIPAL: 'agent' };
  const cluster = await openReachCluster(reach, { more });
  const { keeper, startKeeper, borrowing, folders } = await openKeeper(cluster.eventStoreUrl);
  const open = async (role: string, data = temporaryFolder()) => {
    const { server } = await cluster.start(role, { ...borrowing, COUNTERSIGN_DATA: data });
    return {
      ...{ server, data },
      restart: async (): Promise<Server> => {
        expect(await server.stop()).toEqual({ code: 0, signal: null });
        return (await open(role, data)).server;
      },
    };
  };
  const roles = ['gateway', 'projector', 'relay', 'ledger', 'resolver', 'notifier'];
  const [gateway, projector, relay, ...others] = await Promise.all(roles.map((role) => open(role)));
  const all = [gateway!, projector!, relay!, ...others];
  for (const { server } of all) await cluster.untilReady(server);
  const topics = topicNames(cluster.topicPrefix);
  return {
    ...{ gateway: gateway!, projector: projector!, relay: relay!, keeper, startKeeper, topics },
    untilReady: cluster.untilReady,
    requests: await openRequestsTopic(cluster.brokers, topics.requests),
    cards: () => JSON.stringify(reach.slack.calls()),
    filesOfAll: (text: string) => filesWith([cluster.storeFolder, ...folders, ...all.map(({ data }) => data)], [text]),
    storeFolder: cluster.storeFolder,
  };
}

function request({ publish }: RequestsTopic, runId: string): Promise<string> {
  const call = { toolCallId: 'call', toolName: 'greet', arguments: { name: shown, password: inArgument } };
  return publish('ToolCallRequested', { runId, calls: [{ ...call, labels: { subject } }] });
}

async function textOf(kafka: Kafka, topic: string): Promise<string> {
  const messages = await readTopic(kafka, topic);
  return messages.map(({ key, value }) => `${String(key)} ${String(value)}`).join('\n');
}

/** The approval of a run as it is listed, once it is. */
function listed({ http }: Server, runId: string, state = 'pending') {
  return eventually(`the approval of ${runId}`, async () => {
    const path = `/v1/approvals?runId=${runId}&state=${state}`;
    const { body } = await http.send({ method: 'GET', path, token: 'ann-token' });
    return (body as { readonly approvals: readonly { readonly approvalId: string }[] }).approvals[0];
  });
}

test('all roles with a keeper store and publish no secret of a request over Kafka in clear, an erasure removes it, and the relay waits while the keeper is gone', async () => {
  const world = await openCluster();
  const { projector, relay, keeper, startKeeper, topics, requests, filesOfAll } = world;
  const gateway = world.gateway.server;
  const published = (): Promise<string> => textOf(requests.kafka, topics.events);
  const untilPublished = (runId: string, type: string): Promise<string> =>
    eventually(`${type} of ${runId} on the topic`, async () => {
      const messages = await readTopic(requests.kafka, topics.events);
      const isThere = messages.some(({ key, headers }) => key?.includes(runId) === true && headers['ce_type'] === type);
      return isThere ? published() : undefined;
    });

  await request(requests, 'run-1');
  const approval = await listed(gateway, 'run-1');
  expect(JSON.stringify(approval)).toContain('[masked');
  expect(JSON.stringify(approval)).not.toContain(inArgument);
  await eventually('a card', () => world.cards().includes(shown) || undefined);
  const approved = await post(gateway, 'me-token', `/v1/approvals/${approval.approvalId}/responses`, {
    decision: { type: 'approve' },
  });
  expect(approved).toMatchObject({ status: 200 });
  await eventually('the tool to have run with the true value', async () =>
    JSON.stringify(await viewOn(gateway)).includes(`"output":{"apiKey":"${inArgument}"}`) ? true : undefined,
  );
  const events = await untilPublished('run-1', 'ExecutionSucceeded');
  expect(events).toMatch(/"password":"\[masked sha256:[0-9a-f]{16}\]"/);
  for (const text of [events, world.cards()]) expect(text).not.toContain(inArgument);
  expect(filesOfAll(inArgument)).toEqual([]);
  // The same searches find a value in clear.
  expect(await textOf(requests.kafka, topics.requests)).toContain(inArgument);
  expect(filesOfAll(shown).some((file) => file.startsWith(world.storeFolder))).toBe(true);

  expect((await erase(gateway)).body).toMatchObject({ status: 'erased', calls: 1, values: 2 });
  expect(await viewOn(gateway)).toMatchObject(erased);
  const restarted = await Promise.all([world.gateway.restart(), projector.restart()]);
  for (const server of restarted) await world.untilReady(server);
  expect(await viewOn(restarted[0])).toMatchObject(erased);
  expect(JSON.stringify(await listed(restarted[0], 'run-1', 'approved'))).toContain('[erased]');
  expect(filesOfAll(inArgument)).toEqual([]);

  // The next value has a new key, and the relay has not asked for it yet when the keeper is killed.
  await whileFrozen(relay.server.pid, async () => {
    await request(requests, 'run-2');
    await listed(restarted[0], 'run-2');
    await keeper.stop('SIGKILL');
  });
  await untilWaitingFor(relay.server, 'relay', /the keeper of the keys cannot be asked/);
  expect(await published()).not.toContain('run-2');
  await world.untilReady(await startKeeper());
  expect(await untilPublished('run-2', 'ToolCallRequested')).not.toContain(inArgument);
  expect(filesOfAll(inArgument)).toEqual([]);
}, 300_000);
