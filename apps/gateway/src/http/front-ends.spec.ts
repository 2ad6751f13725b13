import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readablePart, toolCallStream } from '@countersign/contracts';
import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createPeople } from '../people.js';
import { createApi } from '../testing/api.js';
import type { Api, Reply, Sent } from '../testing/api.js';
import { createChangingTokens } from '../testing/changing-tokens.js';
import { openStream } from '../testing/event-stream.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';
import type { TokenEntry } from '../tokens.js';

const content = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
approvers:
  - { id: ann, groups: [security], identities: { frontEnds: ["support-desk#Ann"] } }
  - { id: "support-desk#lee", groups: [security, ops] }
  - { id: bob, groups: [security], delegates: [{ to: "support-desk#lee", from: 2020-01-01T00:00:00Z, until: 2100-01-01T00:00:00Z }] }
rules:
  - { id: refunds, match: { tools: [refund] }, then: { require: { quorum: { approve: 2, of: [support, ops] } } } }
  - { id: locks, match: { tools: [lock] }, then: { require: { anyOf: [security] } } }
  - { id: sure, match: { tools: [close] }, then: { require: { minAssurance: medium } } }
  - { id: keys, match: { tools: [rotate] }, then: { require: { quorum: { approve: 3, deny: 2, of: [security, ops] } } } }
