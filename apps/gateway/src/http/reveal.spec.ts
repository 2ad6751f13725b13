import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import type { ApprovalView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

const secret = 'hunter2-canary';
const args = { host: 'db', password: secret, card: secret };
const toolSchema = { type: 'object', properties: { card: { type: 'string', 'x-sensitive': true } } };
const pending = () => api.pending({ arguments: args, toolSchema, labels: { env: 'prod' } });
const looks = async (approvalId: string) =>
  readable(await world.store.readAll(0, 10_000)).filter(
    ({ type, data }) => type === 'ValuesRevealed' && 'approvalId' in data && data.approvalId === approvalId,
  );
const reveal = (approvalId: string, as: string, headers: Readonly<Record<string, string>> = {}) =>
  api.send('POST', `/v1/approvals/${approvalId}/reveal`, { as, headers });

describe('an approval', () => {
  it('names the requester, the labels, the hidden values and who hid them', async () => {
    const { approvalId } = await pending();
    const { body } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
    expect(body).toMatchObject({ requestedBy: 'agent', labels: { env: 'prod' }, toolCallId: 'call-1', batch: null });
    expect(body.hiddenValues).toEqual([
      { pointer: '/password', why: 'name' },
      { pointer: '/card', why: 'schema' },
    ]);
  });

  it('names the calls of its batch', async () => {
    const call = { toolName: 'delete_file', arguments: {}, needsApproval: true };
    const calls = ['a', 'b'].map((toolCallId) => ({ ...call, toolCallId }));
    const body = { runId: 'run-batch', batchId: 'step-1', batchMode: 'all-or-nothing', calls };
    const { body: answer } = await api.send<{ calls: { callId: string; approval: ApprovalView }[] }>(
      'POST',
      '/v1/tool-calls',
      { body },
    );
    const callIds = answer.calls.map(({ callId }) => callId);
    expect(answer.calls[0]?.approval.batch).toEqual({ batchId: 'step-1', mode: 'all-or-nothing', callIds });
  });
});

describe('a reveal', () => {
  it('shows the hidden values to a person who may answer, and records who looked at what', async () => {
    const { approvalId } = await pending();
    expect(await reveal(approvalId, 'ann')).toMatchObject({ status: 200, body: { arguments: args } });
    expect((await looks(approvalId)).map(({ data }) => data)).toMatchObject([
      { approvalId, revealedBy: 'ann', pointers: ['/password', '/card'], via: 'api' },
    ]);
    expect(JSON.stringify(world.log)).not.toContain(secret);
  });

  it('is recorded each time', async () => {
    const { approvalId } = await pending();
    for (let n = 0; n < 2; n += 1) expect((await reveal(approvalId, 'ann')).body).toEqual({ arguments: args });
    expect(await looks(approvalId)).toHaveLength(2);
  });

  it('under one idempotency key is recorded once and checked each time, and its values are kept nowhere', async () => {
    const { approvalId } = await pending();
    const headers = { 'idempotency-key': 'look-1' };
    for (const replayed of [null, 'true', 'true']) {
      const look = await reveal(approvalId, 'ann', headers);
      expect([look.status, look.body, look.headers.get('idempotent-replayed')]).toEqual([
        200,
        { arguments: args },
        replayed,
      ]);
    }
    expect(await looks(approvalId)).toHaveLength(1);
    for (const name of readdirSync(world.folder).filter((file) => file.startsWith('idempotency')))
      expect(readFileSync(join(world.folder, name)).includes(secret)).toBe(false);
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'bob',
      body: { decision: { type: 'deny' } },
    });
    expect(await reveal(approvalId, 'ann', headers)).toMatchObject({ status: 409, body: { code: 'already-resolved' } });
  });

  it('under one idempotency key is recorded again for another proposal', async () => {
    const { approvalId } = await api.pending({ arguments: args, toolSchema, allowedDecisions: ['approve', 'edit'] });
    const headers = { 'idempotency-key': 'look-2' };
    await reveal(approvalId, 'ann', headers);
    const decision = { type: 'edit', arguments: { ...args, password: `${secret}-2` } };
    const edit = await api.send<ApprovalView>('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'bob',
      body: { decision },
    });
    if (edit.body.state !== 'pending') return;
    expect((await reveal(approvalId, 'ann', headers)).body).toEqual({ arguments: decision.arguments });
    expect(await looks(approvalId)).toHaveLength(2);
  });

  it.each([
    ['agent', 403, 'forbidden'],
    ['admin', 403, 'forbidden'],
    ['other', 404, 'unknown-approval'],
  ])('shows %s nothing', async (as, status, code) => {
    const { approvalId } = await pending();
    const answer = await reveal(approvalId, as);
    expect(answer).toMatchObject({ status, body: { code } });
    expect(JSON.stringify(answer.body)).not.toContain(secret);
    expect(await looks(approvalId)).toEqual([]);
  });

  it('shows nothing of an approval that has ended', async () => {
    const { approvalId } = await pending();
    const body = { decision: { type: 'deny' } };
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'bob', body });
    expect(await reveal(approvalId, 'ann')).toMatchObject({ status: 409, body: { code: 'already-resolved' } });
  });
});
