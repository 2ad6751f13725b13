import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Secret, systemClock } from '@countersign/runtime';
import type { MailStep } from './answers/mail-answers.js';
import type { Channel, Notice, SendResult } from './channel.js';
import { createEmailChannel } from './email/email-channel.js';
import { createSlackChannel } from './slack/slack-channel.js';
import { createTeamsChannel } from './teams/teams-channel.js';
import { createTelegramChannel } from './telegram/telegram-channel.js';
import { sampleNotice } from './testing/notices.js';
import {
  mailConfigOf,
  openMailServer,
  publicUrl,
  slackConfig,
  teamsBot,
  teamsConfig,
  telegramConfig,
  webhookSecret,
} from './testing/opened.js';
import { openScriptedMailServer } from './testing/scripted-mail-server.js';
import type { ScriptedMailServer } from './testing/scripted-mail-server.js';
import { openSlackServer } from './testing/slack-server.js';
import type { SlackServer } from './testing/slack-server.js';
import { openTeamsServer } from './testing/teams-server.js';
import type { TeamsServer } from './testing/teams-server.js';
import { openTelegramServer } from './testing/telegram-server.js';
import type { TelegramServer } from './testing/telegram-server.js';
import { openVendorServer } from './testing/vendor-server.js';
import type { VendorServer } from './testing/vendor-server.js';
import { createWebhookChannel } from './webhook/webhook-channel.js';

/** What vendors really answer, and what it means. */
interface Case {
  readonly channel: 'telegram' | 'slack' | 'teams' | 'email' | 'webhook';
  readonly at?: string;
  readonly status?: number;
  readonly description?: string;
  readonly parameters?: object;
  readonly error?: string;
  readonly more?: object;
  readonly reply?: string;
  readonly retryAfter?: number;
  readonly afterMs?: number;
  readonly means: 'done' | 'message' | 'recipient' | 'channel' | 'retry' | 'follow' | 'off';
  /** What the words must have besides the vendor's own. */
  readonly says?: string;
}

const cases = JSON.parse(
  readFileSync(join(import.meta.dirname, 'testing', 'vendor-answers.json'), 'utf8'),
) as readonly Case[];
const of = (channel: Case['channel']): readonly Case[] =>
  cases.filter((one) => one.channel === channel && one.means !== 'follow');

const { signal } = new AbortController();
const recipient = { id: 'me', email: 'me@example.com', groups: [] };

let slack: SlackServer;
let teams: TeamsServer;
let telegram: TelegramServer;
let mail: ScriptedMailServer;
let hook: VendorServer;
beforeAll(async () => {
  slack = await openSlackServer(slackConfig.botToken.reveal());
  teams = await openTeamsServer(teamsBot);
  telegram = await openTelegramServer(telegramConfig.botToken.reveal());
  mail = await openScriptedMailServer();
  hook = await openVendorServer(() => ({ status: 204 }));
});
afterAll(async () => {
  await Promise.all([slack, teams, telegram, mail, hook].map((server) => server.close()));
});

/** What must become of the message, and what the operator must read. */
function expectResult(result: SendResult | undefined, { means, retryAfter, afterMs, says }: Case, words: string): void {
  const status = { done: 'delivered', message: 'refused', recipient: 'refused', off: 'off' }[means as 'done'];
  expect(result).toMatchObject({ status: (status as string | undefined) ?? 'failed' });
  if (result === undefined || result.status === 'delivered') return;
  expect(result.reason).toContain(words);
  if (says !== undefined) expect(result.reason).toContain(says);
  expect(result.reason).not.toMatch(/canary|me@example\.com/);
  const asked = afterMs ?? (retryAfter === undefined ? undefined : retryAfter * 1000);
  if (asked !== undefined) expect(result).toMatchObject({ retryAfterMs: asked });
}

const changed = (channel: Channel, ref: string): Promise<SendResult> | undefined =>
  channel.update?.(ref, sampleNotice(), { signal });

