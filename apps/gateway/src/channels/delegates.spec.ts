import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createEmailTokens } from '@countersign/channels';
import { mailConfigOf } from '@countersign/channels/testing';
import type { ApprovalView } from '@countersign/contracts';
import { createPolicies, loadPolicy } from '@countersign/policy';
import { createSessions } from '../inbox/sessions.js';
import { createChannelPeople, createPeople } from '../people.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { createChangingTokens } from '../testing/changing-tokens.js';
import { openWorld, tokenEntries } from '../testing/world.js';
import type { World } from '../testing/world.js';

const content = loadPolicy(
  'countersign.policy.yaml',
  `version: 1
approvers:
  - { id: bob, groups: [security], delegates: [{ to: ann, from: "2020-01-01T00:00:00Z", until: "2099-01-01T00:00:00Z" }] }
  - { id: ann, groups: [ops], identities: { email: "ann@example.com" } }
rules:
  - { id: guarded, match: { tools: [guarded] }, then: { require: { anyOf: [security] } } }
`,
);
const mail = mailConfigOf('smtp://127.0.0.1:1');
const ann = { id: 'ann', email: 'ann@example.com', groups: [] };

const tokens = createChangingTokens(tokenEntries);
const remove = (...principals: readonly string[]): void =>
  tokens.replace(tokenEntries.filter(({ principal }) => !principals.includes(principal)));

let world: World;
let api: Api;
beforeEach(async () => {
  remove();
  const channels = { people: [ann], channels: [mail], routes: [], broken: [] };
  const known = createPeople({ tokens: () => tokens, channels, issuer: null });
  const policies = createPolicies([content]);
  world = await openWorld({
    policies,
    change: (ports) => ({
      ...ports,
      tokens,
      channels,
      people: createChannelPeople(channels.people, policies, known, ports.clock),
      sessions: createSessions({ ...ports, tokens, store: createSessionStore(':memory:') }),
      commands: { ...ports.commands, people: known },
    }),
  });
  api = createApi(world);
});
afterEach(() => world.close());

const ask = (): Promise<ApprovalView> => api.pending({ toolName: 'guarded', needsApproval: false });
const read = async ({ approvalId }: ApprovalView): Promise<ApprovalView> =>
  (await api.send<ApprovalView>('GET', `/v1/approvals/${approvalId}`, { as: 'auditor' })).body;

interface BulkAnswer {
  readonly results: readonly { readonly status: string; readonly code?: string }[];
}
async function approveAll(approvals: readonly ApprovalView[], more: object = {}): Promise<BulkAnswer> {
  const approvalIds = approvals.map(({ approvalId }) => approvalId);
  const body = { approvalIds, decision: { type: 'approve' }, ...more };
  const { status, body: answer } = await api.send<BulkAnswer>('POST', '/v1/approvals/responses', { as: 'ann', body });
  expect(status).toBe(200);
  return answer;
}

describe('a delegate', () => {
  it.each(['independent', 'all-or-nothing'])(
    'decides many approvals at once (%s), each in the name of both',
    async (mode) => {
      const asked = [await ask(), await ask(), await ask()];
      expect((await approveAll(asked, { mode })).results.map(({ status }) => status)).toEqual(['done', 'done', 'done']);
      for (const one of asked) {
        expect(await read(one)).toMatchObject({
          state: 'approved',
          responses: [{ respondedBy: 'ann', onBehalfOf: 'bob' }],
        });
      }
    },
  );

  it('has no voice at once for any of many, once the delegator is removed', async () => {
    const asked = [await ask(), await ask()];
    remove('bob');
    const code = 'not-an-approver';
    for (const mode of ['independent', 'all-or-nothing']) {
      const { results } = await approveAll(asked, { mode });
      expect(results).toMatchObject([{ problem: { code } }, { problem: { code } }]);
    }
    expect((await read(asked[0] as ApprovalView)).responses).toEqual([]);
  });
});

describe('a mail link', () => {
  const headers = { 'content-type': 'application/json', 'countersign-client': 'inbox' };
  const cookieOf = async (token: string): Promise<string> => {
    const body = JSON.stringify({ token });
    const signedIn = await fetch(`${world.url}/session`, { method: 'POST', headers, body });
    return signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  };
  const linkOf = ({ approvalId, shownDigest }: ApprovalView, to: string): string =>
    `${world.url}/a/${createEmailTokens(mail).seal({ action: 'o', approvalId, shownDigest }, to)}`;
  const press = (link: string, cookie: string): Promise<Response> =>
    fetch(`${link}/response`, {
      method: 'POST',
      headers: { ...headers, cookie },
      body: JSON.stringify({ decision: { type: 'approve' } }),
    });

  it('lets a delegate decide, in the name of both', async () => {
    const asked = await ask();
    expect((await press(linkOf(asked, 'ann'), await cookieOf('ann-token'))).status).toBe(200);
    expect(await read(asked)).toMatchObject({
      state: 'approved',
      responses: [{ respondedBy: 'ann', onBehalfOf: 'bob' }],
    });
  });

  it('gives a delegate no voice once the delegator is removed', async () => {
    const asked = await ask();
    const cookie = await cookieOf('ann-token');
    remove('bob');
    expect((await press(linkOf(asked, 'ann'), cookie)).status).toBe(403);
    expect((await read(asked)).responses).toEqual([]);
  });

  it('shows and decides nothing once its person is removed', async () => {
    const asked = await ask();
    const cookie = await cookieOf('ann-token');
    const link = linkOf(asked, 'ann');
    expect((await fetch(`${link}/card`, { headers: { cookie } })).status).toBe(200);
    remove('ann');
    expect((await fetch(`${link}/card`, { headers: { cookie } })).status).toBe(401);
    expect((await press(link, cookie)).status).toBe(401);
    expect((await read(asked)).responses).toEqual([]);
  });

  it('shows and decides nothing for the delegator when it was sent to the delegate', async () => {
    const asked = await ask();
    const cookie = await cookieOf('bob-token');
    expect((await press(linkOf(asked, 'ann'), cookie)).status).toBe(404);
    expect((await read(asked)).responses).toEqual([]);
  });
});
