import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { policyStream, systemStream } from '@countersign/contracts';
import type { JsonObject, StopEffect } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

interface State {
  readonly position: number;
  readonly policy: { readonly policyVersion: string } | null;
  readonly calls: readonly { readonly callId: string; readonly state: string; readonly arguments: unknown }[];
  readonly grants: readonly { readonly grantId: string; readonly state: string }[];
  readonly rights: readonly { readonly principal: string; readonly roles: readonly string[] }[];
  readonly people: readonly unknown[];
  readonly stops: readonly { readonly stopId: string; readonly liftedAt: string | null }[];
}

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies: createTestPolicies() });
  api = createApi(world);
});
afterAll(() => world.close());

const now = async (): Promise<string> => {
  const last = (await world.store.readAll(0, 10_000)).at(-1)?.recordedAt ?? new Date().toISOString();
  await delay(5);
  return last;
};
const stateAt = async (asOf: string, as = 'auditor') => {
  const { status, body } = await api.send<State>('GET', `/v1/audit/state?asOf=${encodeURIComponent(asOf)}`, { as });
  expect(status).toBe(200);
  return body;
};
const statesAt = async (asOf: string) => (await stateAt(asOf)).calls.map(({ callId, state }) => [callId, state]);
const respond = (approvalId: string, type: string) =>
  api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body: { decision: { type } } });

describe('the state of a tenant at a moment', () => {
  it('has the calls that were open then, as they stood, with hidden values masked', async () => {
    const one = await api.pending({ arguments: { password: 'hunter2' } });
    const asked = await now();
    await respond(one.approvalId, 'approve');
    const two = await api.pending();
    const approved = await now();
    await api.send('POST', `/v1/tool-calls/${one.callId}/claim`, { as: 'worker', body: { resolverId: 'w' } });
    await respond(two.approvalId, 'deny');
    const denied = await now();
    const outcome = { attempt: 1, status: 'succeeded', output: 1 };
    await api.send('POST', `/v1/tool-calls/${one.callId}/outcome`, { as: 'worker', body: outcome });
    await api.send('POST', `/v1/tool-calls/${two.callId}/cancel`, { body: { reason: 'over' } });

    expect(await statesAt(asked)).toEqual([[one.callId, 'awaiting_approval']]);
    expect(JSON.stringify(await stateAt(asked))).not.toContain('hunter2');
    expect(await statesAt(approved)).toEqual([
      [one.callId, 'approved'],
      [two.callId, 'awaiting_approval'],
    ]);
    expect(await statesAt(denied)).toEqual([[one.callId, 'executing']]);
    expect(await statesAt(await now())).toEqual([]);
    expect(await stateAt('2020-01-01T00:00:00Z')).toMatchObject({ position: 0, policy: null, calls: [], rights: [] });
  });

  it('has the policy and the rights that were recorded last', async () => {
    const metadata = { tenant: 'default', callId: null, runId: null, schemaVersion: 2, commandId: 'c' };
    const rights = (principal: string, ...roles: string[]) => ({
      ...{ credential: `token:${principal}`, principal, roles, groups: [], agentIds: [] },
      rights: `sha256:${'0'.repeat(64)}`,
    });
    const changed = (nth: number, lists: object) =>
      world.store.append(systemStream('default', 'p1'), nth - 1, [
        {
          eventId: `00000000-0000-4000-8000-00000000000${String(nth)}`,
          type: 'ConfigurationChanged',
          metadata,
          data: {
            ...{
              processId: 'p1',
              configures: 'tokens',
              digest: null,
              added: [],
              changed: [],
              removed: [],
              summary: [],
            },
            ...lists,
            changedAt: new Date().toISOString(),
          } as never,
        },
      ]);
    await changed(0, { added: [rights('alice', 'approver'), rights('mallory', 'admin')] });
    const before = await now();
    await changed(1, { changed: [rights('alice', 'auditor')], removed: [rights('mallory', 'admin')] });
    const seen = async (asOf: string) => (await stateAt(asOf)).rights.map(({ principal, roles }) => [principal, roles]);
    expect(await seen(before)).toEqual([
      ['alice', ['approver']],
      ['mallory', ['admin']],
    ]);
    expect(await seen(await now())).toEqual([['alice', ['auditor']]]);
  });

  it('has the people of the policy that was in force: their groups, and who may answer for them then', async () => {
    const delegate = { to: 'bob', from: '2020-01-01T00:00:00Z', until: '2098-01-01T00:00:00Z' };
    const over = { ...delegate, until: '2021-01-01T00:00:00Z' };
    const activate = async (revision: number, content: JsonObject) => {
      const metadata = { tenant: 'default', callId: null, runId: null, schemaVersion: 2, commandId: 'c' };
      const data = { policyVersion: `sha256:${'a'.repeat(64)}`, content, activatedBy: 'me', activatedAt: await now() };
      const eventId = `00000000-0000-4000-9000-00000000000${String(revision)}`;
      const event = { eventId, type: 'PolicyActivated', metadata, data } as const;
      await world.store.append(policyStream('default'), revision - 1, [event]);
    };
    await activate(0, {
      version: 1,
      approvers: [{ id: 'alice', groups: ['ops'], delegates: [delegate, over] }, { id: 'bob' }],
    });
    const first = await now();
    await activate(1, { version: 1 });
    expect((await stateAt(first)).people).toEqual([
      { principal: 'alice', groups: ['ops'], delegates: [delegate] },
      { principal: 'bob', groups: [], delegates: [] },
    ]);
    expect((await stateAt(await now())).people).toEqual([]);
  });

  it('has the stops that were in force for the tenant, also those of the operator', async () => {
    const stop = async (body: object, as: string) =>
      (await api.send<StopEffect>('POST', '/v1/stops', { as, body: { reason: 'it pays twice', ...body } })).body.stop;
    const ids = async (asOf: string, as?: string) => (await stateAt(asOf, as)).stops.map(({ stopId }) => stopId);
    const before = await now();
    const all = await stop({}, 'stopper');
    const own = await stop({ tenant: 'default', toolName: 'refund' }, 'stopper');
    const stopped = await now();
    await api.send('POST', `/v1/stops/${all.stopId}/lift`, { as: 'admin', body: { reason: 'mended' } });
    const lifted = await now();
    await api.send('POST', `/v1/stops/${own.stopId}/lift`, { as: 'admin', body: { reason: 'mended' } });

    expect(await ids(before)).toEqual([]);
    expect((await stateAt(stopped)).stops).toEqual([all, own]);
    expect(await ids(stopped, 'other')).toEqual([all.stopId]);
    expect(await ids(lifted)).toEqual([own.stopId]);
    expect(await ids(await now())).toEqual([]);
  });

  it('is that of the tenant of the auditor, and for auditors alone', async () => {
    expect(await stateAt(await now(), 'other')).toMatchObject({ calls: [], grants: [], rights: [] });
    expect((await api.send('GET', '/v1/audit/state?asOf=2026-01-01T00:00:00Z', { as: 'admin' })).status).toBe(403);
    expect((await api.send('GET', '/v1/audit/state', { as: 'auditor' })).status).toBe(200);
    expect((await api.send('GET', '/v1/audit/state?asOf=tuesday', { as: 'auditor' })).status).toBe(400);
  });
});