`,
);
const all: readonly TokenEntry[] = [
  ...tokenEntries,
  { token: 'desk-agent-token', principal: 'support-desk', roles: ['agent'] },
  {
    token: 'both-token',
    principal: 'support-desk',
    roles: ['agent', 'front-end'],
    people: { groups: [] },
  },
  { token: 'shop-token', principal: 'shop', roles: ['front-end'], people: { groups: ['support'] } },
];
const tokens = createChangingTokens(all);

let world: World;
let api: Api;
let calls = 0;
beforeAll(async () => {
  const people = createPeople({ tokens: () => tokens, channels: undefined, issuer: null });
  world = await openWorld({
    policies: createPolicies([content]),
    change: (ports) => ({ ...ports, tokens, commands: { ...ports.commands, people } }),
  });
  api = createApi(world);
});
afterAll(() => world.close());

type Person = Readonly<{ id: string; groups?: string; name?: string; assurance?: string }>;
const headersOf = ({ id, groups, name, assurance }: Person): Record<string, string> => ({
  'countersign-person': encodeURIComponent(id),
  ...(groups !== undefined && { 'countersign-person-groups': groups }),
  ...(name !== undefined && { 'countersign-person-name': encodeURIComponent(name) }),
  ...(assurance !== undefined && { 'countersign-person-assurance': assurance }),
});
const sendAs = <T = Record<string, unknown>>(person: Person, method: string, path: string, sent: Sent = {}) =>
  api.send<T>(method, path, { as: 'desk', ...sent, headers: { ...headersOf(person), ...sent.headers } });
const kim = { id: 'kim', groups: 'support' };
const lou = { id: 'lou', groups: 'ops' };

const asked = async (
  toolName: string,
  as = 'desk-agent',
  more: Record<string, unknown> = {},
): Promise<ApprovalView> => {
  const runId = `front-end-${String((calls += 1))}`;
  const body = {
    runId,
    calls: [{ toolCallId: 'a', toolName, arguments: { password: 'hunter2' }, needsApproval: true }],
    ...more,
  };
  const answer = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as, body });
  const approval = answer.body.calls[0]?.approval;
  if (approval === undefined || approval === null) throw new Error(JSON.stringify(answer.body));
  return approval;
};
const answers = (person: Person, { approvalId }: ApprovalView, type = 'approve', sent: Sent = {}) =>
  sendAs<ApprovalView & { code?: string; detail?: string }>(person, 'POST', `/v1/approvals/${approvalId}/responses`, {
    body: { decision: { type } },
    ...sent,
  });
const eventsOf = async ({ store }: World, callId: string) =>
  readablePart(await store.readStream(toolCallStream(callId))).events;
const codeOf = ({ status, body }: Reply<{ code?: string }>) => [status, body.code];

describe('a person of a front end', () => {
  it('answers in their own name, and the log says who vouched for them', async () => {
    const approval = await asked('delete_file');
    const { status, body } = await answers({ ...kim, name: 'Kim Ångström' }, approval);
    expect([status, body.state]).toEqual([200, 'approved']);
    expect(body.responses[0]).toMatchObject({
      ...{ respondedBy: 'support-desk#kim', respondedByName: 'Kim Ångström', via: 'support-desk' },
    });
    const [response] = (await eventsOf(world, approval.callId)).filter(({ type }) => type === 'ApprovalResponded');
    expect(response?.data).toMatchObject({
      ...{ respondedBy: 'support-desk#kim', vouchedBy: 'support-desk', via: 'support-desk', assurance: 'low' },
      ...{ groups: ['support'], roles: ['approver'], credential: expect.stringMatching(/^token:/) },
    });
  });

  it('lists, reads, reveals, answers in bulk and withdraws like any approver', async () => {
    const approval = await asked('refund');
    const path = `/v1/approvals/${approval.approvalId}`;
    const list = await sendAs<{ approvals: ApprovalView[] }>(
      kim,
      'GET',
      `/v1/approvals?mine=true&runId=${approval.runId}`,
    );
    expect(list.body.approvals.map(({ approvalId }) => approvalId)).toEqual([approval.approvalId]);
    const read = await sendAs<ApprovalView>(kim, 'GET', path);
    expect(read.body.mayDecide).toEqual({ now: true });
    expect(JSON.stringify(read.body)).not.toContain('hunter2');
    const revealed = await sendAs(kim, 'POST', `${path}/reveal`);
    expect(revealed.body).toEqual({ arguments: { password: 'hunter2' } });
    const bulk = { approvalIds: [approval.approvalId], decision: { type: 'approve' } };
    expect((await sendAs(kim, 'POST', '/v1/approvals/responses', { body: bulk })).body['results']).toMatchObject([
      { status: 'done' },
    ]);
    const withdrawn = await sendAs<ApprovalView>(kim, 'DELETE', `${path}/responses/mine`);
    expect([withdrawn.status, withdrawn.body.responses]).toEqual([200, []]);
    expect((await sendAs(kim, 'GET', '/v1/me')).body).toMatchObject({
      principal: 'support-desk#kim',
      roles: ['approver'],
      groups: ['support'],
    });
  });

  it('has one vote, under every spelling and identity', async () => {
    const approval = await asked('refund');
    expect((await answers(kim, approval)).body.state).toBe('pending');
    expect(codeOf(await answers(kim, approval))).toEqual([409, 'already-voted']);
    expect(codeOf(await answers({ ...kim, id: 'KIM' }, approval))).toEqual([409, 'already-voted']);
    const second = await answers(lou, approval);
    expect([second.body.state, second.body.responses.length]).toEqual(['approved', 2]);
    const own = await asked('refund');
    expect((await answers({ id: 'Ann', groups: 'ops' }, own)).body.state).toBe('pending');
    const asAnn = await api.send<{ code: string }>('POST', `/v1/approvals/${own.approvalId}/responses`, {
      as: 'ann',
      body: { decision: { type: 'approve' } },
    });
    expect(codeOf(asAnn)).toEqual([409, 'already-voted']);
  });

  it('cannot approve what is requested for them, and can approve what their application requests', async () => {
    const mine = await asked('delete_file', 'desk-agent', { onBehalfOf: 'support-desk#kim' });
    expect(codeOf(await answers(kim, mine))).toEqual([403, 'own-request']);
    expect((await answers(lou, mine)).body.state).toBe('approved');
  });

  it('has only groups that the token lists, whatever the policy file gives', async () => {
    const lock = await asked('lock');
    expect(codeOf(await answers({ id: 'lee' }, lock))).toEqual([403, 'not-an-approver']);
    expect(codeOf(await answers({ id: 'Ann' }, lock))).toEqual([403, 'not-an-approver']);
    const { status, body } = await answers({ id: 'eve', groups: 'support, security' }, lock);
    expect([status, body.code, body.detail]).toEqual([
      403,
      'forbidden',
      'Countersign-Person-Groups: the token of "support-desk" does not list the group "security" in people.groups',
    ]);
    expect((await answers({ id: 'lee' }, await asked('refund'))).body.responses).toHaveLength(1);
  });

  it('has the assurance low, or what the header says up to that of the token', async () => {
    const close = await asked('close');
    expect((await answers(kim, close)).status).toBe(403);
    expect(codeOf(await answers({ ...kim, assurance: 'high' }, close))).toEqual([403, 'forbidden']);
    expect((await answers({ ...kim, assurance: 'medium' }, close)).body.state).toBe('approved');
    const shop = { as: 'shop', headers: { ...headersOf({ id: 'kim', assurance: 'medium' }) } };
    expect(codeOf(await api.send('GET', '/v1/me', shop))).toEqual([403, 'forbidden']);
  });

  it('gives no standing grants, and nothing else that is not listed', async () => {
    const approval = await asked('refund');
    const remember = { match: 'tool', scope: 'run', expiresInMs: 60_000, maxUses: 1 };
    const body = { decision: { type: 'approve' }, remember };
    expect(codeOf(await answers(kim, approval, 'approve', { body }))).toEqual([403, 'forbidden']);
    for (const path of [
      '/v1/grants',
      '/v1/policy',
      '/v1/oversight',
      '/v1/me/passkeys',
      '/v1/passkeys',
      '/v1/audit/events',
    ])
      expect([path, (await sendAs(kim, 'GET', path)).status]).toEqual([path, 403]);
    expect((await sendAs(kim, 'DELETE', '/v1/people/support-desk%23lou')).status).toBe(403);
    expect((await sendAs(kim, 'POST', '/v1/tool-calls', { body: {} })).status).toBe(403);
  });

  it('has idempotency keys of their own', async () => {
    const approval = await asked('refund');
    const headers = { 'idempotency-key': 'one-key' };
    expect((await answers(kim, approval, 'approve', { headers })).status).toBe(200);
    const second = await answers(lou, approval, 'approve', { headers });
    expect([second.status, second.headers.get('idempotent-replayed'), second.body.state]).toEqual([
      200,
      null,
      'approved',
    ]);
  });
});

describe('a person who signs in too', () => {
  const atDesk = { id: 'Ann', groups: 'ops' };
  const asAnn = <T = ApprovalView>(method: string, approvalId: string, type = 'approve') =>
    api.send<T>(method, `/v1/approvals/${approvalId}/responses${method === 'DELETE' ? '/mine' : ''}`, {
      as: 'ann',
      ...(method === 'POST' && { body: { decision: { type } } }),
    });
  const deniedByAnn = async (): Promise<ApprovalView> => {
    const approval = await asked('rotate');
    expect((await asAnn('POST', approval.approvalId, 'deny')).body.state).toBe('pending');
    return approval;
  };
  const deniersOf = async ({ approvalId }: ApprovalView) =>
    (await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'ann' })).body.progress.flatMap(
      ({ deniedBy }) => deniedBy,
    );

  it('keeps what they said, whatever a front end sends in their name', async () => {
    const approval = await deniedByAnn();
    const mine = `/v1/approvals/${approval.approvalId}/responses/mine`;
    for (const path of [mine, `${mine}?response=1`])
      expect(codeOf(await sendAs(atDesk, 'DELETE', path))).toEqual([404, 'unknown-approval']);
    const edit = { body: { decision: { type: 'edit', arguments: { password: 'other' } } } };
    const edited = await answers(atDesk, approval, 'edit', edit);
    expect([edited.status, edited.body.detail]).toEqual([
      409,
      'You have already answered this as ann; withdraw that answer there first.',
    ]);
    expect((await answers(lou, approval, 'edit', edit)).status).toBe(200);
    for (const type of ['approve', 'deny'])
      expect(codeOf(await answers(atDesk, approval, type))).toEqual([409, 'already-voted']);
    const ended = await api.send<{ approvalIds: string[] }>('DELETE', '/v1/people/support-desk%23Ann', { as: 'desk' });
    expect(ended.body.approvalIds).not.toContain(approval.approvalId);
    expect(await deniersOf(approval)).toEqual(['ann']);
  });

  it('withdraws what a front end said in their name, and answers in their own', async () => {
    const approval = await asked('rotate');
    await answers(atDesk, approval);
    expect(codeOf(await asAnn<{ code: string }>('POST', approval.approvalId, 'deny'))).toEqual([409, 'already-voted']);
    expect((await asAnn('DELETE', approval.approvalId)).body.responses).toEqual([]);
    expect((await asAnn('POST', approval.approvalId, 'deny')).status).toBe(200);
    expect(await deniersOf(approval)).toEqual(['ann']);
  });
});

describe('the headers of a person', () => {
  it.each(['ann', 'agent', 'admin', 'me', 'nobody'])('are refused with the token of %s, not ignored', async (as) => {
    const { status, body } = await api.send<{ code: string; detail: string }>('GET', '/v1/me', {
      as,
      headers: headersOf(kim),
    });
    expect([status, body.code]).toEqual([403, 'forbidden']);
    expect(body.detail).toContain('only a token with the role front-end speaks for people');
  });

  it.each([
    ['an empty id', ''],
    ['257 characters', 'a'.repeat(257)],
    ['a letter that is not encoded', 'kÿm'],
    ['a comma, as two lines of the header have', 'kim,ann'],
    ['a blank', 'kim smith'],
    ['bytes that are no UTF-8', '%ff'],
    ['half of a surrogate pair', '%ED%A0%80'],
    ['a percent sign alone', '100%'],
    ['a control character', 'kim%00'],
    ['a line break', 'kim%0d%0aevil'],
    ['an invisible character', 'k%E2%80%8Bim'],
    ['a mark of direction', '%E2%80%AEmik'],
    ['another form of Unicode', 'e%CC%81'],
    ['a wide letter', '%EF%BD%8Bim'],
    ['a blank at the end', 'kim%20'],
  ])('are refused with %s', async (_, id) => {
    const answer = await api.send<{ code: string }>('GET', '/v1/me', {
      as: 'desk',
      headers: { 'countersign-person': id },
    });
    expect(codeOf(answer)).toEqual([400, 'invalid-request']);
  });

  it('name a person in any alphabet, with 256 characters, and with the mark of a person', async () => {
    for (const id of ['金城武', 'é', 'a'.repeat(256), 'a#b', 'a/b?c%23', 'kim@corp.example'])
      expect((await sendAs({ id }, 'GET', '/v1/me')).body['principal']).toBe(`support-desk#${id}`);
  });

  it('are refused without an id, with a name that turns the words around it, and with another assurance', async () => {
    const wrong = [
      { 'countersign-person-groups': 'ops' },
      { ...headersOf(kim), 'countersign-person-name': '%E2%80%AEevil' },
      { ...headersOf(kim), 'countersign-person-name': 'a%0ab' },
      { ...headersOf(kim), 'countersign-person-assurance': 'certain' },
      { ...headersOf(kim), 'countersign-person-groups': 'support,,ops%zz' },
    ];
    for (const headers of wrong) expect(codeOf(await api.send('GET', '/v1/me', { as: 'desk', headers }))[0]).toBe(400);
  });
});

