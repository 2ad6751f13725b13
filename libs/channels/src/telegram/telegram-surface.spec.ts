import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { Bot, webhookCallback } from 'grammy';
import type { AnswerResult, ChannelAnswer } from '../response-port.js';
import type { Surface } from '../surface.js';
import { alice, sampleNotice } from '../testing/notices.js';
import { telegramConfig } from '../testing/opened.js';
import { openTelegramServer } from '../testing/telegram-server.js';
import type { TelegramServer } from '../testing/telegram-server.js';
import { createTelegramTokens } from './telegram-channel.js';
import { pollTelegram } from './telegram-polling.js';
import { createTelegramSurface } from './telegram-surface.js';

const notice = sampleNotice();
const approval = {
  approvalId: notice.approval?.approvalId ?? '',
  shownDigest: notice.approval?.shownDigest ?? '',
};
const tokens = createTelegramTokens({ ...telegramConfig, apiUrl: '' });
const secret = { 'x-telegram-bot-api-secret-token': telegramConfig.webhookSecret.reveal() };

let server: TelegramServer;
let surface: Surface;
let given: ChannelAnswer[];
let result: AnswerResult;
let found = notice;
let log: CollectingLog;
const responses = {
  find: (id: string) => Promise.resolve(id === approval.approvalId ? found : undefined),
  answer: (answer: ChannelAnswer) => {
    given.push(answer);
    return Promise.resolve(result);
  },
};

beforeEach(async () => {
  server = await openTelegramServer(telegramConfig.botToken.reveal());
  [given, result, found] = [[], { status: 'recorded' }, notice];
  const config = { ...telegramConfig, apiUrl: server.url };
  surface = createTelegramSurface(config, {
    responses,
    people: () => [alice],
    clock: createVirtualClock(),
    log: (log = createCollectingLog()),
    publicUrl: null,
  });
});
afterEach(async () => {
  await server.close();
});

const press = (action: 'a' | 'd', change: object = {}) => ({
  update_id: 9,
  callback_query: {
    id: 'query-1',
    from: { id: 4711, is_bot: false, first_name: 'A' },
    chat_instance: '1',
    message: { message_id: 101, date: 1, chat: { id: -100123, type: 'group', title: 'ops' } },
    data: tokens.seal({ action, ...approval }),
    ...change,
  },
});
const receive = async (update: object, headers: object = secret) => {
  const response = await surface.receive({ body: Buffer.from(JSON.stringify(update)), headers: { ...headers } });
  await response.done;
  return response;
};
const methods = (): readonly string[] => server.calls().map(({ method }) => method);

it('decides in the name of the person, and always answers the press', async () => {
  expect((await receive(press('d'))).status).toBe(200);
  expect(given).toMatchObject([
    {
      approvalId: approval.approvalId,
      person: { id: 'alice' },
      credential: 'telegram:4711',
      decision: { type: 'deny' },
      reason: 'Rejected by user via Telegram',
    },
  ]);
  expect(methods()).toEqual(['answerCallbackQuery']);
});

it('acknowledges a press only once it is recorded, and asks for it again where that takes too long', async () => {
  const clock = createVirtualClock();
  let record: () => void = () => undefined;
  const recorded = new Promise<void>((resolve) => (record = resolve));
  const answer = async (): Promise<AnswerResult> => recorded.then(() => result);
  const ports = { people: () => [alice], clock, log, publicUrl: null };
  const slow = createTelegramSurface(
    { ...telegramConfig, apiUrl: server.url },
    { ...ports, responses: { ...responses, answer } },
  );
  const send = () => slow.receive({ body: Buffer.from(JSON.stringify(press('d'))), headers: secret });
  const first = send();
  await clock.advanceAsync(10_000);
  expect((await first).status).toBe(503);
  const again = send();
  record();
  const { status, done } = await again;
  expect(status).toBe(200);
  await Promise.all([done, (await first).done]);
});

