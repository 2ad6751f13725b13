import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { systemClock, type Clock } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { verifySlackRequest } from '@slack/bolt';
import type { AnswerResult, ChannelAnswer } from '../response-port.js';
import type { Surface } from '../surface.js';
import { slackPress, slackSubmission } from '../testing/slack-payloads.js';
import { openSlackServer } from '../testing/slack-server.js';
import type { SlackServer } from '../testing/slack-server.js';
import { alice, sampleNotice } from '../testing/notices.js';
import { slackConfig } from '../testing/opened.js';
import type { Notice } from '../channel.js';
import { createSlackTokens } from './slack-channel.js';
import { isSignedBySlack } from './slack-signature.js';
import { createSlackSurface } from './slack-surface.js';

const secret = slackConfig.signingSecret;
const notice = sampleNotice();
const approval = {
  approvalId: notice.approval?.approvalId ?? '',
  shownDigest: notice.approval?.shownDigest ?? '',
};

let server: SlackServer;
let surface: Surface;
let given: ChannelAnswer[];
let result: AnswerResult;
let answer: () => Promise<AnswerResult>;
let log: CollectingLog;
let together: NonNullable<Notice['together']>;

beforeEach(async () => {
  server = await openSlackServer(slackConfig.botToken.reveal());
  [given, result, together] = [[], { status: 'recorded' }, []];
  answer = () => Promise.resolve(result);
  open(systemClock);
});
const open = (clock: Clock): void => {
  const responses = {
    find: (id: string) => Promise.resolve(id === approval.approvalId ? { ...notice, together } : undefined),
    answer: (one: ChannelAnswer) => {
      given.push(one);
      return answer();
    },
  };
  const config = { ...slackConfig, apiUrl: server.url };
  surface = createSlackSurface(config, {
    responses,
    people: () => [alice],
    clock,
    log: (log = createCollectingLog()),
    publicUrl: null,
  });
};
const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await nextTurn();
};
afterEach(async () => {
  await server.close();
});

const tokens = createSlackTokens({ ...slackConfig, apiUrl: '' });
const tooLate: AnswerResult = {
  status: 'refused',
  code: 'already-resolved',
  detail: '',
  winner: { respondedBy: 'bob', respondedAt: '2026-11-22T10:00:00.000Z', via: 'inbox', resolution: 'denied' },
};
const actionIds = { a: 'approve', d: 'deny', m: 'more' } as const;
const press = (action: 'a' | 'd' | 'm', change: object = {}) =>
  slackPress(actionIds[action], tokens.seal({ action, ...approval }), change);
const bodyOf = (payload: object): Buffer =>
  Buffer.from(new URLSearchParams({ payload: JSON.stringify(payload) }).toString());
