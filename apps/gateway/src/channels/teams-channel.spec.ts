import { openSurfaces } from '@countersign/channels';
import type { AnswerResult, ChannelAnswer, Surface } from '@countersign/channels';
import {
  alice,
  channelContract,
  openTeams,
  openTeamsServer,
  regionalUrl,
  sampleNotice,
  teamsBot,
  teamsConfig,
  teamsPress,
} from '@countersign/channels/testing';
import type { TeamsServer } from '@countersign/channels/testing';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { createBotFrameworkAuth } from './bot-framework-auth.js';

const clock = systemClock;

describe('the Teams channel', () => channelContract(() => openTeams((bot) => createBotFrameworkAuth(bot, clock))));

const notice = sampleNotice();
const { approvalId = '', shownDigest = '' } = notice.approval ?? {};
const card = { conversation: teamsConfig.conversation, id: '1700000000000' };

let server: TeamsServer;
beforeAll(async () => {
  server = await openTeamsServer(teamsBot);
});
afterAll(() => server.close());

let given: ChannelAnswer[];
let result: AnswerResult;
let log: CollectingLog;
let surface: Surface;
let buttons: Readonly<Record<'approve' | 'deny', { readonly verb: string; readonly data: { readonly value: string } }>>;

async function openSurface(change: object = {}): Promise<Surface> {
  const [opened] = await openSurfaces([{ ...teamsConfig, ...server.urls, ...change }], {
    responses: {
      find: (id) => Promise.resolve(id === approvalId ? notice : undefined),
      answer: (answer) => {
        given.push(answer);
        return Promise.resolve(result);
      },
      copies: () => Promise.resolve([`${card.conversation}|${card.id}`]),
    },
    ...{ people: () => [alice], clock, log: (log = createCollectingLog()), publicUrl: 'https://c.example/' },
    botFrameworkAuth: (bot) => Promise.resolve(createBotFrameworkAuth(bot, clock)),
  });
  if (opened === undefined) throw new Error('there is no surface');
  return opened;
}

beforeAll(async () => {
  const opened = await openTeams((bot) => createBotFrameworkAuth(bot, clock));
  await opened.channel.send([notice], { signal: new AbortController().signal });
  const [message = ''] = await opened.messages();
  await opened.close();
  const { attachments } = JSON.parse(message) as {
    attachments: [{ content: { actions: (typeof buttons)['deny'][] } }];
  };
  const [approve, deny] = attachments[0].content.actions;
  if (approve === undefined || deny === undefined) throw new Error('the card has no buttons');
  buttons = { approve, deny };
});
beforeEach(async () => {
  [given, result] = [[], { status: 'recorded' }];
  server.received.length = 0;
  surface = await openSurface();
});

const receive = async (activity: object, token = server.tokenFor()) => {
  const raw = Buffer.from(JSON.stringify(activity));
  const response = await surface.receive({ body: raw, headers: { authorization: `Bearer ${token}` } });
  await response.done;
  const body: { readonly value?: string } | undefined = response.body;
  return { status: response.status, told: body?.value, body };
};
const press = (type: 'approve' | 'deny', change: object = {}, data: object = {}) => {
  const { verb, data: own } = buttons[type];
  return teamsPress(teamsBot, card, { verb, data: { ...own, ...data } }, change);
};

describe('the token of a request', () => {
  it('of the Bot Connector is accepted, and its keys are read once', async () => {
    expect(await receive(press('approve'))).toMatchObject({ status: 200, told: 'Approved.' });
    expect(await receive(press('approve'))).toMatchObject({ status: 200 });
    expect(server.received.map(({ path }) => path)).toEqual([
      '/v1/.well-known/openidconfiguration',
      '/v1/.well-known/keys',
    ]);
  });

  it.each([
    [
      'of Microsoft Entra for the same bot',
      { iss: `https://sts.windows.net/${teamsBot.tenant}/`, tid: teamsBot.tenant },
      'endorsed',
    ],
    ['of Microsoft Entra, v2', { iss: `https://login.microsoftonline.com/${teamsBot.tenant}/v2.0` }, 'endorsed'],
    ['for another bot', { aud: '33333333-0000-4000-8000-000000000003' }, 'endorsed'],
    ['that has ended', { exp: Math.floor(Date.now() / 1000) - 7_000 }, 'endorsed'],
    ['that never ends', { exp: undefined }, 'endorsed'],
    ['that begins later', { nbf: Math.floor(Date.now() / 1000) + 7_000 }, 'endorsed'],
    ['for another service url', { serviceurl: 'https://evil.example/' }, 'endorsed'],
    ['without a service url', { serviceurl: undefined }, 'endorsed'],
    ['whose key is endorsed for another channel', {}, 'other channel'],
    ['whose key nobody knows', {}, 'unknown'],
  ] as const)('%s is refused', async (_name, claims, key) => {
    expect((await receive(press('approve'), server.tokenFor(claims, key))).status).toBe(401);
    expect(given).toEqual([]);
    expect(log.entries).toMatchObject([{ level: 'warn', fields: { why: expect.any(String) as string } }]);
  });

  it.each([
    ['none', undefined],
    ['no bearer', 'Basic YTpi'],
    ['an unsigned one', `Bearer ${Buffer.from('{"alg":"none"}').toString('base64url')}.e30.`],
    ['no token at all', 'Bearer x'],
  ])('%s is refused', async (_name, authorization) => {
    const body = Buffer.from(JSON.stringify(press('approve')));
    expect((await surface.receive({ body, headers: { authorization } })).status).toBe(401);
    expect(given).toEqual([]);
  });

  it('that is altered is refused', async () => {
    const [head = '', claims = '', mac = ''] = server.tokenFor({ aud: 'another' }).split('.');
    const other = JSON.parse(Buffer.from(claims, 'base64url').toString()) as object;
    const forged = Buffer.from(JSON.stringify({ ...other, aud: teamsBot.appId })).toString('base64url');
    expect((await receive(press('approve'), `${head}.${forged}.${mac}`)).status).toBe(401);
  });

  it('waits for keys that cannot be read: the request is neither refused nor accepted', async () => {
    surface = await openSurface({ openIdUrl: 'http://127.0.0.1:1/' });
    expect((await receive(press('approve'))).status).toBe(503);
    expect(given).toEqual([]);
    expect(log.entries).toMatchObject([{ level: 'error' }]);
  });
});