it.each(of('telegram'))('Telegram at $at: $status $description means $means', async (one) => {
  const { at, status = 400, description = '', parameters } = one;
  const channel = createTelegramChannel({ ...telegramConfig, apiUrl: telegram.url }, { publicUrl });
  telegram.next.push({ status, body: { ok: false, error_code: status, description, parameters } });
  const result = at === 'editMessageText' ? await changed(channel, '-100123:101') : await send(channel);
  expectResult(result, one, description);
});

it.each(of('slack'))('Slack at $at: $error means $means', async (one) => {
  const { at, status, error = '', more, retryAfter } = one;
  const channel = createSlackChannel({ ...slackConfig, apiUrl: slack.url }, { publicUrl });
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  slack.next.push({ status: status ?? 200, headers, body: { ok: false, error, ...more } });
  const result = at === 'chat.update' ? await changed(channel, 'C0123:1700000000.000001') : await send(channel);
  expectResult(result, one, status === 429 ? 'the rate limit' : error);
});

it.each(of('teams'))('Teams at $at: $status $error means $means', async (one) => {
  const { at, status, error, retryAfter } = one;
  const config = { ...teamsConfig, ...teams.urls };
  const channel = createTeamsChannel(config, { clock: systemClock, publicUrl });
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  const body = at === 'token' ? { error, error_description: 'canary-client-secret' } : { error: { code: error } };
  // A channel asks for a token first.
  if (at !== 'token') expect(await send(channel)).toMatchObject({ status: 'delivered' });
  teams.next.push({ ...(status === undefined ? {} : { status }), headers, body });
  const result = at === 'change' ? await changed(channel, `${config.conversation}|1700000000000`) : await send(channel);
  expectResult(result, one, error ?? String(status));
  // A token that was refused is not used again.
  expect(await send(channel)).toMatchObject({ status: 'delivered' });
});

it('a copy in a conversation of before that cannot be changed says nothing about that of today', async () => {
  const channel = createTeamsChannel({ ...teamsConfig, ...teams.urls }, { clock: systemClock, publicUrl });
  expect(await send(channel)).toMatchObject({ status: 'delivered' });
  teams.next.push({ status: 403, body: { error: { code: 'BotNotInConversationRoster' } } });
  expect(await changed(channel, '19:before@thread.v2|1')).toMatchObject({ status: 'refused', about: 'message' });
});

it.each(of('email'))('a mail server at $at: $reply means $means', async (one) => {
  const { at, reply = '' } = one;
  const isRefused = reply === 'refused';
  mail.script = isRefused ? undefined : { at: at as MailStep, reply };
  const before = mail.taken();
  const url = isRefused ? 'smtp://127.0.0.1:1' : mail.url;
  const result = await send(createEmailChannel(mailConfigOf(url), { publicUrl }), { recipient });
  const words = reply.replaceAll(/\s+/g, ' ').replaceAll('me@example.com', '[hidden]');
  expectResult(result, one.means === 'message' ? { ...one, means: 'recipient' } : one, isRefused ? 'REFUSED' : words);
  if (result.status === 'refused' && at === 'RCPT') expect(result.about).toBe('recipient');
  expect(mail.taken()).toBe(before);
});

it.each(of('webhook'))('a webhook that answers $status means $means', async (one) => {
  const { status = 0, retryAfter } = one;
  const headers = retryAfter === undefined ? {} : { 'retry-after': String(retryAfter) };
  hook.next.push({ status, headers: { ...headers, location: `${hook.url}/elsewhere` } });
  const before = hook.received.length;
  const secret = new Secret(webhookSecret);
  const config = { id: 'pager', type: 'webhook', url: hook.url, secret, allowPrivateNetwork: true } as const;
  const result = await send(createWebhookChannel(config, { clock: systemClock, publicUrl }));
  expectResult(result, one, String(status));
  expect(hook.received.length).toBe(before + 1);
});

function send(channel: Channel, notice: Partial<Notice> = {}): Promise<SendResult> {
  return channel.send([sampleNotice({ notice })], { signal });
}

