import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { claim, reconcile, reportExecution, requestToolCalls, respondAndRemember } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { EraseSubject, ErasureView, RequestedCall, SubjectEvent } from '@countersign/contracts';
import { approvalIdOf, deriveCallId, toolCallStream } from '@countersign/contracts';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import { createIdempotencyStore } from '@countersign/gateway';
import { toToolCallView, verifyReadModel } from '@countersign/read-model';
import { createSystemIds } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { afterEach, beforeEach } from '@jest/globals';
import { readStandaloneConfig } from './config.js';
import { createErasures } from './erasures.js';
import { openStores } from './open-stores.js';
import type { Stores } from './open-stores.js';

let folder: string;
let stores: Stores;
const clock = createVirtualClock();
const ids = createSystemIds();
const log = createCollectingLog();
const world = { clock, ids, log };
const open = async (env: Record<string, string> = {}): Promise<Stores> =>
  (stores = await openStores(readStandaloneConfig({ COUNTERSIGN_DATA: folder, ...env }), world));
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-erasures-'));
  await open();
});
afterEach(async () => {
  await stores.close();
  rmSync(folder, { recursive: true, force: true });
});

const actor: Actor = {
  tenant: 'default',
  principal: 'me',
  roles: new Set(['agent', 'resolver', 'admin']),
  groups: [],
  agentIds: ['*'],
  via: 'api',
  assurance: 'high',
};
const subject = 'customer-42';
const secret = 'hunter2-is-secret';
const callIdOf = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);
const request = (toolCallId: string, change: Partial<RequestedCall> = {}, as = actor) =>
  requestToolCalls(
    stores.commands,
    as,
    {
      runId: 'run-1',
      calls: [{ toolCallId, toolName: 'pay', arguments: { password: secret }, labels: { subject }, ...change }],
    },
    ids.uuid(),
  );
const claimOf = (toolCallId: string) =>
  claim(stores.commands, actor, callIdOf(toolCallId), { resolverId: 'w' }, ids.uuid());
const run = async (toolCallId: string, output: object = { token: secret }): Promise<void> => {
  await claimOf(toolCallId);
  const body = { attempt: 1, status: 'succeeded', output } as never;
  await reportExecution(stores.commands, actor, callIdOf(toolCallId), body, ids.uuid());
};
const erasures = () => {
  const idempotency = createIdempotencyStore(join(folder, 'idempotency.db'));
  const made = createErasures({ ...stores, ...world, idempotency });
  return { ...made, close: idempotency.close };
};
const erase = async (change: Partial<EraseSubject> = {}, as = actor) => {
  const { erase: run, close } = erasures();
  const result = await run(as, { subject, ...change }, ids.uuid()).finally(close);
  return result.status === 'refused' ? result.refusal : result.value;
};
const viewOf = (toolCallId: string) => {
  const row = stores.readModel.toolCall('default', callIdOf(toolCallId));
  if (row === undefined) throw new Error(`there is no call ${toolCallId}`);
  return toToolCallView(row, 'whole');
};
const filesWith = (text: string): string[] =>
  readdirSync(folder).filter((name) => readFileSync(join(folder, name)).includes(text));

it('makes every value of the subject unreadable in the log, the read model and the files, and records the proof', async () => {
  await request('a');
  await run('a');
  await request('other', { labels: {} });
  stores.readModel.flush();
  expect(filesWith(secret)).toEqual([]);
  expect(viewOf('a')).toMatchObject({ arguments: { password: secret }, output: { token: secret } });
  const view = (await erase({ reason: 'asked' })) as ErasureView;
  expect(view).toMatchObject({ status: 'erased', calls: 1, values: 2, openCalls: [], clearValues: 0 });
  expect(viewOf('a')).toMatchObject({
    state: 'succeeded',
    arguments: { password: '[erased]' },
    output: { token: '[erased]' },
    erasedValues: ['/arguments/password', '/output/token'],
  });
  expect(viewOf('other').arguments).toEqual({ password: secret });
  const [proof] = await stores.store.readStream(view.stream ?? '');
  const data = proof?.data as SubjectEvent['data'];
  expect(data).toMatchObject({ calls: 1, values: 2, erasedBy: 'me', reason: 'asked' });
  expect(JSON.stringify(data)).not.toContain(subject);
  expect(await stores.store.verify()).toMatchObject({ status: 'ok' });
  const { store: source, vault } = stores;
  stores.readModel.flush();
  const file = join(folder, 'read-model.db');
  expect(await verifyReadModel({ file, source, log, seal: vault.texts })).toMatchObject({ same: true });
});

