import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTeamsServer, teamsBot, teamsPress } from '@countersign/channels/testing';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import { eventually } from '../harness/wait.js';

cleanUpAfterEach();

const [one, other] = ['19:one@thread.tacv2', '19:other@thread.v2'];
const policy = `version: 1
rules: [{ id: two, match: { tools: [wire_money] }, then: { require: { quorum: { approve: 2 } } } }]
`;
const [me, kim] = ['aaaaaaaa-0000-4000-8000-000000000001', 'cccccccc-0000-4000-8000-000000000003'];
const entries = [
  { token: 'agent-token', principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { token: 'me-token', principal: 'me', roles: ['approver'] },
  { token: 'kim-token', principal: 'kim', roles: ['approver'] },
  { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
];

interface Button {
  readonly verb: string;
  readonly data: object;
}

/** Where a pressed card is. */
interface Place {
  readonly conversation: string;
  readonly id: string;
}

/** A server with a channel of Teams, whose conversation is named by a label, and two people. */
async function openDesk() {
  const folder = temporaryFolder();
  const teams = await openTeamsServer(teamsBot);
  onCleanup(teams.close);
  const [file, policyFile] = [join(folder, 'channels.yaml'), join(folder, 'policy.yaml')];
  const { tenant, appId } = teamsBot;
  const allow = (...conversations: readonly string[]): void =>
    writeFileSync(
      file,
      JSON.stringify({
        version: 1,
        people: [
          { id: 'me', teams: `${tenant}:${me}` },
          { id: 'kim', teams: `${tenant}:${kim}` },
        ],
        channels: [
          {
            ...{ id: 'desk', type: 'teams', tenant, appId, clientSecret: { env: 'TEAMS_CLIENT_SECRET' } },
            ...{ conversation: { label: 'where', allow: conversations }, ...teams.urls },
          },
        ],
        routes: [{ to: ['desk'] }],
      }),
    );
  allow(one, other);
  writeFileSync(policyFile, policy);
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(entries), { mode: 0o600 });
  const env = {
    ...{ COUNTERSIGN_CHANNELS: file, COUNTERSIGN_POLICY: policyFile },
    TEAMS_CLIENT_SECRET: teamsBot.clientSecret,
  };
  const { http, tokens, restart, server } = await install(env, folder);
  const posted = () => teams.calls().filter(({ method }) => method === 'POST');
  const changed = (conversation: string) =>
    teams.calls().find(({ method, conversation: at }) => method === 'PUT' && at === conversation);
  const ask = async (where: string, toolCallId: string, toolName = 'delete_file'): Promise<string> => {
    const call = { toolCallId, toolName, arguments: {}, needsApproval: true, labels: { where } };
    const body = { runId: 'run', calls: [call] };
    const answer = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
    const { calls } = answer.body as { calls: readonly { approval: { approvalId: string } }[] };
    return calls[0]?.approval.approvalId ?? '';
  };
  const approvalOf = async (approvalId: string): Promise<unknown> =>
    (await http.send({ method: 'GET', path: `/v1/approvals/${approvalId}`, token: tokens.me })).body;
  const press = async (
    nth: number,
    at: Place,
    { change = {}, token = teams.tokenFor() }: { readonly change?: object; readonly token?: string } = {},
  ): Promise<string> => {
    const attachments = (posted()[nth]?.args['attachments'] ?? []) as readonly {
      content: { actions: readonly Button[] };
    }[];
    const [attachment] = attachments;
    const [approve] = attachment?.content.actions ?? [];
    if (approve === undefined) throw new Error('the card has no button');
    const body = teamsPress(teamsBot, at, { verb: approve.verb, data: approve.data }, change);
    const headers = { authorization: `Bearer ${token}` };
    const answer = await http.send({ method: 'POST', path: '/channels/desk/teams', headers, body });
    return answer.status === 200 ? (answer.body as { value: string }).value : String(answer.status);
  };
  return { teams, allow, http, tokens, restart, server, posted, changed, ask, approvalOf, press };
}

test('a card goes to the conversation of a label once, decides there alone, and changes after a decision of any road', async () => {
  const { teams, allow, http, tokens, restart, server, posted, changed, ask, approvalOf, press } = await openDesk();
  const limited = { status: 429, headers: { 'retry-after': '1' }, body: { error: { code: 'TooManyRequests' } } };

  await ask('19:nowhere@thread.v2', 'a');
  const first = await ask(one, 'b');
  await eventually('the first card', () => posted()[0]);
  const id = '1700000000000';
  expect(posted()[0]?.conversation).toBe(one);
  expect(await press(0, { conversation: one, id }, { token: teams.tokenFor({}, 'unknown') })).toBe('401');
  expect(await press(0, { conversation: other, id })).toContain('Nothing was decided');
  expect(await press(0, { conversation: one, id: '1700000000099' })).toContain('Nothing was decided');
  const stranger = { from: { id: '29:2', aadObjectId: 'bbbbbbbb-0000-4000-8000-000000000002' } };
  expect(await press(0, { conversation: one, id }, { change: stranger })).toContain('not known here');
  expect(await approvalOf(first)).toMatchObject({ state: 'pending' });
  const both = await Promise.all([press(0, { conversation: one, id }), press(0, { conversation: one, id })]);
  expect(both).toEqual(['Approved.', 'Approved.']);
  expect(await approvalOf(first)).toMatchObject({
    state: 'approved',
    responses: [{ respondedBy: 'me', via: 'desk' }],
  });
  const card = await eventually('the card to change', () => changed(one));
  expect(JSON.stringify(card.args)).toContain('me approved via desk');
  expect(JSON.stringify(card.args)).not.toContain('Action.Execute');

  // The second card is asked to wait, and is sent again.
  teams.next.push(limited);
  const second = await ask(other, 'c');
  await eventually('the second card', () => posted().find(({ conversation }) => conversation === other));
  await eventually('the second card, after the limit', () => (posted().length === 3 ? true : undefined));
  allow(one);
  await server().stop();
  await restart();
  expect(await press(2, { conversation: other, id: '1700000000001' })).toContain('Nothing was decided');
  const body = { decision: { type: 'deny' } };
  await http.send({ method: 'POST', path: `/v1/approvals/${second}/responses`, token: tokens.me, body });
  const closed = await eventually('the card in the conversation of before', () => changed(other));
  expect(JSON.stringify(closed.args)).toContain('This request is no longer shown here.');
  expect(posted()).toHaveLength(3);
}, 180_000);

test('of two people who press at the same time one decides, and of a quorum of two both count', async () => {
  const { posted, ask, approvalOf, press } = await openDesk();
  const both = (nth: number): Promise<string[]> => {
    const at = { conversation: one, id: `17000000000${String(nth).padStart(2, '0')}` };
    const asKim = { from: { id: '29:3kim', name: 'Kim', aadObjectId: kim } };
    return Promise.all([press(nth, at), press(nth, at, { change: asKim })]);
  };
  const single = await ask(one, 'a');
  await eventually('the first card', () => posted()[0]);
  const words = await both(0);
  const [first = '', second = ''] = words[0] === 'Approved.' ? ['me', words[1]] : ['kim', words[0]];
  expect(words).toContain('Approved.');
  expect(second).toContain(`Already approved by ${first} via desk`);
  expect(await approvalOf(single)).toMatchObject({ state: 'approved', responses: [{ respondedBy: first }] });

  const shared = await ask(one, 'b', 'wire_money');
  await eventually('the second card', () => posted()[1]);
  expect((await both(1)).toSorted()).toEqual(['Approved.', 'Recorded: it waits for others.']);
  const { state, responses } = (await approvalOf(shared)) as {
    readonly state: string;
    readonly responses: readonly { readonly respondedBy: string; readonly counted: boolean }[];
  };
  const voted = responses.map(({ respondedBy, counted }) => [respondedBy, counted]).toSorted();
  expect([state, voted]).toEqual([
    'approved',
    [
      ['kim', true],
      ['me', true],
    ],
  ]);
}, 180_000);