describe('a front end that names no person', () => {
  it.each(['desk', 'both'])('reads what its application requested, and nothing else: %s', async (as) => {
    const [own, foreign] = [await asked('delete_file'), await asked('delete_file', 'agent')];
    const statusOf = async (path: string) => (await api.send('GET', path, { as })).status;
    expect(await statusOf(`/v1/tool-calls/${own.callId}`)).toBe(200);
    expect(await statusOf(`/v1/approvals/${own.approvalId}`)).toBe(200);
    expect(await statusOf(`/v1/runs/${own.runId}`)).toBe(200);
    expect(await statusOf(`/v1/tool-calls/${foreign.callId}`)).toBe(404);
    expect(await statusOf(`/v1/approvals/${foreign.approvalId}`)).toBe(404);
    expect(await statusOf(`/v1/runs/${foreign.runId}`)).toBe(404);
    const texts = await Promise.all(
      ['/v1/tool-calls', '/v1/approvals', '/v1/runs'].map(async (path) =>
        JSON.stringify((await api.send('GET', path, { as })).body),
      ),
    );
    for (const text of texts) {
      expect(text).toContain(own.runId);
      expect(text).not.toContain(foreign.runId);
      // An agent sees the values that it sent.
      if (as === 'desk') expect(text).not.toContain('hunter2');
    }
    const unnamed = await api.send<{ detail: string }>('POST', `/v1/approvals/${own.approvalId}/responses`, {
      as: 'desk',
      body: { decision: { type: 'deny' } },
    });
    expect([unnamed.status, unnamed.body.detail]).toEqual([403, expect.stringContaining('Countersign-Person')]);
    expect((await api.send('POST', '/v1/tool-calls', { as: 'desk', body: {} })).status).toBe(403);
  });
});