it('is refused while calls of the subject are open, and changes nothing', async () => {
  await request('a');
  expect(await erase()).toMatchObject({ code: 'calls-open', extra: { openCalls: [callIdOf('a')] } });
  expect(viewOf('a').arguments).toEqual({ password: secret });
  await run('a');
  expect(await erase()).toMatchObject({ status: 'erased', values: 2 });
});

it('cancels open calls when it is forced, and waits for those that were claimed', async () => {
  await request('a', { needsApproval: true });
  await request('b');
  await claimOf('b');
  expect(await erase({ force: true })).toMatchObject({ code: 'calls-open', extra: { openCalls: [callIdOf('b')] } });
  expect([viewOf('a').state, viewOf('b').arguments]).toEqual(['cancelled', { password: secret }]);
  const body = { attempt: 1, status: 'failed', error: { token: secret } } as never;
  await reportExecution(stores.commands, actor, callIdOf('b'), body, ids.uuid());
  expect(await erase({ force: true })).toMatchObject({ status: 'erased', calls: 2, values: 3 });
  expect(viewOf('b').error).toEqual({ token: '[erased]' });
});

it('adds nothing when it is repeated, and names the proof', async () => {
  await request('a');
  await run('a');
  const first = (await erase()) as ErasureView;
  const { stream, erasedAt } = first;
  expect(await erase()).toMatchObject({ status: 'nothing-to-erase', values: 0, stream, erasedAt });
  expect(await stores.store.readStream(stream ?? '')).toHaveLength(1);
});

it('leaves nothing to erase of a subject without encrypted values', async () => {
  await request('a', { arguments: { path: '/x' } });
  expect(await erase()).toMatchObject({ status: 'nothing-to-erase', stream: null });
});

it('gives a later call of the subject a new key, which the next erasure destroys', async () => {
  await request('a');
  await run('a');
  await erase();
  await request('b');
  await run('b');
  expect(viewOf('b').arguments).toEqual({ password: secret });
  expect(await erase()).toMatchObject({ status: 'erased', calls: 1, values: 2 });
  expect([viewOf('a'), viewOf('b')].map(({ arguments: args }) => args)).toEqual([
    { password: '[erased]' },
    { password: '[erased]' },
  ]);
});

it('lets an erased call never run again', async () => {
  await request('a');
  await claimOf('a');
  clock.advance(10 * 60_000);
  const unknown = await reconcileUnknown('a');
  expect(unknown).toBe('unknown');
  await erase();
  await reconcile(stores.commands, actor, callIdOf('a'), { status: 'retry', note: 'try' }, ids.uuid());
  expect(await claimOf('a')).toMatchObject({ status: 'refused', refusal: { code: 'digest-mismatch' } });
  expect(await request('a')).toMatchObject({ status: 'refused', refusal: { code: 'tool-call-mismatch' } });
});

/** Lets the lease of a call lapse. */
async function reconcileUnknown(toolCallId: string): Promise<string> {
  const { fireDue } = await import('@countersign/commands');
  await fireDue(stores.commands, 'default', callIdOf(toolCallId));
  return viewOf(toolCallId).state;
}

