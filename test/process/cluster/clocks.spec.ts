import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { freePort } from '../../ports.js';
import { cleanUpAfterEach, temporaryFolder } from '../harness/cleanup.js';
import type { HttpAnswer } from '../harness/http.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';
import { openStoreServer, startRole, storeUrl, untilWaitingFor, writeTokens } from './roles.js';

cleanUpAfterEach();

const minutesMs = 600_000;
const waitMs = 300_000;

const policy = `
version: 1
rules:
  - id: silent
    match: { tools: [pay] }
    then: { require: { onTimeout: allow, allowOnTimeout: i-understand } }
`;

async function openEnvironment(): Promise<Readonly<Record<string, string>>> {
  const { port } = await openStoreServer();
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, policy);
  return {
    COUNTERSIGN_EVENTSTORE_URL: storeUrl(port),
    COUNTERSIGN_TOKENS_FILE: writeTokens(),
    COUNTERSIGN_POLICY: file,
    // Deadlines need no broker.
    COUNTERSIGN_KAFKA_BROKERS: `127.0.0.1:${String(await freePort())}`,
  };
}

/** Starts a role whose clock is off. */
function startShifted(role: string, env: Readonly<Record<string, string>>, shiftMs: number): Promise<Server> {
  const preload = join(import.meta.dirname, 'shifted-clock.mjs');
  return startRole(role, { ...env, SHIFT_MS: String(shiftMs), NODE_OPTIONS: `--import ${preload}` });
}

function post({ http }: Server, token: string, path: string, body: object): Promise<HttpAnswer> {
  return http.send({ method: 'POST', path, token, body });
}

async function ask(gateway: Server, toolCallId: string, call: object): Promise<ToolCallView> {
  const calls = [{ toolCallId, arguments: { amount: 1 }, ...call }];
  const body = { runId: 'run-1', calls };
  // A gateway whose clock is off is never ready; before it serves, it answers 503 or not at all.
  const asked = await eventually('an answer', async () => {
    const answer = await post(gateway, 'agent-token', '/v1/tool-calls', body).catch(() => undefined);
    return answer?.status === 503 ? undefined : answer;
  });
  const [view] = (asked.body as { calls: ToolCallView[] }).calls;
  if (view === undefined) throw new Error(asked.text);
  return view;
}

async function stateOf({ http }: Server, { callId }: ToolCallView): Promise<string> {
  const { body } = await http.send({ method: 'GET', path: `/v1/tool-calls/${callId}`, token: 'ann-token' });
  return (body as ToolCallView).state;
}

async function metricOf({ http }: Server, name: string): Promise<number> {
  // The server that says what a gateway waits for ends when the gateway itself serves.
  const { text } = await eventually('its metrics', () =>
    http.send({ method: 'GET', path: '/metrics' }).catch(() => undefined),
  );
  return Number(new RegExp(`^${name} (.*)$`, 'm').exec(text)?.[1]);
}

/** Told by a server in whole seconds, and later on a busy machine. */
const seconds = /(59[4-9]|60[0-6])\.\d s/;

test('a projector that is 10 minutes ahead fires nothing, and says so; one whose clock is right does', async () => {
  const env = await openEnvironment();
  const [gateway, ahead] = await Promise.all([startRole('gateway', env), startShifted('projector', env, minutesMs)]);
  await gateway.ready();
  await untilWaitingFor(ahead, 'clock', new RegExp(`clock is ${seconds.source} ahead of the event store's`));
  expect(await metricOf(ahead, 'countersign_clock_ahead_seconds')).toBeCloseTo(600, -1);
  expect(ahead.output()).toContain("this machine's clock and the event store's differ");

  const silent = await ask(gateway, 'silent', { toolName: 'pay', expiresInMs: waitMs });
  const long = await ask(gateway, 'long', { toolName: 'delete_file', needsApproval: true, expiresInMs: waitMs });
  const short = await ask(gateway, 'short', { toolName: 'delete_file', needsApproval: true, expiresInMs: 1000 });
  const claimed = await ask(gateway, 'claimed', { toolName: 'get_file', idempotent: true });
  const claim = (resolverId: string): Promise<HttpAnswer> =>
    post(gateway, 'worker-token', `/v1/tool-calls/${claimed.callId}/claim`, { resolverId, leaseMs: waitMs });
  const first = await claim('w1');
  expect(first.status).toBe(200);
  const position = Number(first.headers['countersign-position']);
  await eventually('the projector to know the calls', async () =>
    (await metricOf(ahead, 'countersign_projection_position')) >= position ? true : undefined,
  );
  await sleep(2000);
  expect(await Promise.all([silent, long, short].map((call) => stateOf(gateway, call)))).toEqual(
    [1, 2, 3].map(() => 'awaiting_approval'),
  );
  expect((await claim('w2')).status).toBe(409);

  const right = await startRole('projector', env);
  await eventually('the short one to expire', async () =>
    (await stateOf(gateway, short)) === 'expired' ? true : undefined,
  );
  expect(await Promise.all([silent, long, claimed].map((call) => stateOf(gateway, call)))).toEqual([
    'awaiting_approval',
    'awaiting_approval',
    'executing',
  ]);
  expect(Math.abs(await metricOf(right, 'countersign_clock_ahead_seconds'))).toBeLessThan(60);
});

test('gateways that are 10 minutes off record right deadlines and take every good vote, and are not ready', async () => {
  const env = await openEnvironment();
  const [gateway, behind, ahead] = await Promise.all([
    startRole('gateway', env),
    startShifted('gateway', env, -minutesMs),
    startShifted('gateway', env, minutesMs),
  ]);
  await gateway.ready();
  await untilWaitingFor(behind, 'clock', new RegExp(`clock is ${seconds.source} behind the event store's`));
  await untilWaitingFor(ahead, 'clock', new RegExp(`clock is ${seconds.source} ahead of the event store's`));
  expect(Math.abs(600 + (await metricOf(behind, 'countersign_clock_ahead_seconds')))).toBeLessThan(60);

  const calls = { toolName: 'delete_file', needsApproval: true, expiresInMs: waitMs };
  const asked = [await ask(behind, 'behind', calls), await ask(ahead, 'ahead', calls), await ask(gateway, 'g', calls)];
  for (const { approval } of asked) {
    const leftMs = Date.parse(approval?.expiresAt ?? '') - Date.now();
    // Ten minutes off would be another time; so much a busy machine may take for three calls.
    expect(Math.abs(leftMs - waitMs)).toBeLessThan(100_000);
    const votes = `/v1/approvals/${String(approval?.approvalId)}/responses`;
    const voted = await post(ahead, 'ann-token', votes, { decision: { type: 'approve' } });
    expect([voted.status, (voted.body as { state?: string }).state]).toEqual([200, 'approved']);
  }
});
