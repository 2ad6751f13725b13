import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readable } from '@countersign/event-store/testing';
import { reconcile, reportExecution, requestToolCalls, respondAndRemember, takeTurn } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { ErasureView, SubjectEvent } from '@countersign/contracts';
import { approvalIdOf, deriveCallId, toolCallStream } from '@countersign/contracts';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import { createTurns } from '@countersign/projector';
import { verifyReadModel } from '@countersign/read-model';
import { actor, callIdOf, callOf, prepareErasing, secret, subject } from './testing/erasing.js';

const { clock, ids, log, open, request, claimOf, run, erase, preview, viewOf, filesWith, folder, stores } =
  prepareErasing();

it('makes every value of the subject unreadable in the log, the read model and the files, and records the proof', async () => {
  await request('a');
  await run('a');
  await request('other', { labels: {} });
  stores().readModel.flush();
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
  const [proof] = readable(await stores().store.readStream(view.stream ?? ''));
  const data = proof?.data as SubjectEvent['data'];
  expect(data).toMatchObject({ calls: 1, values: 2, erasedBy: 'me', reason: 'asked' });
  expect(JSON.stringify(data)).not.toContain(subject);
  expect(await stores().store.verify()).toMatchObject({ status: 'ok' });
  const { store: source, vault } = stores();
  stores().readModel.flush();
  const file = join(folder(), 'read-model.db');
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
  await reportExecution(stores().commands, actor, callIdOf('b'), body, ids.uuid());
  expect(await erase({ force: true })).toMatchObject({ status: 'erased', calls: 2, values: 3 });
  expect(viewOf('b').error).toEqual({ token: '[erased]' });
});

it('gives no turn to a call that it cancels', async () => {
  const { readModel, commands, store } = stores();
  const turns = createTurns({ readModel, takeTurn: (turn) => takeTurn(commands, turn), clock, log });
  turns.start();
  const calls = Array.from({ length: 20 }, (_, n) => callOf(`s-${String(n)}`, { needsApproval: true }));
  await requestToolCalls(commands, actor, { runId: 'run-1', batchMode: 'sequential', calls }, ids.uuid());
  await readModel.reached(await store.head());
  expect(await erase({ force: true })).toMatchObject({ status: 'erased', calls: 20 });
  await turns.stop();
  const asked = readable(await store.readAll(0, 200)).filter(({ type }) => type === 'ApprovalRequested');
  const callIds = asked.map(({ metadata }) => metadata.callId);
  expect(callIds.filter((callId) => callId !== callIdOf('s-0'))).toEqual([]);
});

it('adds nothing when it is repeated, and names the proof', async () => {
  await request('a');
  await run('a');
  const first = (await erase()) as ErasureView;
  const { stream, erasedAt } = first;
  expect(await erase()).toMatchObject({ status: 'nothing-to-erase', values: 0, stream, erasedAt });
  expect(await stores().store.readStream(stream ?? '')).toHaveLength(1);
});

it('has the first result again for the same command, and erases nothing that came since', async () => {
  await request('a');
  await run('a');
  const first = (await erase({}, actor, 'command-1')) as ErasureView;
  await request('b');
  await run('b');
  expect(await erase({}, actor, 'command-1')).toEqual(first);
  expect(viewOf('b').arguments).toEqual({ password: secret });
  expect(await erase({}, actor, 'command-2')).toMatchObject({ status: 'erased', calls: 1 });
  const other = await erase({ reason: 'another one' }, actor, 'command-1');
  expect(other).toMatchObject({ code: 'idempotency-key-reused' });
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
  await reconcile(stores().commands, actor, callIdOf('a'), { status: 'retry', note: 'try' }, ids.uuid());
  expect(await claimOf('a')).toMatchObject({ status: 'refused', refusal: { code: 'digest-mismatch' } });
  expect(await request('a')).toMatchObject({ status: 'refused', refusal: { code: 'tool-call-mismatch' } });
});

/** Lets the lease of a call lapse. */
async function reconcileUnknown(toolCallId: string): Promise<string> {
  const { fireDue } = await import('@countersign/commands');
  await fireDue(stores().commands, 'default', callIdOf(toolCallId));
  return viewOf(toolCallId).state;
}