it('makes the hash useless that a remembered approval keeps of the values', async () => {
  const approver: Actor = { ...actor, principal: 'ann', roles: new Set(['approver']) };
  const remember = { match: 'exact', scope: 'agent', expiresInMs: 3_600_000 } as const;
  const policyFile = join(folder, 'policy.yaml');
  writeFileSync(policyFile, 'version: 1\nrequireApprovalTools: [pay]\n');
  await stores.close();
  await open({ COUNTERSIGN_POLICY: policyFile });
  await request('a');
  const approvalId = approvalIdOf(callIdOf('a'), 1);
  const given = { decision: { type: 'approve' }, remember } as const;
  expect(await respondAndRemember(stores.commands, approver, approvalId, given, ids.uuid())).toMatchObject({
    status: 'done',
  });
  await run('a');
  await request('b');
  expect(viewOf('b').verdict.outcome).toBe('allow');
  await run('b');
  const recorded = await stores.vault.store.raw.readAll(0, 1000);
  expect(recorded.filter(({ type }) => type === 'GrantCreated').map(({ data }) => data)).toMatchObject([
    { subject, match: { salt: '[sealed]' } },
  ]);
  await erase();
  await request('c');
  expect(viewOf('c').state).toBe('awaiting_approval');
});

it('does not touch a subject of the same name in another tenant', async () => {
  const elsewhere = { ...actor, tenant: 'other' };
  await request('a', {}, elsewhere);
  expect(await erase({ force: true })).toMatchObject({ status: 'nothing-to-erase', calls: 0 });
  const row = stores.readModel.toolCall('other', deriveCallId('other', 'run-1', 'a'));
  expect(row?.request.arguments).toEqual({ password: secret });
});

it('erases a run whose calls have no label', async () => {
  await request('a', { labels: {} });
  await run('a');
  expect(await erase({ subject: 'run:run-1' })).toMatchObject({ status: 'erased', calls: 1 });
});

it('counts the values that an older version recorded in clear, and does not claim them', async () => {
  await stores.close();
  const raw = await openEmbeddedEventStore({ folder, clock, log });
  const callId = callIdOf('old');
  const data = {
    ...{ callId, tenant: 'default', runId: 'run-1', agentId: 'me', batchId: null, batchMode: 'independent' },
    ...{ batchCallIds: [], toolCallId: 'old', toolName: 'pay', arguments: { password: secret }, toolSchema: null },
    ...{ toolSchemaHash: null, salt: 'aa', actionDigest: `sha256:${'0'.repeat(64)}`, sensitive: ['/password'] },
    ...{ needsApproval: false, reason: null, description: null, clientExecuted: false, idempotent: false },
    ...{ labels: { subject }, requestedBy: 'me', requestedAt: '2026-01-01T00:00:00.000Z' },
  };
  const metadata = { tenant: 'default', callId, runId: 'run-1', schemaVersion: 1, commandId: 'c' };
  const event = { eventId: ids.uuid(), type: 'ToolCallRequested', data: data as never, metadata } as const;
  await raw.append(toolCallStream(callId), noStream, [event]);
  await raw.close();
  await open();
  const { preview, close } = erasures();
  expect(await preview(actor, subject)).toMatchObject({ status: 'possible', values: 0, clearValues: 1 });
  close();
});

it('refuses to start with new keys over encrypted values, unless they are given up', async () => {
  await request('a');
  await stores.close();
  for (const name of readdirSync(folder).filter((each) => /^(keys\.db|root\.key)/.test(each)))
    rmSync(join(folder, name));
  // The second time as well: a failed start has not made the keys anew for good.
  for (let start = 0; start < 2; start += 1) {
    await expect(open()).rejects.toThrow('the log has values that were encrypted with its keys');
  }
  rmSync(join(folder, 'read-model.db'));
  await open({ COUNTERSIGN_ACCEPT_LOST_KEYS: 'yes' });
  expect(viewOf('a').arguments).toEqual({ password: '[erased]' });
});
