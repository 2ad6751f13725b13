import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { claim, createGrant, reconcile, requestToolCalls, respond, submitClientOutput } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { approvalIdOf } from '@countersign/contracts';
import { expect, it } from '@jest/globals';
import { actor, callIdOf, callOf, prepareErasing } from './testing/erasing.js';

const { ids, log, open, request, claimOf, run, viewOf, folder, stores } = prepareErasing();

const alice: Actor = { ...actor, principal: 'alice', roles: new Set(['approver', 'admin']) };

async function approve(toolCallId: string, round = 1) {
  const approvalId = approvalIdOf(callIdOf(toolCallId), round);
  return respond(stores().commands, alice, approvalId, { decision: { type: 'approve' } } as never, ids.uuid());
}

/** Starts as after `countersign restore` of the log as it is now. */
async function restore(): Promise<number> {
  stores().readModel.flush();
  const end = await stores().store.head();
  await stores().close();
  const mark = { end, known: end + 3, tenants: ['default'], reason: 'the disk was lost' };
  writeFileSync(join(folder(), 'restored.json'), JSON.stringify(mark));
  await open();
  await stores().readModel.reached(await stores().store.head());
  return end;
}

const typesAfter = async (position: number) => (await stores().store.readAll(position, 1000)).map(({ type }) => type);

it('begins with LogRestored, and nothing that was permitted before runs without a new response', async () => {
  await request('allowed');
  for (const id of ['approved', 'pending', 'approved-idempotent'])
    await request(id, { needsApproval: true, idempotent: id.endsWith('idempotent') });
  await approve('approved');
  await approve('approved-idempotent');
  await request('claimed');
  await claimOf('claimed');
  await request('claimed-idempotent', { idempotent: true });
  await claimOf('claimed-idempotent');
  await request('done');
  await run('done');
  const end = await restore();
  expect((await typesAfter(end))[0]).toBe('LogRestored');
  expect(
    Object.fromEntries(
      ['allowed', 'approved', 'approved-idempotent', 'pending', 'claimed', 'claimed-idempotent', 'done'].map((id) => [
        id,
        viewOf(id).state,
      ]),
    ),
  ).toEqual({
    ...{ allowed: 'awaiting_approval', approved: 'awaiting_approval', 'approved-idempotent': 'awaiting_approval' },
    ...{ pending: 'awaiting_approval', claimed: 'unknown', 'claimed-idempotent': 'unknown', done: 'succeeded' },
  });
  for (const id of ['allowed', 'approved', 'approved-idempotent', 'claimed', 'claimed-idempotent'])
    expect(await claimOf(id)).toMatchObject({ status: 'refused' });
  expect(existsSync(join(folder(), 'restored.json'))).toBe(false);
  // Asked again, people decide again.
  expect(await approve('approved', 2)).toMatchObject({ status: 'done' });
  expect(await claimOf('approved')).toMatchObject({ status: 'done' });
});

it('asks people again under a stop too', async () => {
  await request('allowed');
  await request('approved', { needsApproval: true });
  await approve('approved');
  const stop = join(folder(), 'STOP');
  writeFileSync(stop, 'a stop of after the backup is lost');
  await restore();
  expect(statesOf('allowed', 'approved')).toEqual(['awaiting_approval', 'awaiting_approval']);
  expect(await approve('approved', 2)).toMatchObject({ refusal: { code: 'stopped' } });
  rmSync(stop);
  await nextTurn();
  expect(await approve('approved', 2)).toMatchObject({ status: 'done' });
});

/** Requests the calls of one step. */
const requestStep = (batchMode: 'all-or-nothing' | 'sequential', toolCallIds: readonly string[]) =>
  requestToolCalls(
    stores().commands,
    actor,
    {
      ...{ runId: 'run-1', batchId: 'step', batchMode },
      calls: toolCallIds.map((id) => callOf(id, { needsApproval: id.startsWith('asked') })),
    },
    ids.uuid(),
  );

const statesOf = (...toolCallIds: readonly string[]) => toolCallIds.map((id) => viewOf(id).state);

it('leaves no call of a batch that has begun claimable', async () => {
  await requestStep('all-or-nothing', ['one', 'two']);
  await claimOf('one');
  await restore();
  expect(statesOf('one', 'two')).toEqual(['unknown', 'unknown']);
  expect(await claimOf('two')).toMatchObject({ status: 'refused' });
});

