import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { CollectingLog, VirtualClock } from '@countersign/runtime/testing';
import type { AnswerResult, ChannelAnswer } from '../response-port.js';
import { alice, sampleNotice } from '../testing/notices.js';
import { slackSocketConfig } from '../testing/opened.js';
import { slackPress, slackSubmission } from '../testing/slack-payloads.js';
import { openSlackServer } from '../testing/slack-server.js';
import type { SlackServer } from '../testing/slack-server.js';
import { interactive } from '../testing/slack-sockets.js';
import { createSlackTokens } from './slack-channel.js';
import { listenToSlack } from './slack-socket.js';

const notice = sampleNotice();
const approval = {
  approvalId: notice.approval?.approvalId ?? '',
  shownDigest: notice.approval?.shownDigest ?? '',
};
const tokens = createSlackTokens({ ...slackSocketConfig, apiUrl: '' });
const press = (change: object = {}) => slackPress('approve', tokens.seal({ action: 'a', ...approval }), change);

let server: SlackServer;
let clock: VirtualClock;
let log: CollectingLog;
let given: ChannelAnswer[];
let answer: () => Promise<AnswerResult>;
const stops: (() => Promise<void>)[] = [];

beforeEach(async () => {
  server = await openSlackServer(slackSocketConfig.botToken.reveal(), slackSocketConfig.appToken.reveal());
  [clock, log] = [createVirtualClock(), createCollectingLog()];
  given = [];
  answer = () => Promise.resolve({ status: 'recorded' });
});
afterEach(async () => {
  await Promise.all(stops.splice(0).map((stop) => stop()));
  await until(() => server.sockets.connected() === 0);
  expect(server.sockets.violations).toEqual([]);
  expect(JSON.stringify(log.entries)).not.toMatch(/canary|ticket/);
  await server.close();
});

const until = async (isSo: () => boolean): Promise<void> => {
  while (!isSo()) await nextTurn();
};
const listen = (): (() => Promise<void>) => {
  const responses = {
    find: (id: string) => Promise.resolve(id === approval.approvalId ? notice : undefined),
    answer: (one: ChannelAnswer) => {
      given.push(one);
      return answer();
    },
  };
  const stop = listenToSlack(
    { ...slackSocketConfig, apiUrl: server.url },
    { responses, people: () => [alice], clock, log, publicUrl: null },
  );
  stops.push(stop);
  return stop;
};
const connected = (count = 1): Promise<void> => until(() => said('listening to Slack') >= count);
const said = (words: string): number => log.entries.filter(({ message }) => message === words).length;
const asked = (): number => server.received.filter(({ path }) => path.endsWith('/apps.connections.open')).length;
const pauses = (ms: number): Promise<void> => until(() => clock.nextInMs() === ms);