describe('a Telegram group that became a supergroup', () => {
  const description = 'Bad Request: group chat was upgraded to a supergroup chat';
  const parameters = { migrate_to_chat_id: -1001234567890 };
  const moved = { status: 400, body: { ok: false, error_code: 400, description, parameters } };
  const sentTo = (from: number): readonly unknown[] =>
    telegram
      .calls()
      .slice(from)
      .map(({ args }) => args['chat_id']);

  it('gets the message and the later ones at its new id, and the operator is told to write it down', async () => {
    const channel = createTelegramChannel({ ...telegramConfig, apiUrl: telegram.url }, { publicUrl });
    const from = telegram.calls().length;
    telegram.next.push(moved);
    const note = expect.stringContaining('"-1001234567890"') as string;
    expect(await send(channel)).toMatchObject({ status: 'delivered', note });
    expect(await send(channel)).toMatchObject({ status: 'delivered', note });
    expect(sentTo(from)).toEqual(['-100123', '-1001234567890', '-1001234567890']);
    telegram.next.push({ status: 403, body: { ok: false, error_code: 403, description: 'Forbidden: bot was kicked' } });
    expect(await send(channel)).toMatchObject({ status: 'failed', reason: note });
  });

  it('gets no reply to a message that has the number of a card of before, and no card of before is changed there', async () => {
    const channel = createTelegramChannel({ ...telegramConfig, apiUrl: telegram.url }, { publicUrl });
    const from = telegram.calls().length;
    telegram.next.push(moved);
    await channel.send([sampleNotice()], { signal, inReplyTo: '-100123:7' });
    const replies = telegram
      .calls()
      .slice(from)
      .map(({ args }) => args['reply_parameters']);
    expect(replies).toEqual([expect.objectContaining({ message_id: 7 }), undefined]);
    telegram.next.push(moved);
    expect(await changed(channel, '-100123:7')).toMatchObject({ status: 'refused', about: 'message' });
    expect(sentTo(from)).toEqual(['-100123', '-1001234567890', '-100123']);
  });
});

it('a copy in an earlier chat that cannot be changed says nothing about the chat of today', async () => {
  const inTelegram = createTelegramChannel({ ...telegramConfig, apiUrl: telegram.url }, { publicUrl });
  const kicked = { status: 403, body: { ok: false, error_code: 403, description: 'Forbidden: bot was kicked' } };
  telegram.next.push(kicked);
  expect(await changed(inTelegram, '-100999:7')).toMatchObject({ status: 'refused', about: 'message' });
  telegram.next.push({ status: 401, body: { ok: false, error_code: 401, description: 'Unauthorized' } });
  expect(await changed(inTelegram, '-100999:7')).toMatchObject({ status: 'failed' });
  const inSlack = createSlackChannel({ ...slackConfig, apiUrl: slack.url }, { publicUrl });
  slack.next.push({ body: { ok: false, error: 'channel_not_found' } });
  expect(await changed(inSlack, 'C0999:1.2')).toMatchObject({ status: 'refused', about: 'message' });
});

it('repeats no word of an answer that is no code of Slack: it may contain what was sent', async () => {
  slack.next.push({ body: { ok: false, error: '<canary>' } });
  const channel = createSlackChannel({ ...slackConfig, apiUrl: slack.url }, { publicUrl });
  expect(await send(channel)).toEqual({
    status: 'failed',
    reason: 'Slack answers in another form than its API: check apiUrl',
  });
});