it('keeps tokens within 64 bytes, also in late rounds', () => {
  const late = tokens.seal({ action: 'a', ...approval, approvalId: approval.approvalId.replace(/_1$/, '_99999') });
  expect(Buffer.byteLength(late)).toBeLessThanOrEqual(64);
  expect(tokens.open(late)?.approvalId).toMatch(/_99999$/);
});

it.each([
  ['no secret', {}],
  ['a wrong one', { 'x-telegram-bot-api-secret-token': 'wrong' }],
])("refuses an update with %s, as grammY's own parser does", async (_name, headers) => {
  const bot = new Bot(telegramConfig.botToken.reveal(), {
    botInfo: { id: 1, is_bot: true, first_name: 'b', username: 'b' } as never,
  });
  const oracle = webhookCallback(bot, 'std/http', { secretToken: telegramConfig.webhookSecret.reveal() });
  const request = new Request('http://localhost/', {
    method: 'POST',
    headers: { ...headers },
    body: JSON.stringify(press('a')),
  });
  expect((await oracle(request)).status).toBe(401);
  expect((await receive(press('a'), headers)).status).toBe(401);
  expect(given).toEqual([]);
});

it.each(['', 'undefined', 'wrong'])('takes no post at all without a secret of its own: %j', async (given) => {
  const config = { ...telegramConfig, webhookSecret: undefined, apiUrl: server.url };
  const open = createTelegramSurface(config, {
    responses,
    people: () => [alice],
    clock: createVirtualClock(),
    log: createCollectingLog(),
    publicUrl: null,
  });
  const headers = { 'x-telegram-bot-api-secret-token': given };
  expect((await open.receive({ body: Buffer.from(JSON.stringify(press('a'))), headers })).status).toBe(401);
});

it.each([
  ['an unknown user', { from: { id: 1, is_bot: false, first_name: 'Alice' } }, /^You are not known here/],
  [
    'a press in another chat',
    { message: { message_id: 1, date: 1, chat: { id: 5, type: 'private', first_name: 'x' } } },
    /^Requests are not answered in this chat/,
  ],
  [
    'a forged token',
    { data: tokens.seal({ action: 'a', ...approval }).replace(/^a/, 'd') },
    /or its button is damaged/,
  ],
  ['a token of long ago', { data: 'approve|reject:1:2' }, /^This approval request has expired/],
  [
    'arguments that were changed since',
    { data: tokens.seal({ action: 'a', ...approval, shownDigest: `sha256:${'ef'.repeat(32)}` }) },
    /changed/,
  ],
])('decides nothing for %s, and says so', async (_name, change, words) => {
  expect((await receive(press('a', change))).status).toBe(200);
  expect(given).toEqual([]);
  expect(methods()[0]).toBe('answerCallbackQuery');
  expect(server.calls()[0]?.args['text']).toMatch(words);
});

it('denies what is proposed though others have told the agent something since, and approves nothing then', async () => {
  const digest = `sha256:${'ef'.repeat(32)}`;
  found = sampleNotice({ approval: { shownDigest: digest } });
  await receive(press('a'));
  expect(given).toEqual([]);
  await receive(press('d'));
  expect(given).toMatchObject([{ decision: { type: 'deny' }, shownDigest: digest }]);
  const { proposal } = notice.approval!;
  found = sampleNotice({ approval: { shownDigest: digest, proposal: { ...proposal, number: 2, digest } } });
  await receive(press('d'));
  expect(given).toHaveLength(1);
});

const keyboardOf = (text: string, data: string) => ({
  ...{ message_id: 101, date: 1, chat: { id: -100123, type: 'group', title: 'ops' } },
  reply_markup: { inline_keyboard: [[{ text, callback_data: data }]] },
});

it.each([
  ['✅ Approve', 'd'],
  ['❌ Deny', 'a'],
  ['Continue', 'a'],
] as const)(
  'decides nothing for a button "%s" that carries the token %s of another, and says so',
  async (text, action) => {
    const data = tokens.seal({ action, ...approval });
    await receive(press('a', { data, message: keyboardOf(text, data) }));
    expect(given).toEqual([]);
    expect(methods()).toEqual(['answerCallbackQuery', 'editMessageText']);
    expect(server.calls()[0]?.args).toMatchObject({
      text: 'This button and its value disagree. Nothing was decided: look again.',
      show_alert: true,
    });
  },
);