it('leaves no call of such a batch to its client', async () => {
  const calls = [callOf('one'), callOf('of-client', { clientExecuted: true })];
  const step = { runId: 'run-1', batchId: 'step', batchMode: 'all-or-nothing' as const, calls };
  await requestToolCalls(stores().commands, actor, step, ids.uuid());
  await claimOf('one');
  await restore();
  expect(statesOf('one', 'of-client')).toEqual(['unknown', 'unknown']);
  const body = { status: 'succeeded', output: null } as const;
  const output = () => submitClientOutput(stores().commands, actor, callIdOf('of-client'), body, ids.uuid());
  expect(await output()).toMatchObject({ refusal: { code: 'already-settled' } });
  await reconcile(stores().commands, alice, callIdOf('of-client'), { status: 'retry', note: 'not run' }, ids.uuid());
  expect(await output()).toMatchObject({ status: 'done' });
});

it('ends an all-or-nothing batch that had not begun', async () => {
  await requestStep('all-or-nothing', ['asked-1', 'asked-2']);
  await approve('asked-1');
  await restore();
  expect(await claimOf('asked-1')).toMatchObject({ status: 'refused' });
  await approve('asked-2');
  for (const id of ['asked-1', 'asked-2']) expect(await claimOf(id)).toMatchObject({ status: 'refused' });
});

it('asks about a sequential call that was to be allowed at its turn', async () => {
  await requestStep('sequential', ['asked-first', 'next']);
  await restore();
  expect(statesOf('asked-first', 'next')).toEqual(['awaiting_approval', 'awaiting_approval']);
  const row = stores().readModel.toolCall('default', callIdOf('next'));
  expect(row?.permission).toMatchObject({
    queued: { question: { reason: expect.stringContaining('restored') as unknown } },
  });
});

it('ends the grants, and asks about every new call until a person knows', async () => {
  const body = { toolName: 'pay', match: { any: true }, expiresInMs: 3_600_000, reason: 'every day' };
  const given = await createGrant(stores().commands, alice, body as never, ids.uuid());
  expect(given).toMatchObject({ status: 'done' });
  const end = await restore();
  expect(await typesAfter(end)).toContain('GrantRevoked');
  await request('new');
  await stores().readModel.reached(await stores().store.head());
  expect(viewOf('new').state).toBe('awaiting_approval');
  const { system } = stores();
  const known = { from: end + 3, to: end, by: 'alice', reason: 'compared', acceptedAt: system.now() };
  await system.record('default', { type: 'LogEndAccepted', data: known });
  await request('later');
  await stores().readModel.reached(await stores().store.head());
  expect(viewOf('later').state).toBe('allowed');
});

it('goes on where a start ended in between, and does nothing twice', async () => {
  await request('a');
  await request('b', { needsApproval: true });
  await approve('b');
  const end = await restore();
  const first = await typesAfter(end);
  await stores().close();
  const mark = { end, known: end + 3, tenants: ['default'], reason: 'the disk was lost' };
  writeFileSync(join(folder(), 'restored.json'), JSON.stringify(mark));
  await open();
  expect(await typesAfter(end)).toEqual(first);
  expect(first.filter((type) => type === 'LogRestored')).toHaveLength(1);
});

it('marks a call unknown whose claim was left by a start that ended in between', async () => {
  await request('a', { idempotent: true });
  const resolver: Actor = { ...actor, principal: 'countersign-resolver' };
  const end = await stores().store.head();
  await claim(stores().commands, resolver, callIdOf('a'), { resolverId: 'countersign-restore' }, ids.uuid());
  stores().readModel.flush();
  await stores().close();
  const mark = { end, known: end, tenants: ['default'], reason: 'the disk was lost' };
  writeFileSync(join(folder(), 'restored.json'), JSON.stringify(mark));
  await open();
  await stores().readModel.reached(await stores().store.head());
  expect(viewOf('a').state).toBe('unknown');
});

it('is refused where the restored log is not whole, and where the mark cannot be read', async () => {
  const end = await stores().store.head();
  await stores().close();
  const file = join(folder(), 'restored.json');
  writeFileSync(file, JSON.stringify({ end: end + 1, known: end + 1, tenants: ['default'], reason: 'r' }));
  await expect(open()).rejects.toThrow(
    `the restored log ends at position ${String(end)} and not at ${String(end + 1)}`,
  );
  writeFileSync(file, '{');
  await expect(open()).rejects.toThrow('restored.json is not what countersign restore wrote');
  expect(log.entries.length).toBeGreaterThan(0);
});