const headersOf = (body: Buffer, ageS = 0, key = secret.reveal()) => {
  const timestamp = String(Math.floor(Date.now() / 1000) - ageS);
  const mac = createHmac('sha256', key).update(`v0:${timestamp}:${body.toString()}`).digest('hex');
  return { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${mac}` };
};
const receive = async (payload: object) => {
  const body = bodyOf(payload);
  const response = await surface.receive({ body, headers: headersOf(body) });
  await response.done;
  return response;
};

describe('the signature', () => {
  it("is the one of Slack's documentation", () => {
    const body =
      'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c';
    const signature = 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503';
    const headers = { timestamp: '1531420618', signature };
    expect(isSignedBySlack(Buffer.from(body), headers, secret, 1531420618_000)).toBe(true);
    expect(isSignedBySlack(Buffer.from(`${body} `), headers, secret, 1531420618_000)).toBe(false);
  });

  it.each([
    ['as it came', 0, '', undefined],
    ['299 s old', 299, '', undefined],
    ['301 s old', 301, '', undefined],
    ['with a byte more', 0, 'x', undefined],
    ['of another app', 0, '', 'another-secret'],
  ])("judges a body %s as Slack's own receiver does", (_name, ageS, extra, key) => {
    const body = bodyOf(press('a'));
    const headers = headersOf(body, ageS, key);
    const came = `${body.toString()}${extra}`;
    let isFine = true;
    try {
      const numeric = Number(headers['x-slack-request-timestamp']);
      verifySlackRequest({
        signingSecret: secret.reveal(),
        body: came,
        headers: { ...headers, 'x-slack-request-timestamp': numeric },
      });
    } catch {
      isFine = false;
    }
    const { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': signature } = headers;
    expect(isSignedBySlack(Buffer.from(came), { timestamp, signature }, secret, Date.now())).toBe(isFine);
  });
});

it('a timestamp of the future is refused, however well it is signed', async () => {
  const body = bodyOf(press('a'));
  expect((await surface.receive({ body, headers: headersOf(body, -301) })).status).toBe(401);
  expect(given).toEqual([]);
});

describe('a press', () => {
  it('decides in the name of the person, with the digest that they saw', async () => {
    expect((await receive(press('d'))).status).toBe(200);
    expect(given).toMatchObject([
      {
        approvalId: approval.approvalId,
        shownDigest: approval.shownDigest,
        person: { id: 'alice' },
        channelId: 'ops-slack',
        credential: 'slack:T01:U01',
        decision: { type: 'deny' },
      },
    ]);
  });

  it('is acknowledged only once it is recorded', async () => {
    const recorded = Promise.withResolvers<AnswerResult>();
    answer = () => recorded.promise;
    let isAcknowledged = false;
    const body = bodyOf(press('d'));
    const response = surface.receive({ body, headers: headersOf(body) }).finally(() => (isAcknowledged = true));
    await until(() => given.length === 1);
    await delay(50);
    expect(isAcknowledged).toBe(false);
    recorded.resolve({ status: 'recorded' });
    expect((await response).status).toBe(200);
  });

  it('that cannot be recorded is an error in Slack, and the person is told', async () => {
    answer = () => Promise.reject(new Error('the store is away'));
    expect((await receive(press('d'))).status).toBe(503);
    expect(JSON.stringify(server.calls())).toContain('cannot decide at the moment');
  });

  it.each([
    ['is recorded', () => Promise.resolve(result), ''],
    ['is refused', () => Promise.resolve(tooLate), 'Already denied by bob via inbox'],
    ['fails', () => Promise.reject(new Error('the store is away')), 'cannot decide at the moment'],
  ] as const)('that takes long and then %s says so each time', async (_, end, words) => {
    const held = Promise.withResolvers<undefined>();
    answer = () => held.promise.then(end);
    const virtual = createVirtualClock();
    open(virtual);
    const body = bodyOf(press('d'));
    const headers = headersOf(body);
    virtual.advance(Date.now() - virtual.now());
    const response = surface.receive({ body, headers });
    await until(() => given.length === 1);
    virtual.advance(2_500);
    expect((await response).status).toBe(200);
    await until(() => JSON.stringify(server.calls()).includes('longer than usual'));
    held.resolve(undefined);
    await (
      await response
    ).done;
    const told = server.calls().filter(({ method }) => method === 'chat.postEphemeral');
    expect(told.map(({ args }) => args)).toMatchObject(
      words === '' ? [] : [{ channel: 'C0123', user: 'U01', text: expect.stringContaining(words) as string }],
    );
  });

  it('is one and the same when Slack repeats it', async () => {
    await receive(press('a'));
    await receive(press('a'));
    expect(new Set(given.map(({ commandId }) => commandId)).size).toBe(1);
  });

  it.each([
    ['no signature', {}],
    [
      'a forged one',
      {
        'x-slack-request-timestamp': String(Math.floor(Date.now() / 1000)),
        'x-slack-signature': `v0=${'0'.repeat(64)}`,
      },
    ],
  ])('with %s is refused', async (_name, headers) => {
    expect((await surface.receive({ body: bodyOf(press('a')), headers })).status).toBe(401);
    expect(given).toEqual([]);
  });

  it.each([
    ['an unknown user', { user: { id: 'U99', team_id: 'T01' } }],
    ['the same user id in another workspace', { user: { id: 'U01', team_id: 'T99' } }],
    [
      'a forged token',
      { actions: [{ action_id: 'approve', value: `${tokens.seal({ action: 'a', ...approval }).slice(0, -2)}x1` }] },
    ],
    [
      'a token of another channel',
      {
        actions: [
          {
            action_id: 'approve',
            value: createSlackTokens({ ...slackConfig, id: 'other', apiUrl: '' }).seal({ action: 'a', ...approval }),
          },
        ],
      },
    ],
    [
      'arguments that were changed since',
      {
        actions: [
          {
            action_id: 'approve',
            value: tokens.seal({ action: 'a', ...approval, shownDigest: `sha256:${'ef'.repeat(32)}` }),
          },
        ],
      },
    ],
  ])('of %s decides nothing, and the person is told', async (_name, change) => {
    expect((await receive(press('a', change))).status).toBe(200);
    expect(given).toEqual([]);
    expect(server.calls()[0]?.method).toBe('views.open');
  });

  it.each([
    ['Approve', 'approve', 'd'],
    ['Approve', 'approve', 'm'],
    ['Deny', 'deny', 'a'],
    ['More…', 'more', 'a'],
    ['no button of ours', 'approve-all', 'a'],
  ] as const)(
    'on %s (%s) with the value of another button (%s) decides nothing, and says so',
    async (_, id, action) => {
      const value = tokens.seal({ action, ...approval });
      await receive(press('a', { actions: [{ action_id: id, value }] }));
      expect(given).toEqual([]);
      expect(server.calls().map(({ method }) => method)).toEqual(['views.open', 'chat.update']);
      const view = JSON.stringify(server.calls()[0]?.args['view']);
      expect(view).toContain('This button and its value disagree. Nothing was decided: look again.');
      expect(view).not.toContain('"submit"');
    },
  );

  it('on two buttons at once decides nothing, and says so', async () => {
    const button = (action: 'a' | 'd') => ({
      action_id: actionIds[action],
      value: tokens.seal({ action, ...approval }),
    });
    await receive(press('a', { actions: [button('a'), button('d')] }));
    expect(given).toEqual([]);
    expect(JSON.stringify(server.calls()[0]?.args['view'])).toContain('Nothing was decided');
  });

  it('of a modal that carries the value of another button decides nothing, and says so', async () => {
    await receive(press('m'));
    const view = {
      ...(server.calls()[0]?.args['view'] as object),
      private_metadata: tokens.seal({ action: 'd', ...approval }),
    };
    const { body } = await receive(slackSubmission(view, { decision: 'approve', reason: '' }));
    expect(given).toEqual([]);
    expect(JSON.stringify(body)).toContain('Nothing was decided');
  });

  it('on "More…" of a card whose arguments were changed since opens no modal to answer', async () => {
    const value = tokens.seal({ action: 'm', ...approval, shownDigest: `sha256:${'ef'.repeat(32)}` });
    await receive(press('m', { actions: [{ action_id: 'more', value }] }));
    expect(given).toEqual([]);
    expect(server.calls().map(({ method }) => method)).toEqual(['views.open', 'chat.update']);
    const view = JSON.stringify(server.calls()[0]?.args['view']);
    expect(view).toContain('It was changed since you looked: look again. Nothing was decided.');
    expect(view).not.toContain('"submit"');
  });

  it('on "More…" of a card about several calls opens no form for one of them, and one that is open decides nothing', async () => {
    await receive(press('m'));
    const view = server.calls()[0]?.args['view'] as object;
    const { call, approval: other } = notice;
    if (other === null) throw new Error('the notice has an approval');
    together = [{ call, approval: other }];
    await receive(press('m'));
    expect(JSON.stringify(server.calls()[1]?.args['view'])).toContain('decides about several calls');
    expect(JSON.stringify(server.calls().find(({ method }) => method === 'chat.update'))).not.toContain('"more"');
    const { body } = await receive(slackSubmission(view, { decision: 'approve', reason: '' }));
    expect(JSON.stringify(body)).toContain('decides about several calls');
    expect(given).toEqual([]);
  });

  it('that comes too late is told who was first, and the copy is changed', async () => {
    result = tooLate;
    await receive(press('a'));
    expect(server.calls().map(({ method }) => method)).toEqual(['views.open', 'chat.update']);
    expect(JSON.stringify(server.calls()[0])).toContain('Already denied by bob via inbox');
  });

  it('whose person cannot be told any more changes the copy all the same, and the log has the words of Slack', async () => {
    result = { status: 'refused', code: 'expired', detail: '' };
    const no = { body: { ok: false, error: 'expired_trigger_id' } };
    server.next.push(no);
    await receive(press('a'));
    expect(server.calls().map(({ method }) => method)).toContain('chat.update');
    const reason = 'Slack answers expired_trigger_id';
    expect(log.entries).toMatchObject([{ level: 'error', fields: { channelId: 'ops-slack', reason } }]);
  });

  it.each([
    ['changed', '{"path":"/tmp/other"}', 0],
    ['no JSON', '{', 0],
    ['as they were, written in another way', JSON.stringify(notice.approval?.arguments), 1],
    ['taken away', '', 1],
  ])('of a modal that approves "as it is" while its arguments are %s', async (_, args, decided) => {
    await receive(press('m'));
    const { view } = server.calls().at(-1)!.args as { view: { callback_id: string; private_metadata: string } };
    const response = await receive(slackSubmission(view, { decision: 'approve', args }));
    expect(given).toHaveLength(decided);
    if (decided === 0) expect(JSON.stringify(response.body)).toContain('You changed the arguments');
  });

  it('on "More…" opens a modal, whose answer carries reason and edited arguments', async () => {
    await receive(press('m'));
    const view = server.calls()[0]?.args['view'] as object;
    const submitted = slackSubmission(view, { decision: 'edit', reason: 'smaller', args: '{"path":"/tmp/y"}' });
    const response = await receive(submitted);
    expect(response).toMatchObject({ status: 200 });
    expect(given).toMatchObject([
      { decision: { type: 'edit', argumentsText: '{"path":"/tmp/y"}' }, reason: 'smaller' },
    ]);
    result = { status: 'refused', code: 'invalid-arguments', detail: 'path must be string' };
    expect((await receive(submitted)).body).toMatchObject({
      response_action: 'errors',
      errors: { arguments: expect.any(String) as string },
    });
  });
});
