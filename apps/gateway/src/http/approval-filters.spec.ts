import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
const ids: Record<string, string> = {};

beforeAll(async () => {
  world = await openWorld({ policies: createTestPolicies() });
  api = createApi(world);
  const ask = async (name: string, call: Parameters<Api['pending']>[0]) => {
    ids[name] = (await api.pending(call)).approvalId;
  };
  await ask('one', { toolName: 'delete_file', arguments: { password: 'sesame' }, reason: 'Zebra outside' });
  await ask('two', { toolName: 'two_people', arguments: {}, labels: { team: 'ops' } });
  await ask('three', { toolName: 'delete_file', arguments: {}, labels: { team: 'ops', 'a.b': '1&2' } });
  await api.send('POST', `/v1/approvals/${ids['two'] ?? ''}/responses`, {
    ...{ as: 'ann', body: { decision: { type: 'approve' } } },
  });
});
afterAll(() => world.close());

interface Page {
  readonly approvals: readonly ApprovalView[];
  readonly nextCursor: string | null;
}

const found = async (query: string, as = 'ann') => {
  const { status, body } = await api.send<Page>('GET', `/v1/approvals?${query}`, { as });
  expect(status).toBe(200);
  return body.approvals.map(({ approvalId }) => Object.keys(ids).find((name) => ids[name] === approvalId));
};

describe('GET /v1/approvals', () => {
  it('lists with mine=true those that the caller may decide now, by the rules of mayDecide', async () => {
    const { body } = await api.send<Page>('GET', '/v1/approvals', { as: 'ann' });
    const decidable = body.approvals.filter(({ mayDecide }) => mayDecide?.now).map(({ approvalId }) => approvalId);
    const mine = await api.send<Page>('GET', '/v1/approvals?mine=true', { as: 'ann' });
    expect(mine.body.approvals.map(({ approvalId }) => approvalId)).toEqual(decidable);
    expect(await found('mine=true')).toEqual(['one', 'three']);
    expect(await found('mine=true&limit=1')).toEqual(['one']);
    expect(await found('mine=false')).toEqual(['one', 'two', 'three']);
  });

  it('filters by labels, the response of a person, the rule and the time', async () => {
    expect(await found('label.team=ops')).toEqual(['two', 'three']);
    expect(await found(`label.team=ops&label.a.b=${encodeURIComponent('1&2')}`)).toEqual(['three']);
    expect(await found('label.constructor=x')).toEqual([]);
    expect(await found('respondedBy=ann')).toEqual(['two']);
    expect(await found('ruleId=none-such')).toEqual([]);
    expect(await found('since=2000-01-01T00:00:00Z&until=2999-01-01T00:00:00Z')).toEqual(['one', 'two', 'three']);
    expect(await found('until=2000-01-01T00:00:00Z')).toEqual([]);
  });

  it('searches words, and never the hidden values', async () => {
    expect(await found('q=zebra%20delete')).toEqual(['one']);
    expect(await found('q=sesame')).toEqual([]);
    expect(await found('q=%20')).toEqual(['one', 'two', 'three']);
  });

  it.each([
    'label.=x',
    'labels=x',
    'labels=x&label.team=ops',
    'label.team=ops&label.team=dev',
    'mine=yes',
    'sort=name',
    'risk=extreme',
    'since=yesterday',
    'q=',
    'other=1',
    'label=x',
  ])('refuses ?%s', async (query) => {
    const { status, body } = await api.send<{ code: string }>('GET', `/v1/approvals?${query}`, { as: 'ann' });
    expect([status, body.code]).toEqual([400, 'invalid-request']);
  });
});
