import { hash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { EventView, ToolCallView } from '@countersign/contracts';
import { createSystemIds, sleep, systemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { afterAll, expect, it } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { startStandalone } from './standalone.js';
import type { Standalone } from './standalone.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-record-'));
const tokensFile = join(folder, 'tokens.json');
const policyFile = join(folder, 'policy.yaml');
let server: Standalone | undefined;
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const tokenOf = (name: string): string => `cs_${name}_0123456789012345678901234567890123456789`;
const idOf = (name: string): string => `token:${hash('sha256', tokenOf(name), 'hex').slice(0, 16)}`;
const entry = (name: string, principal: string, ...roles: string[]) => ({ token: tokenOf(name), principal, roles });
const people = [
  entry('agent', 'agent', 'agent'),
  entry('alice', 'alice', 'approver'),
  entry('iris', 'iris', 'auditor'),
  entry('kim', 'kim', 'admin'),
];
const twin = entry('twin', 'alice', 'approver');
const write = (...entries: object[]): void => {
  writeFileSync(tokensFile, JSON.stringify(entries), { mode: 0o600 });
};
const start = async (clock: Clock = systemClock): Promise<void> => {
  const env = { COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_PORT: '0', COUNTERSIGN_TOKENS_FILE: tokensFile };
  const world = { clock, ids: createSystemIds(), log: createSilentLog() };
  server = await startStandalone(readStandaloneConfig({ ...env, COUNTERSIGN_POLICY: policyFile }), world);
};
const send = async (as: string, path: string, body?: object): Promise<Response> => {
  const headers = { authorization: `Bearer ${tokenOf(as)}`, 'content-type': 'application/json' };
  const init = body === undefined ? { headers } : { headers, method: 'POST', body: JSON.stringify(body) };
  return fetch(`${server?.url ?? ''}${path}`, init);
};
const log = async (): Promise<readonly EventView[]> => {
  const text = await (await send('iris', '/v1/audit/events')).text();
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as EventView);
};
const changesOf = async () =>
  (await log()).flatMap(({ type, data }) => {
    const { configures, added, removed } = data as Record<string, readonly { readonly credential: string }[] | string>;
    if (type !== 'ConfigurationChanged' || configures !== 'tokens') return [];
    return [
      [added, removed].map((list) => (Array.isArray(list) ? list.map(({ credential }) => credential as string) : [])),
    ];
  });
const until = async (isTrue: () => Promise<boolean>): Promise<void> => {
  for (let tries = 0; !(await isTrue()); tries += 1) {
    if (tries > 1000) throw new Error('it did not happen within 100 s');
    await sleep(systemClock, 100);
  }
};
const approveAs = async (as: string, toolCallId: string): Promise<string> => {
  const calls = [{ toolCallId, toolName: 'pay', arguments: {}, needsApproval: true }];
  const asked = (await (await send('agent', '/v1/tool-calls', { runId: 'run-1', calls })).json()) as {
    readonly calls: readonly ToolCallView[];
  };
  const approvalId = asked.calls[0]?.approval?.approvalId ?? '';
  const answer = await send(as, `/v1/approvals/${approvalId}/responses`, { decision: { type: 'approve' } });
  expect(answer.status).toBe(200);
  return approvalId;
};

it('the operator who is alice for two seconds is in the log', async () => {
  writeFileSync(policyFile, 'version: 1\nrules: []\n');
  write(...people);
  await start();
  write(...people, twin);
  await until(async () => (await send('twin', '/v1/me')).status === 200);
  const approvalId = await approveAs('twin', 'call-1');
  write(...people);
  await until(async () => (await send('twin', '/v1/me')).status === 401);
  await until(async () => (await changesOf()).length === 3);
  const ids = people.map(({ principal }) => idOf(principal));
  expect(await changesOf()).toEqual([
    [ids, []],
    [[idOf('twin')], []],
    [[], [idOf('twin')]],
  ]);
  const vote = (await log()).find(
    ({ type, data }) => type === 'ApprovalResponded' && data['approvalId'] === approvalId,
  );
  expect(vote).toMatchObject({ actor: { kind: 'person', id: 'alice' }, data: { credential: idOf('twin') } });
});

it('names a twin that was added while the server was stopped, and its removal at the next start', async () => {
  await server?.stop();
  write(...people, twin);
  await start();
  await approveAs('twin', 'call-2');
  await server?.stop();
  write(...people);
  await start();
  expect((await send('twin', '/v1/me')).status).toBe(401);
  expect((await changesOf()).slice(3)).toEqual([
    [[idOf('twin')], []],
    [[], [idOf('twin')]],
  ]);
});

