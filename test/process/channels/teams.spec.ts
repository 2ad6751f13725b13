import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTeamsServer, teamsBot, teamsPress } from '@countersign/channels/testing';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import { eventually } from '../harness/wait.js';

cleanUpAfterEach();

const [one, other] = ['19:one@thread.tacv2', '19:other@thread.v2'];
const objectId = 'aaaaaaaa-0000-4000-8000-000000000001';

interface Button {
  readonly verb: string;
  readonly data: object;
}

test('a card goes to the conversation of a label once, decides there alone, and changes after a decision of any road', async () => {
  const folder = temporaryFolder();
  const teams = await openTeamsServer(teamsBot);
  onCleanup(teams.close);
  const file = join(folder, 'channels.yaml');
  const { tenant, appId } = teamsBot;
  const allow = (...conversations: readonly string[]): void =>
    writeFileSync(
      file,
      JSON.stringify({
        version: 1,
        people: [{ id: 'me', teams: `${tenant}:${objectId}` }],
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
  const limited = { status: 429, headers: { 'retry-after': '1' }, body: { error: { code: 'TooManyRequests' } } };
  const env = { COUNTERSIGN_CHANNELS: file, TEAMS_CLIENT_SECRET: teamsBot.clientSecret };
  const { http, tokens, restart, server } = await install(env, folder);
  const posted = () => teams.calls().filter(({ method }) => method === 'POST');
  const changed = (conversation: string) =>
    teams.calls().find(({ method, conversation: at }) => method === 'PUT' && at === conversation);
  const ask = async (where: string, toolCallId: string): Promise<string> => {
    const call = { toolCallId, toolName: 'delete_file', arguments: {}, needsApproval: true, labels: { where } };
    const body = { runId: 'run', calls: [call] };
    const answer = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
    const { calls } = answer.body as { calls: readonly { approval: { approvalId: string } }[] };
    return calls[0]?.approval.approvalId ?? '';
  };
  const approvalOf = async (approvalId: string): Promise<unknown> =>
    (await http.send({ method: 'GET', path: `/v1/approvals/${approvalId}`, token: tokens.me })).body;
  const press = async (
    nth: number,
    at: { readonly conversation: string; readonly id: string },
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
