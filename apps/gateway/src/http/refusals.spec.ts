import { fireDue } from '@countersign/commands';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import { systemClock } from '@countersign/runtime';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { createTestPolicies } from '../testing/policies.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
let aheadMs = 0;
beforeAll(async () => {
  const clock = systemClock;
  world = await openWorld({ policies: createTestPolicies(), clock: { ...clock, now: () => clock.now() + aheadMs } });
  api = createApi(world);
});
afterAll(() => world.close());

const respond = (approvalId: string, body: unknown = { decision: { type: 'approve' } }, as = 'ann') =>
  api.send<ApprovalView>('POST', `/v1/approvals/${approvalId}/responses`, { as, body });
const onCall = (callId: string, what: string, as: string, body: unknown) =>
  api.send('POST', `/v1/tool-calls/${callId}/${what}`, { as, body });
const claim = (callId: string) => onCall(callId, 'claim', 'worker', { resolverId: 'w' });
const approved = async (call = {}) => {
  const { approvalId, callId } = await api.pending(call);
  await respond(approvalId);
  return callId;
};

/** Two calls of one all-or-nothing batch, both allowed. */
const allOrNothing = async (runId: string) => {
  const calls = ['a', 'b'].map((id) => ({ toolCallId: id, toolName: 't', arguments: {} }));
  const body = { runId, batchId: 's', batchMode: 'all-or-nothing', calls };
  const { body: answer } = await api.send<{ calls: { callId: string }[] }>('POST', '/v1/tool-calls', { body });
  const [a = '', b = ''] = answer.calls.map(({ callId }) => callId);
  return { a, b };
};

type Case = [code: string, status: number, when: string, act: () => Promise<Reply<unknown>>];

