import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import type { ToolCallView, UnreadableStreamView } from '@countersign/contracts';
import { cleanUpAfterEach, temporaryFolder } from '../../harness/cleanup.js';
import { freePort } from '../../../ports.js';
import type { HttpAnswer } from '../../harness/http.js';
import { startServer } from '../../harness/server.js';
import type { Server } from '../../harness/server.js';
import { eventually } from '../../harness/wait.js';
import { openReachCluster } from './reach-cluster.js';

cleanUpAfterEach();

/** The preload of a process of a later version. */
const later = { NODE_OPTIONS: `--import ${join(import.meta.dirname, '..', 'later-version.mjs')}` };

function writeTools(): string {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'pay.mjs'), 'export default { inputSchema: {}, execute: async () => ({ paid: true }) };');
  const file = join(folder, 'tools.json');
  writeFileSync(file, JSON.stringify({ tools: [{ name: 'pay', module: './pay.mjs' }] }));
  return file;
}

function writePolicy(): string {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, 'version: 1\nrules: [{ id: two, then: { require: { quorum: { approve: 2 } } } }]\n');
  return file;
}

const post = ({ http }: Server, token: string, path: string, body: object): Promise<HttpAnswer> =>
  http.send({ method: 'POST', path, token: `${token}-token`, body });
const get = async <T>({ http }: Server, path: string): Promise<T> =>
  (await http.send({ method: 'GET', path, token: 'ann-token' })).body as T;
const requested = (gateway: Server, toolCallId: string, toolName = 'pay'): Promise<HttpAnswer> => {
  const calls = [{ toolCallId, toolName, arguments: { password: 'p' }, needsApproval: true }];
  return post(gateway, 'agent', '/v1/tool-calls', { runId: `run-${toolCallId}`, calls });
};
async function ask(gateway: Server, ...given: Parameters<typeof requested> extends [Server, ...infer R] ? R : never) {
  const [call] = ((await requested(gateway, ...given)).body as { calls: ToolCallView[] }).calls;
  if (call === undefined) throw new Error('no call was recorded');
  return call;
}
const about = (call: ToolCallView, what: string): string =>
  `/v1/approvals/${String(call.approval?.approvalId)}/${what}`;
const approve = (gateway: Server, call: ToolCallView): Promise<HttpAnswer> =>
  post(gateway, 'ann', about(call, 'responses'), { decision: { type: 'approve' } });
const untilState = (gateway: Server, { callId }: ToolCallView, state: string) =>
  eventually(`the call to be ${state}`, async () =>
    (await get<ToolCallView>(gateway, `/v1/tool-calls/${callId}`)).state === state ? true : undefined,
  );
const unreadable = {
  status: 409,
  body: { code: 'unreadable', detail: expect.stringContaining('upgrade Countersign') },
};

test('beside a later version no older process ends, and the later one takes every stream up again', async () => {
  const more = { COUNTERSIGN_TOOLS: writeTools() };
  const cluster = await openReachCluster({ env: {} }, { partitions: 1, more });
  const started = await Promise.all(['ledger', 'relay', 'projector', 'resolver'].map((role) => cluster.start(role)));
  const [folder, port] = [temporaryFolder(), await freePort()];
  const env = {
    ...more,
    COUNTERSIGN_EVENTSTORE_URL: cluster.eventStoreUrl,
    COUNTERSIGN_TOKENS_FILE: cluster.tokensFile,
  };
  const gateway = (changes: Record<string, string> = {}): Server =>
    startServer({ folder, port, args: ['start', 'gateway'], env: { ...env, ...changes } });
  const older = gateway();
  const first = await cluster.start('gateway', later);
  const all = [older, first.server, ...started.map(({ server }) => server)];
  await Promise.all(all.map((server) => cluster.untilReady(server)));
  const [, , , resolver] = started;
  // It knows of each cancellation of a run before it claims a call.
  const { body: ready } = (await resolver?.server.http.send({ method: 'GET', path: '/readyz' })) ?? {};
  expect(ready).toMatchObject({ checks: { cancellations: { status: 'ok' } } });

  // The later version records an event of a new type on one call, and one of a later schema version on another.
  const [shown, answered, other] = [await ask(older, 'a'), await ask(older, 'b', 'mail'), await ask(older, 'c')];
  await eventually('the later gateway to know the calls', async () => {
    const path = `/v1/tool-calls/${other.callId}`;
    const { status } = await first.server.http.send({ method: 'GET', path, token: 'ann-token' });
    return status === 200 ? true : undefined;
  });
  expect((await post(first.server, 'ann', about(shown, 'reveal'), {})).status).toBe(200);
  expect((await approve(first.server, answered)).status).toBe(200);
  await eventually('the older gateway to read them', async () => {
    const { streams } = await get<{ streams: UnreadableStreamView[] }>(older, '/v1/unreadable');
    // The later gateway's own stream, which tells of its start, is set aside as well.
    return streams.filter(({ stream }) => stream.startsWith('toolCall-')).length === 2 ? streams : undefined;
  });
  expect(await approve(older, shown)).toMatchObject(unreadable);
  expect(await post(older, 'worker', `/v1/tool-calls/${answered.callId}/claim`, { resolverId: 'w' })).toMatchObject(
    unreadable,
  );

  // Every other call goes the whole way through the older processes: relay, broker, resolver.
  expect((await approve(older, other)).status).toBe(200);
  await untilState(older, other, 'succeeded');

  // The later version goes on with both.
  expect((await approve(first.server, shown)).status).toBe(200);
  const claim = await post(first.server, 'worker', `/v1/tool-calls/${answered.callId}/claim`, { resolverId: 'w' });
  expect(claim.status).toBe(200);

  // A resolver of the later version runs what the older relay could not read.
  const late = await ask(older, 'g');
  await resolver?.server.stop();
  await eventually('the approval on the later gateway', async () =>
    (await approve(first.server, late)).status === 200 ? true : undefined,
  );
  await cluster.untilReady((await cluster.start('resolver', later)).server);
  await untilState(first.server, late, 'succeeded');

  // A policy of the later version forbids what the older one would decide without it.
  await first.server.stop();
  const second = await cluster.start('gateway', { ...later, COUNTERSIGN_POLICY: writePolicy() });
  await cluster.untilReady(second.server);
  await eventually('the older gateway to refuse', async () =>
    (await requested(older, 'd')).status === 409 ? true : undefined,
  );
  expect(await requested(older, 'e')).toMatchObject({
    status: 409,
    body: { code: 'unreadable', stream: 'policy-default' },
  });
  expect((await requested(second.server, 'e')).status).toBe(201);

  for (const server of [older, ...started.slice(0, 3).map((one) => one.server)]) {
    expect((await server.http.send({ method: 'GET', path: '/readyz' })).status).toBe(200);
  }

  // The older gateway is replaced, on its own folder.
  await older.stop();
  const upgraded = gateway({ ...later, COUNTERSIGN_POLICY: writePolicy() });
  await cluster.untilReady(upgraded);
  expect(await get(upgraded, '/v1/unreadable')).toEqual({ streams: [] });
  expect(await get(upgraded, `/v1/tool-calls/${answered.callId}`)).toMatchObject({ state: 'executing' });
  expect((await requested(upgraded, 'f')).status).toBe(201);
}, 300_000);
