import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fireDue } from '@countersign/commands';
import type { ApprovalView, ClaimView, GrantView } from '@countersign/contracts';
import { routes } from '../routes.js';
import { createApi } from '../testing/api.js';
import type { Api, Reply } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

/** A gateway that has forgotten the bodies of its requests, like one that did not get them, or a day later. */
let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({
    change: (ports) => ({ ...ports, idempotency: { ...ports.idempotency, save: () => undefined } }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

/** A command that is sent under a key, and others that are sent under the same key afterwards. */
interface Command {
  readonly path: string;
  readonly as?: string;
  readonly body: object;
  readonly others: readonly object[];
}

const secret = 'hunter2-of-the-agent';
const approve = { decision: { type: 'approve' } };
const answered = (output: unknown) => ({ decision: { type: 'answer', output } });
const edited = (args: object) => ({ decision: { type: 'edit', arguments: args } });
const anyCall = { toolName: 'granted', match: { any: true }, expiresInMs: 60_000, reason: 'busy' };

async function responses(
  body: (seen: ApprovalView) => object,
  others: (seen: ApprovalView) => readonly object[],
): Promise<Command> {
  const { approvalId } = await api.pending({ arguments: { n: 1, password: secret } });
  const { body: seen } = await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' });
  return { path: `/v1/approvals/${approvalId}/responses`, as: 'ann', body: body(seen), others: others(seen) };
}

async function claimed(leaseMs = 60_000): Promise<{ callId: string; path: string }> {
  const { callId } = await api.request();
  const path = `/v1/tool-calls/${callId}`;
  const claim = await api.send<ClaimView>('POST', `${path}/claim`, {
    as: 'worker',
    body: { resolverId: 'w', leaseMs },
  });
  expect(claim.body.attempt).toBe(1);
  return { callId, path };
}

const commands: readonly (readonly [route: keyof typeof routes, name: string, make: () => Promise<Command>])[] = [
  [
    'requestApproval',
    'other words',
    async () => {
      const { callId } = await api.request();
      const body = { reason: 'one', description: 'of it' };
      const others = [
        { ...body, reason: 'two' },
        { ...body, description: 'of more' },
        { ...body, allowedDecisions: ['deny'] },
      ];
      return { path: `/v1/tool-calls/${callId}/approvals`, body, others };
    },
  ],
  [
    'cancelToolCall',
    'another reason',
    async () => {
      const { callId } = await api.request();
      return { path: `/v1/tool-calls/${callId}/cancel`, body: { reason: 'a' }, others: [{ reason: 'b' }] };
    },
  ],
  [
    'cancelRun',
    'another reason',
    async () => {
      const { runId } = await api.request();
      return { path: `/v1/runs/${runId}/cancel`, body: { reason: 'a' }, others: [{ reason: 'b' }] };
    },
  ],
  [
    'respond',
    'an approval',
    () =>
      responses(
        () => approve,
        () => [
          { decision: { type: 'deny' } },
          edited({ n: 2 }),
          answered('x'),
          { ...approve, instruction: 'and tell me' },
          { ...approve, reason: 'I know it' },
          { ...approve, proposalDigest: `sha256:${'0'.repeat(64)}` },
        ],
      ),
  ],
  [
    'respond',
    'an approval of a proposal',
    () =>
      responses(
        ({ proposal }) => ({ ...approve, proposalDigest: proposal.digest }),
        () => [approve, { ...approve, proposalDigest: `sha256:${'0'.repeat(64)}` }],
      ),
  ],
  [
    'respond',
    'an edit',
    () =>
      responses(
        ({ arguments: seen }) => edited({ ...seen, n: 2 }),
        ({ arguments: seen }) => [
          edited({ ...seen, n: 3 }),
          edited({ n: 2 }),
          edited({ ...seen, n: 2, m: 1 }),
          approve,
        ],
      ),
  ],
  [
    'respond',
    'a guess in the place of a hidden value, right or wrong',
    () =>
      responses(
        ({ arguments: seen }) => edited({ ...seen, n: 2 }),
        ({ arguments: seen }) => [
          edited({ ...seen, n: 2, password: secret }),
          edited({ ...seen, n: 2, password: 'wrong' }),
        ],
      ),
  ],
  [
    'respond',
    'an answer',
    () =>
      responses(
        () => answered({ a: 1 }),
        () => [answered({ a: 2 }), approve],
      ),
  ],
  [
    'respond',
    'a remembered approval',
    async () => {
      const remember = { match: 'tool', scope: 'run', expiresInMs: 60_000 };
      const given = { ...approve, remember };
      const others = [{ match: 'exact' }, { scope: 'agent' }, { expiresInMs: 60_001 }, { maxUses: 1 }].map((more) => ({
        ...given,
        remember: { ...remember, ...more },
      }));
      return responses(
        () => given,
        () => [...others, { ...given, instruction: 'and tell me' }],
      );
    },
  ],
  [
    'respondInBulk',
    'another decision for all',
    async () => {
      const approvalIds = [(await api.pending()).approvalId];
      const others = [{ decision: { type: 'deny' } }, edited({ n: 2 }), { ...approve, instruction: 'go' }];
      const path = '/v1/approvals/responses';
      return {
        path,
        as: 'ann',
        body: { approvalIds, ...approve },
        others: others.map((one) => ({ approvalIds, ...one })),
      };
    },
  ],
  [
    'createGrant',
    'other terms',
    async () => {
      const others = [
        { match: { when: 'args.n < 1' } },
        { match: { digest: `sha256:${'0'.repeat(64)}` } },
        ...[{ runId: 'r' }, { agentId: 'a' }, { requestedBy: 'agent' }, { labels: { a: 'b' } }, { toolName: 'other' }],
        ...[{ expiresInMs: 60_001 }, { maxUses: 1 }, { reason: 'idle' }],
      ];
      return { path: '/v1/grants', as: 'ann', body: anyCall, others: others.map((one) => ({ ...anyCall, ...one })) };
    },
  ],
  [
    'createGrant',
    'other arguments',
    async () => {
      const of = (digit: string) => ({ ...anyCall, match: { digest: `sha256:${digit.repeat(64)}` } });
      return { path: '/v1/grants', as: 'ann', body: of('1'), others: [of('2')] };
    },
  ],
  [
    'revokeGrant',
    'another reason',
    async () => {
      const { grantId } = (await api.send<GrantView>('POST', '/v1/grants', { as: 'ann', body: anyCall })).body;
      return { path: `/v1/grants/${grantId}`, as: 'ann', body: { reason: 'a' }, others: [{ reason: 'b' }, {}] };
    },
  ],
  [
    'claim',
    'another lease',
    async () => {
      const { callId } = await api.request();
      const body = { resolverId: 'w', leaseMs: 60_000 };
      return { path: `/v1/tool-calls/${callId}/claim`, as: 'worker', body, others: [{ ...body, leaseMs: 90_000 }] };
    },
  ],
  [
    'renewClaim',
    'another lease',
    async () => {
      const { path } = await claimed(1000);
      const others = [{ attempt: 1, leaseMs: 90_000 }];
      return { path: `${path}/claim/renew`, as: 'worker', body: { attempt: 1, leaseMs: 60_000 }, others };
    },
  ],
  [
    'reportExecution',
    'another outcome',
    async () => {
      const { path } = await claimed();
      const others = [
        { attempt: 1, status: 'failed', error: 'x' },
        { attempt: 1, status: 'succeeded', output: 2 },
      ];
      return { path: `${path}/outcome`, as: 'worker', body: { attempt: 1, status: 'succeeded', output: 1 }, others };
    },
  ],
  [
    'submitOutput',
    'another output',
    async () => {
      const { callId } = await api.request({ clientExecuted: true });
      const others = [
        { status: 'succeeded', output: 2 },
        { status: 'failed', error: 1 },
      ];
      return { path: `/v1/tool-calls/${callId}/output`, body: { status: 'succeeded', output: 1 }, others };
    },
  ],
  [
    'reconcile',
    'another outcome',
    async () => {
      const { callId, path } = await claimed(1);
      await new Promise((resolve) => setTimeout(resolve, 20));
      await fireDue(world.commands, 'default', callId);
      const body = { status: 'failed', note: 'it did not run' };
      return {
        path: `${path}/reconcile`,
        as: 'admin',
        body,
        others: [
          { ...body, status: 'succeeded' },
          { ...body, note: 'x' },
        ],
      };
    },
  ],
];

/** The routes whose other commands are not told apart by the recorded event, and why. */
const elsewhere: Partial<Record<keyof typeof routes, string>> = {
  requestToolCalls: 'the ids of the calls tell them apart: tool-call-mismatch, below',
  eraseSubject: 'apps/standalone/src/erasures.spec.ts',
  registerPasskey: 'libs/commands/src/people/passkeys.spec.ts',
  confirmPasskey: 'the body proves who confirms, and says nothing else',
  declareStop: 'libs/commands/src/stops/stops.spec.ts',
  liftStop: 'libs/commands/src/stops/stops.spec.ts',
  reveal: 'no body',
  withdraw: 'no body; the response is named in the address',
  confirmGrant: 'no body',
  removePasskey: 'no body',
  endPerson: 'no body',
  makeCheckpoint: 'a repeat gets the newest',
  continueLog: 'a repeat is judged by the log of now',
};

describe('another command under a used idempotency key, where the first body is not known', () => {
  let keys = 0;
  const codeOf = ({ body }: Reply<{ code?: string; results?: { problem?: { code: string } }[] }>) =>
    body.code ?? body.results?.[0]?.problem?.code;

  it('is tried for every route that records something', () => {
    const named = [...commands.map(([route]) => route), ...Object.keys(elsewhere)];
    const recording = Object.entries(routes).filter(
      ([, route]) => route.method !== 'GET' && !('isRead' in route) && !('ignoresKey' in route),
    );
    expect([...new Set(named)].toSorted()).toEqual(recording.map(([name]) => name).toSorted());
  });

  it.each(commands)('is refused: %s, %s', async (route, _, make) => {
    const { path, as = 'agent', body, others } = await make();
    const headers = { 'idempotency-key': `reused-${String((keys += 1))}` };
    const send = (one: object) =>
      api.send<{ code?: string; results?: { problem?: { code: string } }[] }>(routes[route].method, path, {
        ...{ as, body: one, headers },
      });
    const first = await send(body);
    expect(codeOf(first)).toBeUndefined();
    const head = await world.store.head();
    for (const other of others) {
      const answer = await send(other);
      expect([other, codeOf(answer)]).toEqual([other, 'idempotency-key-reused']);
    }
    const again = await send(body);
    expect([codeOf(again), again.status < 300]).toEqual([undefined, true]);
    expect(await world.store.head()).toBe(head);
  });

  it('is a mismatch where it requests the same call with other arguments', async () => {
    const headers = { 'idempotency-key': 'request' };
    const call = { toolCallId: 'a', toolName: 't', arguments: { n: 1 } };
    const send = (more: object) =>
      api.send<{ code?: string }>('POST', '/v1/tool-calls', {
        body: { runId: 'reused', calls: [{ ...call, ...more }] },
        headers,
      });
    expect((await send({})).status).toBe(201);
    expect((await send({ arguments: { n: 2 } })).body.code).toBe('tool-call-mismatch');
    expect((await send({})).status).toBe(200);
  });
});