describe('a server in front of the vendor', () => {
  const opened = (at: string): Readonly<Record<'Slack' | 'Telegram', Channel>> => ({
    Slack: createSlackChannel({ ...slackConfig, apiUrl: at }, { publicUrl }),
    Telegram: createTelegramChannel({ ...telegramConfig, apiUrl: at }, { publicUrl }),
  });

  it.each(['Slack', 'Telegram'] as const)('that cannot be found is named by its code: %s', async (vendor) => {
    const away = await openVendorServer(() => ({}));
    await away.close();
    const result = await send(opened(away.url)[vendor]);
    expect(result).toEqual({ status: 'failed', reason: `${vendor} does not respond (ECONNREFUSED)` });
  });

  it.each([
    ['Slack', { ok: false }],
    ['Telegram', { ok: false }],
    ['Telegram', { ok: false, error_code: 400, description: { text: 'no' } }],
    ['Telegram', { ok: false, error_code: '400', description: 'no' }],
  ] as const)('that answers in another form than %s makes the channel fail: %j', async (vendor, body) => {
    hook.next.push({ status: 200, body });
    const result = await send(opened(hook.url)[vendor]);
    expect(result).toEqual({
      status: 'failed',
      reason: `${vendor} answers in another form than its API: check apiUrl`,
    });
  });

  it('that limits without a time is a limit of Slack, and one that names a time is not asked earlier', async () => {
    hook.next.push({ status: 429 });
    expect(await send(opened(hook.url).Slack)).toEqual({
      status: 'failed',
      reason: 'the rate limit of Slack is reached',
    });
    hook.next.push({ status: 503, headers: { 'retry-after': '7' } });
    expect(await send(opened(hook.url).Slack)).toMatchObject({ status: 'failed', retryAfterMs: 7000 });
  });

  it('that says yes without the time of the message leaves nothing to change later', async () => {
    hook.next.push({ body: { ok: true } });
    expect(await send(opened(hook.url).Slack)).toEqual({ status: 'delivered', messageRef: null });
  });
});

it('a change in Telegram that was made already, by a try whose answer was lost, is made', async () => {
  const description = 'Bad Request: message is not modified: specified new message content is exactly the same';
  telegram.next.push({ status: 400, body: { ok: false, error_code: 400, description } });
  const channel = createTelegramChannel({ ...telegramConfig, apiUrl: telegram.url }, { publicUrl });
  const messageRef = '-100123:101';
  expect(await changed(channel, messageRef)).toEqual({ status: 'delivered', messageRef });
});

it.each(['canary-password', btoa('canary-password'), btoa('\0c\0canary-password')])(
  'a mail server that repeats the password as %j does not bring it into the log',
  async (password) => {
    mail.script = { at: 'AUTH', reply: `535 5.7.8 ${password} is wrong` };
    const result = await send(createEmailChannel(mailConfigOf(mail.url), { publicUrl }), { recipient });
    expect(result).toMatchObject({ status: 'failed', reason: expect.stringContaining('[hidden] is wrong') as string });
  },
);

it('a server that repeats the address of a bot, as it is or encoded, does not bring its token into the log', async () => {
  const token = telegramConfig.botToken.reveal();
  const description = `Not Found: /bot${token}/sendMessage and /bot${encodeURIComponent(token)}/sendMessage`;
  telegram.next.push({ status: 404, body: { ok: false, error_code: 404, description } });
  const result = await send(createTelegramChannel({ ...telegramConfig, apiUrl: telegram.url }, { publicUrl }));
  const reason = 'Telegram answers 404: Not Found: /bot[hidden]/sendMessage and /bot[hidden]/sendMessage';
  expect(result).toMatchObject({ status: 'failed', reason });
});

it('a recipient who cannot be reached now does not hold up the others', async () => {
  mail.script = { at: 'RCPT', reply: '450 4.2.0 Greylisted' };
  const channel = createEmailChannel(mailConfigOf(mail.url), { publicUrl });
  expect(await send(channel, { recipient })).toMatchObject({ status: 'failed', about: 'recipient' });
  mail.script = { at: 'MAIL', reply: '450 4.2.0 Greylisted' };
  expect(await send(channel, { recipient })).not.toHaveProperty('about');
});

it('a mail that comes twice has the same id, so that a mail program shows it once', async () => {
  const server = await openMailServer();
  const channel = createEmailChannel(mailConfigOf(server.url), { publicUrl: null });
  for (const messageId of ['id-of-call-1', 'id-of-call-1', 'id-of-call-2'])
    await send(channel, { messageId, recipient });
  const mails = await server.mails();
  await server.close();
  expect(mails.map(({ messageId }) => messageId)).toEqual([
    '<id-of-call-1@countersign>',
    '<id-of-call-1@countersign>',
    '<id-of-call-2@countersign>',
  ]);
});
