import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { EventStoreUnavailableError } from '@countersign/event-store';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
let reads: 'work' | 'fail' | 'hang' = 'work';
beforeAll(async () => {
  world = await openWorld({
    over: (store) => ({
      ...store,
      readStream: (...given) => {
        if (reads === 'fail') return Promise.reject(new EventStoreUnavailableError('away'));
        return reads === 'hang' ? new Promise(() => undefined) : store.readStream(...given);
      },
    }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

const toolSchema = {
  type: 'object',
  properties: {
    amount: { type: 'integer', default: 3, enum: [3, 30] },
    pin: { type: 'string', format: 'password', default: 'p1', examples: ['p2'] },
    copy: { type: 'string', default: 'hunter2' },
  },
};
const read = async (approvalId: string, as: string, query = '') =>
  (await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}${query}`, { as })).body.argumentsSchema;

describe('the schema of the arguments of an approval', () => {
  it('is shown without what tells a hidden value, and whole to an auditor who asks for it', async () => {
    const given = { toolSchema, arguments: { amount: 30, pin: 'hunter2', copy: 'x' } };
    const { approvalId } = await api.pending(given);
    const { amount } = toolSchema.properties;
    const properties = { amount, pin: { type: 'string', format: 'password' }, copy: { type: 'string' } };
    expect(await read(approvalId, 'ann')).toEqual({ type: 'object', properties });
    expect(await read(approvalId, 'me')).toEqual({ type: 'object', properties });
    expect(await read(approvalId, 'auditor')).toEqual({ type: 'object', properties });
    expect(await read(approvalId, 'auditor', '?values=clear')).toEqual(toolSchema);
  });

  it('stays that of the request after an edit, and is null without a schema', async () => {
    const schema = { type: 'object', properties: { n: { type: 'integer', default: 1 } } };
    const edited = await api.pending({ toolSchema: schema, arguments: { n: 1 } });
    const body = { decision: { type: 'edit', arguments: { n: 2 } } };
    await api.send('POST', `/v1/approvals/${edited.approvalId}/responses`, { as: 'ann', body });
    expect(await read(edited.approvalId, 'bob')).toEqual(schema);
    expect(await read((await api.pending()).approvalId, 'ann')).toBeNull();
  });

  it('is in no list and in no answer to a write, where it could be large', async () => {
    const { approvalId } = await api.pending({ toolSchema, arguments: {} });
    const list = await api.send<{ approvals: ApprovalView[] }>('GET', '/v1/approvals', { as: 'ann' });
    const body = { decision: { type: 'deny' } };
    const answer = await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as: 'ann', body });
    for (const view of [...list.body.approvals, answer.body]) expect(view).not.toHaveProperty('argumentsSchema');
  });

  it('is left out while the event store cannot be read, and the approval is shown', async () => {
    const { approvalId } = await api.pending({ toolSchema, arguments: {} });
    for (const state of ['fail', 'hang'] as const) {
      reads = state;
      const { status, body } = await api.send('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
      expect([status, body]).toEqual([200, expect.objectContaining({ approvalId })]);
      expect(body).not.toHaveProperty('argumentsSchema');
    }
    reads = 'work';
    expect(await read(approvalId, 'ann')).not.toBeUndefined();
  });
});