const cases: Case[] = [
  [
    'reason-required',
    400,
    'a denial needs one',
    async () => {
      const { approvalId } = await api.pending({ toolName: 'with_reason' });
      return respond(approvalId, { decision: { type: 'deny' } });
    },
  ],
  [
    'own-request',
    403,
    'the requester answers',
    async () => {
      const body = { runId: 'own', calls: [{ toolCallId: 'c', toolName: 't', arguments: {}, needsApproval: true }] };
      const { body: answer } = await api.send<{ calls: { approval: ApprovalView }[] }>('POST', '/v1/tool-calls', {
        as: 'other',
        body,
      });
      return respond(answer.calls[0]?.approval.approvalId ?? '', undefined, 'other');
    },
  ],
  [
    'not-an-approver',
    403,
    'a person of another group answers',
    async () => {
      const { approvalId } = await api.pending({ toolName: 'ops_only' });
      return respond(approvalId, undefined, 'bob');
    },
  ],
  [
    'forbidden',
    403,
    'another principal cancels',
    async () => {
      const { callId } = await api.pending();
      return onCall(callId, 'cancel', 'agent2', { reason: 'x' });
    },
  ],
  [
    'forbidden',
    403,
    'a token speaks for an agent that is not its own',
    () =>
      api.send('POST', '/v1/tool-calls', {
        as: 'agent2',
        body: { runId: 'r', agentId: 'treasury', calls: [{ toolCallId: 'c', toolName: 't', arguments: {} }] },
      }),
  ],
  [
    'not-found',
    404,
    'there is no such call',
    () => onCall('tc_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'cancel', 'agent', { reason: 'x' }),
  ],
  ['not-found', 404, 'it is no call id', () => api.send('GET', '/v1/tool-calls/%00')],
  ['not-found', 404, 'there is no such run', () => api.send('GET', '/v1/runs/none')],
  [
    'not-found',
    404,
    'there is no such run to cancel',
    () => api.send('POST', '/v1/runs/none/cancel', { body: { reason: 'x' } }),
  ],
  ['unknown-approval', 404, 'without an approval', () => respond('apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1')],
  ['unknown-approval', 404, 'it is read', () => api.send('GET', '/v1/approvals/apr_x', { as: 'ann' })],
  [
    'expired',
    410,
    'the deadline is over',
    async () => {
      const { approvalId } = await api.pending({ expiresInMs: 1 });
      await new Promise((resolve) => setTimeout(resolve, 10));
      return respond(approvalId);
    },
  ],
  [
    'invalid-arguments',
    422,
    'they do not fit the schema',
    () =>
      api.send('POST', '/v1/tool-calls', {
        body: {
          runId: 'r',
          calls: [
            {
              toolCallId: 'bad',
              toolName: 't',
              arguments: { n: 'x' },
              toolSchema: { properties: { n: { type: 'number' } } },
            },
          ],
        },
      }),
  ],
  [
    'invalid-arguments',
    422,
    'an edit does not fit the schema',
    async () => {
      const toolSchema = { type: 'object', required: ['n'] };
      const { approvalId } = await api.pending({ arguments: { n: 1 }, toolSchema });
      return respond(approvalId, { decision: { type: 'edit', arguments: {} } });
    },
  ],
  [
    'decision-not-allowed',
    422,
    'the request allows others',
    async () => {
      const { approvalId } = await api.pending({ allowedDecisions: ['approve'] });
      return respond(approvalId, { decision: { type: 'answer', output: 1 } });
    },
  ],
  [
    'tool-call-mismatch',
    409,
    'the same id has other arguments',
    async () => {
      const { runId } = await api.request({ arguments: { n: 1 } });
      const calls = [{ toolCallId: 'call-1', toolName: 'delete_file', arguments: { n: 2 } }];
      return api.send('POST', '/v1/tool-calls', { body: { runId, calls } });
    },
  ],
  [
    'already-pending',
    409,
    'people are being asked',
    async () => {
      const { callId } = await api.pending();
      return onCall(callId, 'approvals', 'agent', {});
    },
  ],
  [
    'already-resolved',
    409,
    'another was faster',
    async () => {
      const { approvalId } = await api.pending();
      await respond(approvalId, undefined, 'bob');
      return respond(approvalId);
    },
  ],
  [
    'already-voted',
    409,
    'one person votes twice',
    async () => {
      const { approvalId } = await api.pending({ toolName: 'two_people' });
      await respond(approvalId);
      return respond(approvalId, { decision: { type: 'deny' } });
    },
  ],
  [
    'digest-mismatch',
    409,
    'another action was shown',
    async () => {
      const { approvalId } = await api.pending();
      return respond(approvalId, { decision: { type: 'approve' }, actionDigest: `sha256:${'0'.repeat(64)}` });
    },
  ],
  [
    'already-claimed',
    409,
    'another worker has it',
    async () => {
      const { callId } = await api.request();
      await claim(callId);
      return onCall(callId, 'claim', 'worker2', { resolverId: 'w2' });
    },
  ],
  [
    'already-settled',
    409,
    'it has ended',
    async () => {
      const { callId } = await api.pending();
      await onCall(callId, 'cancel', 'agent', { reason: 'x' });
      return onCall(callId, 'cancel', 'admin', { reason: 'y' });
    },
  ],
  ['not-approved', 409, 'people are still being asked', async () => claim((await api.pending()).callId)],
  [
    'approval-lapsed',
    409,
    'the right to run has ended',
    async () => {
      const callId = await approved({ toolName: 'lapses_at_once' });
      await new Promise((resolve) => setTimeout(resolve, 10));
      return claim(callId);
    },
  ],
  [
    'batch-incomplete',
    409,
    'a sibling waits',
    async () => {
      const calls = ['a', 'b'].map((id) => ({
        toolCallId: id,
        toolName: 't',
        arguments: {},
        needsApproval: id === 'b',
      }));
      const body = { runId: 'incomplete', batchId: 's', batchMode: 'all-or-nothing', calls };
      const { body: answer } = await api.send<{ calls: { callId: string }[] }>('POST', '/v1/tool-calls', { body });
      return claim(answer.calls[0]?.callId ?? '');
    },
  ],
  [
    'batch-begun',
    409,
    'a sibling is cancelled after the first claim',
    async () => {
      const { a, b } = await allOrNothing('begun');
      await claim(a);
      return onCall(b, 'cancel', 'agent', { reason: 'too late' });
    },
  ],
  [
    'batch-begun',
    409,
    'people are asked about a sibling after the first claim',
    async () => {
      const { a, b } = await allOrNothing('begun-and-asked');
      await claim(a);
      return onCall(b, 'approvals', 'agent', { reason: 'too late' });
    },
  ],
  [
    'stale-claim',
    409,
    'a second report says something else',
    async () => {
      const callId = await approved();
      await claim(callId);
      await onCall(callId, 'outcome', 'worker', { attempt: 1, status: 'succeeded', output: 1 });
      return onCall(callId, 'outcome', 'worker', { attempt: 1, status: 'succeeded', output: 2 });
    },
  ],
  [
    'stale-claim',
    409,
    'an older attempt reports',
    async () => {
      const { callId } = await api.request();
      await claim(callId);
      return onCall(callId, 'outcome', 'worker', { attempt: 2, status: 'failed', error: 'x' });
    },
  ],
  [
    'stale-claim',
    409,
    'a claim is renewed that is another principal’s',
    async () => {
      const { callId } = await api.request();
      await claim(callId);
      return onCall(callId, 'claim/renew', 'worker2', { attempt: 1 });
    },
  ],
  [
    'not-unknown',
    409,
    'the outcome is known',
    async () => onCall((await api.request()).callId, 'reconcile', 'admin', { status: 'failed', note: 'x' }),
  ],
  [
    'not-client-executed',
    409,
    'the client does not run it',
    async () => onCall((await api.request()).callId, 'output', 'agent', { status: 'succeeded', output: 1 }),
  ],
  [
    'idempotency-key-reused',
    409,
    'the key has another body',
    async () => {
      const send = (id: string) =>
        api.send('POST', '/v1/tool-calls', {
          body: { runId: 'keyed', calls: [{ toolCallId: id, toolName: 't', arguments: {} }] },
          headers: { 'idempotency-key': 'one-key' },
        });
      await send('a');
      return send('b');
    },
  ],
];

describe('a refusal', () => {
  it.each(cases)('%s is %i: %s', async (code, status, _when, act) => {
    const { headers, ...reply } = await act();
    expect(reply).toMatchObject({ status, body: { code, status, type: `/problems/${code}` } });
    expect(reply.body).toMatchObject({ title: expect.any(String), detail: expect.any(String) });
    expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
  });

  it('of an already resolved approval names the approver, the time and the resolution at the top level', async () => {
    const { approvalId } = await api.pending();
    await respond(approvalId, undefined, 'bob');
    const { body } = await respond(approvalId, { decision: { type: 'deny' } });
    expect(body).toMatchObject({
      resolution: 'approved',
      respondedBy: 'bob',
      respondedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      via: 'api',
    });
  });

  it('of arguments names every path', async () => {
    const toolSchema = { properties: { a: { type: 'number' }, b: { type: 'number' } } };
    const calls = [{ toolCallId: 'c', toolName: 't', arguments: { a: 'x', b: 'y' }, toolSchema }];
    const { body } = await api.send<{ errors: { path: string }[] }>('POST', '/v1/tool-calls', {
      body: { runId: 'r', calls },
    });
    expect(body.errors.map(({ path }) => path)).toEqual(['calls.0.arguments.a', 'calls.0.arguments.b']);
  });

  it('for want of rights is logged, with who and what', async () => {
    const { approvalId } = await api.pending({ toolName: 'ops_only' });
    await respond(approvalId, undefined, 'bob');
    expect(world.log.entries.at(-1)).toMatchObject({
      level: 'warn',
      fields: { principal: 'bob', route: 'respond', code: 'not-an-approver' },
    });
  });
});

it('a call may be asked about again after expiry: the next round', async () => {
  const { approvalId, callId } = await api.pending({ expiresInMs: 60_000 });
  aheadMs = 61_000;
  await world.readModel.reached((await fireDue(world.commands, 'default', callId)) ?? 0);
  expect((await api.send('GET', `/v1/approvals/${approvalId}`, { as: 'ann' })).body).toMatchObject({
    state: 'expired',
  });
  const again = await onCall(callId, 'approvals', 'agent', { reason: 'please' });
  expect(again).toMatchObject({ status: 201, body: { round: 2, state: 'pending', reason: 'please' } });
});