describe('an envelope', () => {
  it('is acknowledged once the press in it is recorded, in the name of the person', async () => {
    const decided = Promise.withResolvers<AnswerResult>();
    answer = () => decided.promise;
    listen();
    await connected();
    let isAcknowledged = false;
    const acknowledged = server.sockets.deliver(interactive(press())).finally(() => (isAcknowledged = true));
    await until(() => given.length > 0);
    await delay(50);
    expect(isAcknowledged).toBe(false);
    decided.resolve({ status: 'recorded' });
    expect((await acknowledged).payload).toEqual({});
    expect(given).toMatchObject([
      {
        approvalId: approval.approvalId,
        person: { id: 'alice' },
        channelId: 'ops-slack',
        decision: { type: 'approve' },
      },
    ]);
  });

  it('is not acknowledged while its press cannot be recorded, so that Slack gives it again', async () => {
    answer = () => Promise.reject(new Error('the store is away: canary'));
    listen();
    await connected();
    const envelope = interactive(press());
    const isAcknowledged = { lost: false, late: false };
    const ignored = (): undefined => undefined;
    server.sockets.deliver(envelope).then(() => (isAcknowledged.lost = true), ignored);
    await until(() => JSON.stringify(server.calls()).includes('cannot decide at the moment'));
    const held = Promise.withResolvers<AnswerResult>();
    answer = () => held.promise;
    expect(isAcknowledged.lost).toBe(false);
    server.sockets.deliver(envelope).then(() => (isAcknowledged.late = true), ignored);
    await until(() => given.length === 2);
    clock.advance(2_500);
    await until(() => JSON.stringify(server.calls()).includes('longer than usual'));
    await delay(50);
    expect(isAcknowledged.late).toBe(false);
    answer = () => Promise.resolve({ status: 'recorded' });
    await server.sockets.deliver(envelope);
    expect(new Set(given.map(({ commandId }) => commandId)).size).toBe(1);
    held.resolve({ status: 'recorded' });
  });

  it('that comes again, over the same connection or another one, is the same command', async () => {
    listen();
    await connected();
    const envelope = interactive(press());
    await server.sockets.deliver(envelope);
    await server.sockets.deliver(envelope);
    listen();
    await connected(2);
    await server.sockets.deliver(envelope);
    await until(() => given.length === 3);
    expect(new Set(given.map(({ commandId }) => commandId)).size).toBe(1);
    await server.sockets.deliver(interactive(press({ trigger_id: 'trigger-2' })));
    await until(() => given.length === 4);
    expect(new Set(given.map(({ commandId }) => commandId)).size).toBe(2);
  });

  it('with a press on "More…" opens the modal, whose answer goes back with the acknowledgement', async () => {
    listen();
    await connected();
    await server.sockets.deliver(interactive(slackPress('more', tokens.seal({ action: 'm', ...approval }))));
    await until(() => server.calls().length > 0);
    const view = server.calls()[0]?.args['view'] as object;
    const submitted = slackSubmission(view, { decision: 'edit', reason: 'smaller', args: '{"path":"/y"}' });
    expect((await server.sockets.deliver(interactive(submitted))).payload).toEqual({});
    expect(given).toMatchObject([{ decision: { type: 'edit', argumentsText: '{"path":"/y"}' }, reason: 'smaller' }]);
    answer = () => Promise.resolve({ status: 'refused', code: 'invalid-arguments', detail: 'path must be string' });
    const { payload } = await server.sockets.deliver(interactive({ ...submitted, trigger_id: 'trigger-2' } as never));
    expect(payload).toMatchObject({ response_action: 'errors', errors: { arguments: expect.any(String) as string } });
  });

  it('with a modal is acknowledged in time, also when nothing can be recorded', async () => {
    listen();
    await connected();
    const view = { callback_id: 'countersign-answer', private_metadata: tokens.seal({ action: 'a', ...approval }) };
    const hanging = Promise.withResolvers<AnswerResult>();
    answer = () => hanging.promise;
    const late = server.sockets.deliver(interactive(slackSubmission(view, { decision: 'deny' })));
    await until(() => given.length > 0);
    clock.advance(2_500);
    expect(JSON.stringify((await late).payload)).toContain('longer than usual');
    hanging.resolve({ status: 'recorded' });
    answer = () => Promise.reject(new Error('the store is away: canary'));
    const broken = await server.sockets.deliver(interactive(slackSubmission(view, { decision: 'approve' })));
    expect(JSON.stringify(broken.payload)).toContain('cannot decide at the moment');
  });

  it('that is none of ours is acknowledged and decides nothing; what is no envelope at all ends nothing', async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on('unhandledRejection', note);
    listen();
    await connected();
    for (const text of ['null', 'no JSON', '7', '[]', '{"type":"events_api"}', '{}']) server.sockets.say(text);
    for (const [type, payload] of [
      ['slash_commands', { command: '/x' }],
      ['events_api', { event: { type: 'app_mention' } }],
      ['interactive', { type: 'shortcut' }],
    ] as const) {
      await server.sockets.deliver({ ...interactive({ type }), type, payload });
    }
    expect(given).toEqual([]);
    await server.sockets.deliver(interactive(press()));
    await until(() => given.length === 1);
    process.off('unhandledRejection', note);
    expect(unhandled).toEqual([]);
    expect(server.sockets.opened()).toBe(1);
  });
});