it('a stream of a front end that names no person has the events of its own calls alone', async () => {
  const foreign = await asked('delete_file', 'agent');
  const own = await asked('delete_file');
  const stream = await openStream(`${world.url}/v1/events?types=ToolCallRequested`, 'desk');
  const messages = await stream.until(1);
  while (!messages.some(({ data }) => data.callId === own.callId)) await stream.until(messages.length + 1);
  expect(messages.map(({ data }) => data.callId)).not.toContain(foreign.callId);
  stream.close();
});

describe('ending a person', () => {
  it('voids their open votes, by their front end or an admin, and a repeat ends nothing more', async () => {
    for (const as of ['desk', 'admin']) {
      const approval = await asked('refund');
      await answers(as === 'desk' ? kim : { ...kim, id: 'Kim' }, approval);
      const end = () => api.send<{ approvalIds: string[] }>('DELETE', '/v1/people/support-desk%23kim', { as });
      const ended = await end();
      expect([ended.status, ended.body.approvalIds]).toEqual([200, expect.arrayContaining([approval.approvalId])]);
      expect((await end()).body.approvalIds).toEqual([]);
      const after = await answers(lou, approval);
      expect([after.body.state, after.body.responses.map(({ respondedBy }) => respondedBy)]).toEqual([
        'pending',
        ['support-desk#lou'],
      ]);
      const events = await eventsOf(world, approval.callId);
      expect(events.find(({ type }) => type === 'ResponseWithdrawn')?.data).toMatchObject({
        ...{
          withdrawnBy: as === 'desk' ? 'support-desk' : 'admin',
          castBy: as === 'desk' ? 'support-desk#kim' : 'support-desk#Kim',
          ends: 'vote',
        },
      });
    }
  });

  it('is for people of that front end alone', async () => {
    const end = (as: string, principal: string) =>
      api.send<{ code: string }>('DELETE', `/v1/people/${encodeURIComponent(principal)}`, { as });
    const approval = await asked('refund');
    await answers(kim, approval);
    expect(codeOf(await end('shop', 'support-desk#kim'))).toEqual([403, 'forbidden']);
    expect(codeOf(await end('desk', 'ann'))).toEqual([400, 'invalid-request']);
    expect(codeOf(await end('desk', 'https://id.example.com#1'))).toEqual([400, 'invalid-request']);
    expect(codeOf(await end('ann', 'support-desk#kim'))).toEqual([403, 'forbidden']);
    expect((await answers(lou, approval)).body.state).toBe('approved');
  });
});

