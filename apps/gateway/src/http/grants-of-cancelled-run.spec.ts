import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { GrantView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const content = loadPolicy('countersign.policy.yaml', 'version: 1\ndefault: require\n');

let world: World;
let api: Api;
let last = 0;
beforeAll(async () => {
  world = await openWorld({ policies: createPolicies([content]) });
  api = createApi(world);
});
afterAll(() => world.close());

async function granted(more: { readonly runId?: string; readonly requestedBy?: string }): Promise<string> {
  const body = { toolName: 'refund', match: { any: true }, expiresInMs: 3_600_000, reason: 'a busy week', ...more };
  const { status, body: grant } = await api.send<GrantView>('POST', '/v1/grants', { as: 'ann', body });
  expect(status).toBe(201);
  return grant.grantId;
}

async function stateIn(runId: string, as = 'agent'): Promise<string | undefined> {
  const calls = [{ toolCallId: `call-${String((last += 1))}`, toolName: 'refund', arguments: {} }];
  const { body } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as, body: { runId, calls } });
  return body.calls[0]?.state;
}

const cancel = (runId: string, as: string, key = `cancel-${String((last += 1))}`) =>
  api.send('POST', `/v1/runs/${runId}/cancel`, { as, body: { reason: 'stop' }, headers: { 'idempotency-key': key } });
const grant = async (grantId: string) =>
  (await api.send<GrantView>('GET', `/v1/grants/${grantId}`, { as: 'ann' })).body;

describe('a grant for one run', () => {
  it('covers no call of the run after its cancellation, and says why', async () => {
    const grantId = await granted({ runId: 'mine' });
    expect(await stateIn('mine')).toBe('allowed');
    expect((await cancel('mine', 'agent')).status).toBe(200);
    expect(await stateIn('mine')).toBe('awaiting_approval');
    expect(await grant(grantId)).toMatchObject({
      ...{ state: 'revoked', revokedBy: 'countersign' },
      revokeReason: 'the run mine was cancelled',
    });
  });

  it('ends by an admin as well, also where it names a principal', async () => {
    await stateIn('of-admin');
    await granted({ runId: 'of-admin', requestedBy: 'agent' });
    await cancel('of-admin', 'admin');
    expect(await stateIn('of-admin')).toBe('awaiting_approval');
  });

  it('that a person gives after the cancellation covers, also when the same cancellation is repeated', async () => {
    await stateIn('again');
    await cancel('again', 'agent', 'same-key');
    await granted({ runId: 'again' });
    await cancel('again', 'agent', 'same-key');
    expect(await stateIn('again')).toBe('allowed');
  });

  it('for one principal, or of a run of others, is left when another principal cancels', async () => {
    await granted({ runId: 'shared', requestedBy: 'agent' });
    await Promise.all([stateIn('shared'), stateIn('shared', 'agent2')]);
    await cancel('shared', 'agent2');
    expect(await stateIn('shared')).toBe('allowed');
    await granted({ runId: 'foreign' });
    await stateIn('foreign');
    await cancel('foreign', 'agent2');
    expect(await stateIn('foreign')).toBe('allowed');
  });
});

it('a grant for every run outlasts the cancellation of one', async () => {
  await granted({});
  await stateIn('one-of-many');
  await cancel('one-of-many', 'agent');
  expect(await stateIn('one-of-many')).toBe('allowed');
});
