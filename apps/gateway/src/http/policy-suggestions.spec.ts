import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import type { PolicySuggestions } from '@countersign/contracts';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

const ask = 'version: 1\nrequireApprovalTools: ["*"]\n';
const policies = createLivePolicies(loadPolicy('p.yaml', ask));

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ policies });
  api = createApi(world);
  for (const [n, who] of ['ann', 'bob', 'ann'].entries()) {
    await decided('refund', { amount: n, env: 'staging', password: 'p' }, who);
    await decided('flagged', {}, who, { needsApproval: true });
    await decided('edited', { n }, who, {}, n === 1 ? { type: 'edit', arguments: {} } : { type: 'approve' });
    await decided('denied', { n }, who, {}, n === 2 ? { type: 'deny' } : { type: 'approve' });
  }
});
afterAll(() => world.close());

async function decided(toolName: string, args: object, as: string, more = {}, decision: object = { type: 'approve' }) {
  const { approval } = await api.request({ toolName, arguments: args, ...more });
  const path = `/v1/approvals/${approval?.approvalId ?? ''}/responses`;
  expect((await api.send('POST', path, { as, body: { decision } })).status).toBe(200);
}

const suggestions = (query = 'decisionsMin=3', as = 'ann') =>
  api.send<PolicySuggestions>('GET', `/v1/policy/suggestions?${query}`, { as });

describe('suggestions for the policy', () => {
  it('propose a rule for what people always approved unchanged, tried in front of the policy in force', async () => {
    const head = await world.store.head();
    const { status, body } = await suggestions();
    const when = 'args.env == "staging" && args.amount >= 0 && args.amount <= 2';
    expect(status).toBe(200);
    expect(body).toMatchObject({ decisionsMin: 3, calls: 12, complete: true });
    expect(body.suggestions).toMatchObject([
      {
        ...{ toolName: 'refund', agentId: 'agent' },
        rule: { match: { tools: ['refund'], agents: ['agent'] }, when, then: 'allow' },
        evidence: { decisions: 3, people: 2 },
        backtest: { asked: 3, allowed: 3 },
      },
    ]);
    expect(body.suggestions[0]?.yaml).toContain(`  when: ${JSON.stringify(when)}\n  then: "allow"\n`);
    expect(JSON.stringify(body)).not.toContain('password');
    // Nothing is recorded or applied.
    expect(await world.store.head()).toBe(head);
    expect(await api.request({ toolName: 'refund' })).toMatchObject({ state: 'awaiting_approval' });
  });

  it('count in the back-test the calls that the rule would leave to people', async () => {
    await api.request({ toolName: 'refund', arguments: { env: 'prod' } });
    expect((await suggestions()).body.suggestions[0]?.backtest).toEqual({ asked: 5, allowed: 3 });
  });

  it('need twenty decisions unless another number is asked for', async () => {
    expect((await suggestions('')).body).toMatchObject({ suggestions: [], decisionsMin: 20 });
    expect(await suggestions('decisionsMin=1')).toMatchObject({
      status: 400,
      body: { errors: [{ path: 'decisionsMin' }] },
    });
    expect((await suggestions('decisionsMin=3&since=2099-01-01T00:00:00Z')).body).toMatchObject({ calls: 0 });
    expect((await suggestions('decisionsMin=3', 'other')).body.suggestions).toEqual([]);
  });

  it('take nothing away that the policy in force guards by now, and repeat nothing that it allows', async () => {
    const rules = async (text: string) => {
      policies.activate(loadPolicy('p.yaml', `${ask}${text}`, celEngine));
      return (await suggestions()).body.suggestions;
    };
    expect(
      await rules('rules: [{ id: a, match: { tools: [refund] }, when: args.amount > 9.0, then: { block: no } }]'),
    ).toEqual([]);
    expect(await rules('rules: [{ id: a, match: { tools: [refund] }, then: allow }]')).toEqual([]);
    expect(await rules('')).toHaveLength(1);
  });

  it('end with a failure of the tool', async () => {
    const { approval } = await api.request({ toolName: 'refund', arguments: { env: 'staging' } });
    await api.send('POST', `/v1/approvals/${approval?.approvalId ?? ''}/responses`, {
      as: 'ann',
      body: { decision: { type: 'approve' } },
    });
    const path = `/v1/tool-calls/${approval?.callId ?? ''}`;
    await api.send('POST', `${path}/claim`, { as: 'worker', body: { resolverId: 'w' } });
    expect((await suggestions()).body.suggestions).toHaveLength(1);
    await api.send('POST', `${path}/outcome`, { as: 'worker', body: { attempt: 1, status: 'failed', error: 'x' } });
    expect((await suggestions()).body.suggestions).toEqual([]);
  });
});