describe('a changed tokens file', () => {
  const whileChanged = async <T>(
    change: (entry: TokenEntry) => TokenEntry | undefined,
    work: () => Promise<T>,
  ): Promise<T> => {
    tokens.replace(all.flatMap((entry) => (entry.token === 'desk-token' ? (change(entry) ?? []) : [entry])));
    try {
      return await work();
    } finally {
      tokens.replace(all);
    }
  };

  it('ends the votes of a front end that was removed, and of groups that it may not give any more', async () => {
    const changes: readonly [ApprovalView['state'], (entry: TokenEntry) => TokenEntry | undefined][] = [
      ['approved', (entry) => entry],
      ['pending', () => undefined],
      ['pending', (entry) => ({ ...entry, people: { groups: ['ops'] } })],
    ];
    for (const [state, change] of changes) {
      const approval = await asked('refund');
      await answers(kim, approval);
      const byShop = {
        as: 'shop',
        headers: headersOf({ id: 'sam', groups: 'support' }),
        body: { decision: { type: 'approve' } },
      };
      const after = await whileChanged(change, () =>
        api.send<ApprovalView>('POST', `/v1/approvals/${approval.approvalId}/responses`, byShop),
      );
      expect([after.status, after.body.state]).toEqual([200, state]);
    }
  });

  it('ends a vote, and the edit that it proposed ends when its person leaves or withdraws', async () => {
    const narrowed = (entry: TokenEntry) => ({ ...entry, people: { groups: ['ops'] } });
    const edit = { body: { decision: { type: 'edit', arguments: { password: 'other' } } } };
    const ends = [
      (approvalId: string) => sendAs(kim, 'DELETE', `/v1/approvals/${approvalId}/responses/mine`),
      () => api.send('DELETE', '/v1/people/support-desk%23kim', { as: 'desk' }),
    ];
    for (const end of ends) {
      const approval = await asked('refund');
      expect((await answers(kim, approval, 'edit', edit)).body.proposal).toMatchObject({ number: 2 });
      expect((await whileChanged(narrowed, () => answers(lou, approval))).body.state).toBe('pending');
      expect((await end(approval.approvalId)).status).toBe(200);
      const after = await answers({ ...lou, id: 'sue' }, approval);
      expect([after.body.state, after.body.proposal]).toMatchObject([
        'pending',
        { number: 3, proposedBy: 'support-desk' },
      ]);
    }
  });
});