it('makes the hash useless that a remembered approval keeps of the values', async () => {
  const approver: Actor = { ...actor, principal: 'ann', roles: new Set(['approver']) };
  const remember = { match: 'exact', scope: 'agent', expiresInMs: 3_600_000 } as const;
  const policyFile = join(folder(), 'policy.yaml');
  writeFileSync(policyFile, 'version: 1\nrequireApprovalTools: [pay]\n');
  await stores().close();
  await open({ COUNTERSIGN_POLICY: policyFile });
  await request('a');
  const approvalId = approvalIdOf(callIdOf('a'), 1);
  const given = { decision: { type: 'approve' }, remember } as const;
  expect(await respondAndRemember(stores().commands, approver, approvalId, given, ids.uuid())).toMatchObject({
    status: 'done',
  });
  await run('a');
  await request('b');
  expect(viewOf('b').verdict.outcome).toBe('allow');
  await run('b');
  const recorded = readable(await stores().vault.store.raw.readAll(0, 1000));
  expect(recorded.filter(({ type }) => type === 'GrantCreated').map(({ data }) => data)).toMatchObject([
    { subject: JSON.stringify(['me', subject]), match: { salt: '[sealed]' } },
  ]);
  await erase();
  await request('c');
  expect(viewOf('c').state).toBe('awaiting_approval');
});

it('does not touch a subject of the same name in another tenant', async () => {
  const elsewhere = { ...actor, tenant: 'other' };
  await request('a', {}, elsewhere);
  expect(await erase({ force: true })).toMatchObject({ status: 'nothing-to-erase', calls: 0 });
  const row = stores().readModel.toolCall('other', deriveCallId('other', 'run-1', 'a'));
  expect(row?.request.arguments).toEqual({ password: secret });
});

it('erases a run whose calls have no label', async () => {
  await request('a', { labels: {} });
  await run('a');
  expect(await erase({ subject: 'run:run-1' })).toMatchObject({ status: 'erased', calls: 1 });
});

describe('the erasure of calls of one principal', () => {
  const other: Actor = { ...actor, principal: 'other' };

  it('is not held up by a label of another that names the run, and does not reach its calls', async () => {
    await request('a', { labels: {} });
    await run('a');
    await request('hostile', { labels: { subject: 'run:run-1' } }, other);
    expect(await erase({ subject: 'run:run-1' })).toMatchObject({ status: 'erased', calls: 1 });
    expect(viewOf('hostile').arguments).toEqual({ password: secret });
    expect(await erase({ subject: 'label:run:run-1', force: true })).toMatchObject({ status: 'erased', calls: 1 });
  });

  it.each([
    ['the same label', { subject }, subject],
    ['the same run', {}, 'run:run-1'],
  ])('is not held up by an open call of another with %s, and does not reach it', async (_, labels, name) => {
    await request('a', { labels });
    await run('a');
    await request('hostile', { labels }, other);
    const openCalls = { code: 'calls-open', extra: { openCalls: [callIdOf('hostile')] } };
    expect(await erase({ subject: name })).toMatchObject(openCalls);
    expect(await erase({ subject: name, requestedBy: 'me' })).toMatchObject({ status: 'erased', calls: 1 });
    expect([viewOf('a'), viewOf('hostile')].map(({ arguments: args }) => args)).toEqual([
      { password: '[erased]' },
      { password: secret },
    ]);
    expect(await erase({ subject: name, force: true })).toMatchObject({ status: 'erased', calls: 1 });
  });
});

it('counts the values that an older version recorded in clear, and does not claim them', async () => {
  await stores().close();
  const raw = await openEmbeddedEventStore({ folder: folder(), clock, log });
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
  expect(await preview()).toMatchObject({ status: 'possible', values: 0, clearValues: 1 });
});

it('refuses to start with new keys over encrypted values, unless they are given up', async () => {
  await request('a');
  await stores().close();
  for (const name of readdirSync(folder()).filter((each) => /^(keys\.db|root\.key)/.test(each)))
    rmSync(join(folder(), name));
  // The second start fails too: a failed start must not create new keys.
  for (let start = 0; start < 2; start += 1) {
    await expect(open()).rejects.toThrow('the log has values that were encrypted with its keys');
  }
  await open({ COUNTERSIGN_ACCEPT_LOST_KEYS: 'yes' });
  expect(viewOf('a').arguments).toEqual({ password: '[key missing]' });
});