it('decides nothing where two buttons carry one value, because Telegram does not say which was pressed', async () => {
  const data = tokens.seal({ action: 'a', ...approval });
  const message = keyboardOf('✅ Approve', data);
  message.reply_markup.inline_keyboard[0]?.push({ text: '❌ Deny', callback_data: data });
  await receive(press('a', { data, message }));
  expect(given).toEqual([]);
  expect(server.calls()[0]?.args['text']).toContain('Nothing was decided');
});

it.each(['m', 'o'] as const)('decides nothing for a token of ours that is for no button here: %s', async (action) => {
  await receive(press('a', { data: tokens.seal({ action, ...approval }) }));
  expect(given).toEqual([]);
  expect(server.calls()[0]?.args['text']).toContain('Nothing was decided');
});

it('decides for a button whose text and token agree', async () => {
  const data = tokens.seal({ action: 'd', ...approval });
  await receive(press('d', { data, message: keyboardOf('❌ Deny', data) }));
  expect(given).toMatchObject([{ decision: { type: 'deny' } }]);
});

describe('a press in the supergroup that the chat of the file became', () => {
  const inSupergroup = (id: number) => ({
    message: { message_id: 1, date: 1, chat: { id, type: 'supergroup', title: 'ops' } },
  });
  const movedTo = (id: number) => ({
    status: 400,
    body: {
      ok: false,
      error_code: 400,
      description: 'Bad Request: group chat was upgraded to a supergroup chat',
      parameters: { migrate_to_chat_id: id },
    },
  });

  it('decides', async () => {
    server.next.push(movedTo(-1001234567890));
    await receive(press('a', inSupergroup(-1001234567890)));
    expect(given).toMatchObject([{ decision: { type: 'approve' } }]);
  });

  it('decides nothing where Telegram names another one, or says that the chat is still there', async () => {
    server.next.push(movedTo(-1009999999999));
    await receive(press('a', inSupergroup(-1001234567890)));
    server.next.push({ body: { ok: true, result: true } });
    await receive(press('a', inSupergroup(-1001234567890)));
    expect(given).toEqual([]);
    expect(methods().filter((method) => method === 'answerCallbackQuery')).toHaveLength(2);
  });
});

it('tells a late press who was first, and takes the buttons away', async () => {
  result = {
    status: 'refused',
    code: 'already-resolved',
    detail: '',
    winner: { respondedBy: 'bob', respondedAt: '2026-11-22T10:00:00.000Z', via: 'ops-slack', resolution: 'approved' },
  };
  await receive(press('a'));
  expect(server.calls()[0]?.args['text']).toContain('Already approved by bob via ops-slack');
  expect(methods()).toEqual(['answerCallbackQuery', 'editMessageText']);
});

it('takes the buttons away also when the press is too old to be answered, and logs the words of Telegram', async () => {
  result = { status: 'refused', code: 'expired', detail: '' };
  const no = (description: string) => ({ status: 400, body: { ok: false, error_code: 400, description } });
  server.next.push(no('Bad Request: query is too old and response timeout expired or query ID is invalid'));
  await receive(press('a'));
  expect(methods()).toEqual(['answerCallbackQuery', 'editMessageText']);
  const reason = expect.stringContaining('query is too old') as unknown;
  expect(log.entries).toMatchObject([{ level: 'warn', fields: { channelId: 'ops-telegram', reason } }]);
});

it('logs nothing when the message shows already what is true', async () => {
  result = { status: 'refused', code: 'expired', detail: '' };
  const description = 'Bad Request: message is not modified';
  server.next.push(
    { body: { ok: true, result: true } },
    { status: 400, body: { ok: false, error_code: 400, description } },
  );
  await receive(press('a'));
  expect(methods()).toEqual(['answerCallbackQuery', 'editMessageText']);
  expect(log.entries).toEqual([]);
});