it('has an admin who asks people again or submits an output as a person, with their credential', async () => {
  const calls = ['again', 'client'].map((toolCallId) => ({
    ...{ toolCallId, toolName: 'pay', arguments: {}, needsApproval: false },
    ...(toolCallId === 'client' && { clientExecuted: true }),
  }));
  const asked = (await (await send('agent', '/v1/tool-calls', { runId: 'run-2', calls })).json()) as {
    readonly calls: readonly ToolCallView[];
  };
  const [again = '', client = ''] = asked.calls.map(({ callId }) => callId);
  const statuses = [
    await send('kim', `/v1/tool-calls/${again}/approvals`, {}),
    await send('kim', `/v1/tool-calls/${client}/output`, { status: 'succeeded', output: 1 }),
  ].map(({ ok }) => ok);
  expect(statuses).toEqual([true, true]);
  const types = ['ApprovalRequested', 'ExecutionSucceeded'];
  const found = (await log()).filter(
    ({ callId, type }) => [again, client].includes(callId ?? '') && types.includes(type),
  );
  const proof = { actor: { kind: 'person', id: 'kim' }, data: { credential: idOf('kim'), roles: ['admin'] } };
  expect(found).toMatchObject(types.map((type) => ({ type, ...proof })));
});

it('says each start, what cannot be used, what the policy is, and who read the log', async () => {
  writeFileSync(tokensFile, '[{ "principal": ');
  const typesOf = async (type: string) => (await log()).filter((event) => event.type === type);
  await until(async () => (await typesOf('ConfigurationRefused')).length === 1);
  expect((await send('alice', '/v1/me')).status).toBe(200);
  const [refused] = await typesOf('ConfigurationRefused');
  expect(refused).toMatchObject({ actor: { kind: 'operator' }, data: { configures: 'tokens' } });
  expect(await typesOf('ProcessStarted')).toHaveLength(3);
  expect((await typesOf('ProcessStarted'))[0]?.data).toMatchObject({ role: 'standalone', commit: null });
  const policies = (await typesOf('ConfigurationChanged')).filter(({ data }) => data['configures'] === 'policy');
  expect(policies).toHaveLength(1);
  const reads = await typesOf('AuditRead');
  expect(reads[0]).toMatchObject({
    ...{ actor: { kind: 'person', id: 'iris' } },
    data: { count: 1, reads: [{ what: 'export', values: 'masked', after: 0 }], credential: idOf('iris') },
  });
  const processes = new Set((await log()).flatMap(({ data }) => data['processId'] ?? []));
  expect(processes.size).toBe(1);
  expect(JSON.stringify(await log())).not.toContain(tokenOf('twin'));
});

it('tells in /readyz and in its metrics that a changed file cannot be used, until it can', async () => {
  const told = async () => {
    const metrics = await (await fetch(`${server?.url ?? ''}/metrics`)).text();
    const ready = await fetch(`${server?.url ?? ''}/readyz`);
    const { checks } = (await ready.json()) as { readonly checks: Record<string, { readonly note?: string }> };
    const value = /^countersign_config_last_reload_successful\{file="tokens"\} (\d)$/m.exec(metrics)?.[1];
    return [ready.status, value, checks['configuration']?.note];
  };
  write(...people);
  await until(async () => (await told())[1] === '1');
  expect(await told()).toEqual([200, '1', undefined]);
  writeFileSync(tokensFile, '[{]');
  await until(async () => (await told())[1] === '0');
  expect(await told()).toEqual([200, '0', expect.stringContaining('changed and cannot be used: tokens.')]);
  expect((await send('alice', '/v1/me')).status).toBe(200);
  write(...people);
  await until(async () => (await told())[1] === '1');
  expect(await told()).toEqual([200, '1', undefined]);
});

it('tells in a note of /readyz that its clock was set back over a restart, until it is right again', async () => {
  const told = async () => {
    const ready = await fetch(`${server?.url ?? ''}/readyz`);
    const { checks } = (await ready.json()) as { readonly checks: Record<string, object> };
    return [ready.status, checks['clock']];
  };
  expect(await told()).toEqual([200, { status: 'ok' }]);
  await server?.stop();
  let behindMs = 3_600_000;
  await start({ ...systemClock, now: () => systemClock.now() - behindMs });
  expect(await told()).toEqual([200, { status: 'ok', note: expect.stringContaining('it was set back') as unknown }]);
  behindMs = 0;
  expect(await told()).toEqual([200, { status: 'ok' }]);
});