describe('the connection', () => {
  it.each(['refresh_requested', 'warning'] as const)(
    'is replaced at once when Slack asks for it (%s)',
    async (reason) => {
      listen();
      await connected();
      clock.advance(60_000);
      server.sockets.refresh(reason);
      await connected(2);
      await until(() => server.sockets.connected() === 1);
      await server.sockets.deliver(interactive(press()));
      await until(() => given.length === 1);
      expect(asked()).toBe(2);
    },
  );

  it('is opened again after it breaks, with growing pauses while it does not last', async () => {
    listen();
    await connected();
    for (const [count, pauseMs] of [1_000, 2_000, 4_000].entries()) {
      server.sockets.drop();
      await pauses(pauseMs);
      expect(server.sockets.opened()).toBe(count + 1);
      clock.advance(pauseMs);
      await connected(count + 2);
    }
    clock.advance(60_000);
    server.sockets.drop();
    await connected(5);
    await server.sockets.deliver(interactive(press()));
    await until(() => given.length === 1);
  });

  it.each([
    ['a refusal', { body: { ok: false, error: 'invalid_auth' } }, 1_000, 'Slack answers invalid_auth'],
    [
      'a request for patience',
      { status: 429, headers: { 'retry-after': '40' } },
      40_000,
      'the rate limit of Slack is reached',
    ],
    ['an error', { status: 500, body: 'canary' }, 1_000, 'Slack answers 500'],
    [
      'a url without a server',
      { body: { ok: true, url: 'ws://127.0.0.1:1/?ticket=1' } },
      1_000,
      'Slack does not respond',
    ],
    ['no url', { body: { ok: true } }, 1_000, 'Slack does not respond'],
  ])('is tried again after %s, and the log says why', async (_what, first, pauseMs, reason) => {
    server.next.push(first);
    listen();
    await pauses(pauseMs);
    expect(log.entries.filter(({ level }) => level === 'warn').map(({ fields }) => fields['reason'])).toEqual([reason]);
    clock.advance(pauseMs);
    await connected();
    expect(asked()).toBe(2);
  });

  it('on which Slack says no hello is given up after 15 s', async () => {
    server.sockets.silent = true;
    listen();
    await until(() => server.sockets.connected() === 1);
    server.sockets.silent = false;
    expect(clock.nextInMs()).toBe(15_000);
    clock.advance(15_000);
    await pauses(1_000);
    clock.advance(1_000);
    await connected();
    expect(server.sockets.opened()).toBe(2);
  });

  it('is asked for with the app token, and the bot token opens none', async () => {
    const wrong = { ...slackSocketConfig, appToken: slackSocketConfig.botToken, apiUrl: server.url };
    const responses = { find: () => Promise.resolve(undefined), answer: () => answer() };
    stops.push(listenToSlack(wrong, { responses, people: () => [], clock, log, publicUrl: null }));
    await pauses(1_000);
    expect(log.entries.at(-1)?.fields['reason']).toBe('Slack answers not_allowed_token_type');
    expect(server.sockets.opened()).toBe(0);
  });

  it('closes when it is stopped, also while it is being requested or waits for hello', async () => {
    const stop = listen();
    await connected();
    await stop();
    await until(() => server.sockets.connected() === 0);
    server.next.push('hang');
    const stopAsking = listen();
    await until(() => asked() === 2);
    await stopAsking();
    server.sockets.silent = true;
    const stopWaiting = listen();
    await until(() => server.sockets.connected() === 1);
    await stopWaiting();
    await until(() => server.sockets.connected() === 0);
    expect(said('the Slack connection failed; retrying')).toBe(0);
  });

  it('ends after what came over it was dealt with', async () => {
    const decided = Promise.withResolvers<AnswerResult>();
    answer = () => decided.promise;
    const stop = listen();
    await connected();
    server.sockets.deliver(interactive(press())).catch(() => undefined);
    await until(() => given.length === 1);
    let isStopped = false;
    const stopping = stop().then(() => (isStopped = true));
    await until(() => server.sockets.connected() === 0);
    expect(isStopped).toBe(false);
    decided.resolve({ status: 'recorded' });
    await stopping;
  });
});