it('answers the press even when nothing can be decided', async () => {
  responses.answer = () => Promise.reject(new Error('down'));
  await receive(press('a'));
  expect(methods()).toEqual(['answerCallbackQuery']);
  responses.answer = (answer) => {
    given.push(answer);
    return Promise.resolve(result);
  };
});

it('fetches updates where none can be sent, each once, and asks no server without end that does not wait for them', async () => {
  server.updates.push(press('a'));
  const clock = createVirtualClock();
  const log = createCollectingLog();
  const stop = pollTelegram(
    { ...telegramConfig, apiUrl: server.url },
    { responses, people: () => [alice], log, clock, publicUrl: null },
  );
  for (let asked = 2; asked <= 3; asked += 1) {
    while (clock.nextInMs() === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(clock.nextInMs()).toBe(1_000);
    expect(server.calls().filter(({ method }) => method === 'getUpdates')).toHaveLength(asked);
    clock.advance(1_000);
  }
  await stop();
  expect(given).toHaveLength(1);
});

it.each([
  ['an error without words', { ok: false, error_code: 409 }],
  ['no result', { ok: true }],
  ['null', null],
  ['an update without a number', { ok: true, result: [{}] }],
])('goes on to fetch, with a pause, after a response of another form: %s', async (_, body) => {
  server.next.push({ body }, { body });
  server.updates.push(press('a'));
  const clock = createVirtualClock();
  const stop = pollTelegram(
    { ...telegramConfig, apiUrl: server.url },
    { responses, people: () => [alice], log: createCollectingLog(), clock, publicUrl: null },
  );
  for (let asked = 1; asked <= 2; asked += 1) {
    while (clock.nextInMs() === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(clock.nextInMs()).toBeLessThanOrEqual(2_000);
    expect(server.calls().filter(({ method }) => method === 'getUpdates')).toHaveLength(asked);
    clock.advance(2_000);
  }
  while (given.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await stop();
});

it('stands by while another process fetches, and goes on when that one is gone', async () => {
  const conflict = { ok: false, error_code: 409, description: 'Conflict: terminated by other getUpdates request' };
  server.next.push({ status: 409, body: conflict }, { status: 409, body: conflict });
  server.updates.push(press('a'));
  const clock = createVirtualClock();
  const asked = (): number => server.calls().filter(({ method }) => method === 'getUpdates').length;
  const log = createCollectingLog();
  const stop = pollTelegram(
    { ...telegramConfig, apiUrl: server.url },
    { responses, people: () => [alice], log, clock, publicUrl: null },
  );
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  };
  for (let n = 1; n <= 2; n += 1) {
    await until(() => clock.nextInMs() !== undefined);
    expect(clock.nextInMs()).toBe(30_000);
    expect(asked()).toBe(n);
    clock.advance(30_000);
  }
  await until(() => given.length > 0);
  await stop();
  expect(given).toHaveLength(1);
  expect(JSON.stringify(log.entries)).not.toContain(telegramConfig.botToken.reveal());
});

it.each([
  [401, 'Unauthorized', {}, 1_000],
  [409, "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first", {}, 1_000],
  [429, 'Too Many Requests: retry after 7', { retry_after: 7 }, 7_000],
])(
  'says in the words of Telegram why no updates are fetched: %i %s',
  async (status, description, parameters, pauseMs) => {
    server.next.push({ status, body: { ok: false, error_code: status, description, parameters } });
    const clock = createVirtualClock();
    const log = createCollectingLog();
    const stop = pollTelegram(
      { ...telegramConfig, apiUrl: server.url },
      { responses, people: () => [alice], log, clock, publicUrl: null },
    );
    while (clock.nextInMs() === undefined) await new Promise((resolve) => setImmediate(resolve));
    expect(clock.nextInMs()).toBe(pauseMs);
    await stop();
    expect(JSON.stringify(log.entries)).toContain(`Telegram answers ${String(status)}: ${description}`);
    expect(JSON.stringify(log.entries)).not.toContain(telegramConfig.botToken.reveal());
  },
);