describe('a press', () => {
  it('decides in the name of the person, with the digest that they saw and their reason', async () => {
    const { body } = await receive(press('deny', {}, { reason: ' too risky ' }));
    expect(body).toEqual({ statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: 'Denied.' });
    expect(given).toMatchObject([
      {
        ...{ approvalId, shownDigest, person: { id: 'alice' }, channelId: 'ops-teams', assurance: 'medium' },
        ...{ credential: `teams:${alice.teams ?? ''}`, decision: { type: 'deny' }, reason: 'too risky' },
      },
    ]);
  });

  it('is one and the same when it is repeated', async () => {
    await receive(press('approve'));
    await receive(press('approve'), server.tokenFor({ nbf: 1 }));
    expect(new Set(given.map(({ commandId }) => commandId)).size).toBe(1);
  });

  const elsewhere = { id: '19:other@thread.tacv2', tenantId: teamsBot.tenant };
  const foreign = '44444444-0000-4000-8000-000000000004';
  const aadObjectId = 'aaaaaaaa-0000-4000-8000-000000000001';
  it.each([
    ['an unknown user', { from: { id: '29:2', aadObjectId: foreign } }, /not known here/],
    ['a user without an object id', { from: { id: '29:1alice' } }, /not known here/],
    [
      'the same object id in another tenant',
      { from: { id: '29:1', aadObjectId, tenantId: foreign } },
      /not known here/,
    ],
    ['a conversation of another tenant', { channelData: { tenant: { id: foreign } } }, /not known here/],
    ['no tenant', { conversation: { id: card.conversation }, channelData: {} }, /not known here/],
    ['another conversation', { conversation: elsewhere }, /not the message that was sent/],
  ])('of %s decides nothing, and the person is told', async (_name, change, words) => {
    const { status, told } = await receive(press('approve', change));
    expect([status, told]).toEqual([200, expect.stringMatching(words)]);
    expect(given).toEqual([]);
  });

  it('whose verb and value disagree decides nothing', async () => {
    const activity = teamsPress(teamsBot, card, { verb: buttons.deny.verb, data: buttons.approve.data });
    expect((await receive(activity)).told).toContain('disagree');
    expect(given).toEqual([]);
  });

  it('on another message than the card decides nothing where labels name the conversation', async () => {
    surface = await openSurface({ conversation: { label: 'where', allow: [card.conversation] } });
    expect((await receive(press('approve'))).told).toBe('Approved.');
    const { told } = await receive(press('approve', { replyToId: '1700000000999' }));
    expect(told).toContain('not the message that was sent');
    expect(given).toHaveLength(1);
  });

  it('that comes too late is told who was first, and the card is changed', async () => {
    const winner = { respondedBy: 'bob', respondedAt: '2026-11-22T10:00:00.000Z', via: 'inbox', resolution: 'denied' };
    result = { status: 'refused', code: 'already-resolved', detail: '', winner };
    expect((await receive(press('approve'))).told).toContain('Already denied by bob via inbox');
    const changes = server.received.filter(({ method }) => method === 'PUT');
    expect(changes.map(({ path }) => decodeURIComponent(path))).toEqual([
      `/teams/v3/conversations/${card.conversation}/activities/${card.id}`,
    ]);
  });

  it('that asks for something else is no decision', async () => {
    const other = { value: { action: { type: 'Action.Submit', data: buttons.approve.data } } };
    expect((await receive(press('approve', other))).status).toBe(501);
    expect((await receive(press('approve', { name: 'task/fetch' }))).status).toBe(501);
    expect((await receive(press('approve', { type: 'message', name: undefined }))).status).toBe(200);
    expect((await receive({ hello: 'world' })).status).toBe(400);
    expect(given).toEqual([]);
  });

  it('never sends the token of the bot to the address that a request names', async () => {
    result = { status: 'refused', code: 'expired', detail: '' };
    const token = server.tokenFor({ serviceurl: 'http://127.0.0.1:1/' });
    await receive(press('approve', { serviceUrl: 'http://127.0.0.1:1/' }), token);
    expect(regionalUrl).not.toContain(server.url);
    expect(server.received.filter(({ method }) => method === 'PUT')).toHaveLength(1);
  });
});
