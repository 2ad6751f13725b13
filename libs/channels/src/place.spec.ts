import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { ChannelAnswer } from './response-port.js';
import type { Channel, Notice } from './channel.js';
import { locate } from './place.js';
import { createSlackChannel, createSlackTokens } from './slack/slack-channel.js';
import { createSlackInteractions } from './slack/slack-interactions.js';
import { createTelegramChannel, createTelegramTokens } from './telegram/telegram-channel.js';
import { createTelegramUpdates } from './telegram/telegram-surface.js';
import { alice, sampleNotice } from './testing/notices.js';
import { slackConfig, telegramConfig } from './testing/opened.js';
import { slackPress } from './testing/slack-payloads.js';
import { openSlackServer } from './testing/slack-server.js';
import type { SlackServer } from './testing/slack-server.js';
import { openTelegramServer } from './testing/telegram-server.js';
import type { TelegramServer } from './testing/telegram-server.js';

const options = { signal: new AbortController().signal };
const labelled = (labels: Readonly<Record<string, string>>, more: Partial<Notice> = {}): Notice => ({
  ...sampleNotice({ approval: { labels } }),
  ...more,
});
/** Lets time pass until the work is done. */
async function untilDone(clock: ReturnType<typeof createVirtualClock>, work: Promise<void>): Promise<void> {
  const ended: true[] = [];
  void work.finally(() => ended.push(true));
  while (ended.length === 0) {
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(200);
  }
  await work;
}

const chat = { label: 'telegramChat', allow: ['-1001', '-1002'] };

describe('the place that a label names', () => {
  it.each<[string, unknown]>([
    ['another chat', '-1003'],
    ['a longer id', '-10011'],
    ['an id with a blank', ' -1001'],
    ['several ids', '-1001,-1002'],
    ['an empty text', ''],
    ['a huge text', '-1001'.repeat(100_000)],
    ['a list', ['-1001']],
    ['a number', -1001],
    ['an object that reads like an id', { toString: () => '-1001' }],
  ])('is none of the operator: %s', (_, value) => {
    const located = locate(chat, labelled({ telegramChat: value as string }));
    expect(located).toEqual({ status: 'nowhere', reason: expect.stringContaining('"telegramChat"') as unknown });
    // The label may be erased later, and the reason is recorded.
    expect(JSON.stringify(located)).not.toContain('100');
  });

  it('is not one that every object has', () => {
    for (const label of ['constructor', '__proto__', 'toString']) {
      expect(locate({ label, allow: ['-1001'] }, labelled({})).status).toBe('nowhere');
    }
  });

  it('is that of the call, also for a message without an approval', () => {
    const notice = { ...labelled({}), approval: null, labels: { telegramChat: '-1002' } };
    expect(locate(chat, notice)).toEqual({ status: 'known', place: '-1002' });
  });
});

describe('Telegram', () => {
  let server: TelegramServer;
  let channel: Channel;
  const config = () => ({ ...telegramConfig, chat, apiUrl: server.url });
  beforeEach(async () => {
    server = await openTelegramServer(telegramConfig.botToken.reveal());
    channel = createTelegramChannel(config(), { publicUrl: null });
  });
  afterEach(() => server.close());

  it('sends a card to the chat that the label names, and to no other chat', async () => {
    expect(await channel.send([labelled({ telegramChat: '-1002' })], options)).toMatchObject({
      ...{ status: 'delivered', messageRef: '-1002:101' },
    });
    for (const labels of [{}, { telegramChat: '-1009' }]) {
      expect(await channel.send([labelled(labels)], options)).toMatchObject({ status: 'refused', about: 'message' });
    }
    expect(server.calls().map(({ args }) => args['chat_id'])).toEqual(['-1002']);
  });

  it('holds up no other chat where one cannot be written to, and follows none to a supergroup', async () => {
    const answers = [
      { status: 400, body: { ok: false, error_code: 400, description: 'Bad Request: chat not found' } },
      {
        status: 400,
        body: {
          ...{ ok: false, error_code: 400, description: 'Bad Request: group chat was upgraded to a supergroup chat' },
          parameters: { migrate_to_chat_id: -1009 },
        },
      },
    ];
    server.next.push(...answers);
    for (const _ of answers) {
      const result = await channel.send([labelled({ telegramChat: '-1001' })], options);
      expect(result).toMatchObject({ status: 'failed', about: 'recipient' });
    }
    expect(server.calls().map(({ args }) => args['chat_id'])).toEqual(['-1001', '-1001']);
  });

  it('changes a card where it is, and shows nothing more in a chat that is no longer allowed', async () => {
    const shown = labelled({ telegramChat: '-1001' });
    expect(await channel.update?.('-1002:7', shown, options)).toMatchObject({ status: 'delivered' });
    expect(await channel.update?.('-1009:8', shown, options)).toMatchObject({ status: 'delivered' });
    const [kept, closed] = server.calls().map(({ args }) => args);
    expect(kept).toMatchObject({ chat_id: '-1002', text: expect.stringContaining('delete_file') as unknown });
    expect(closed).toMatchObject({ chat_id: '-1009', text: 'This request is no longer shown here.' });
    expect(JSON.stringify(closed)).not.toContain('callback_data');
  });

  describe('a press', () => {
    const notice = labelled({ telegramChat: '-1001' });
    const { approvalId = '', shownDigest = '' } = notice.approval ?? {};
    let given: ChannelAnswer[];
    let sent: string[];
    const press = async (chatId: number | undefined, messageId = 101, decides = { ...config() }): Promise<string> => {
      given = [];
      const clock = createVirtualClock();
      const updates = createTelegramUpdates(decides, {
        ...{ people: () => [alice], clock, log: createCollectingLog(), publicUrl: null },
        responses: {
          find: async () => notice,
          copies: async (id, channelId) => (id === approvalId && channelId === 'ops-telegram' ? sent : []),
          answer: async (answer) => {
            given.push(answer);
            return { status: 'recorded' };
          },
        },
      });
      const data = createTelegramTokens(config()).seal({ action: 'a', approvalId, shownDigest });
      const message = { message_id: messageId, date: 1, chat: { id: chatId, type: 'group', title: 'x' } };
      const query = { id: 'q', from: { id: 4711, is_bot: false, first_name: 'A' }, data, chat_instance: '1' };
      const callback = { ...query, ...(chatId !== undefined && { message }) };
      await untilDone(clock, updates.take({ update_id: 9, callback_query: callback }));
      return String(server.calls().findLast(({ method }) => method === 'answerCallbackQuery')?.args['text']);
    };
    beforeEach(() => (sent = ['-1001:101']));

    it('counts on the card that was sent for its approval', async () => {
      expect(await press(-1001)).toBe('Approved.');
      expect(given).toMatchObject([{ approvalId, person: { id: 'alice' } }]);
    });

    it.each<[string, number | undefined, number]>([
      ['in another chat of the file', -1002, 101],
      ['in a chat that the file does not list', -1009, 101],
      ['on another message of the chat', -1001, 102],
      ['without a message', undefined, 101],
    ])('decides nothing %s, and shows nothing there', async (_, chatId, messageId) => {
      await press(chatId, messageId);
      expect(given).toEqual([]);
      expect(server.calls().filter(({ method }) => method.startsWith('edit'))).toEqual([]);
    });

    it('decides nothing once the file no longer lists the chat', async () => {
      const without = { ...config(), chat: { ...chat, allow: ['-1002'] } };
      await press(-1001, 101, without);
      expect(given).toEqual([]);
    });

    it('waits for the record of a card that was sent a moment ago', async () => {
      sent = [];
      const pressed = press(-1001);
      await new Promise((resolve) => setImmediate(resolve));
      sent.push('-1001:101');
      expect(await pressed).toBe('Approved.');
    });
  });
});

describe('Slack', () => {
  let server: SlackServer;
  const config = () => ({
    ...{ ...slackConfig, apiUrl: server.url, thread: { label: 'slackThread' } },
    channel: { label: 'slackChannel', allow: ['C0123', 'C0456'] },
  });
  beforeEach(async () => (server = await openSlackServer(slackConfig.botToken.reveal())));
  afterEach(() => server.close());
  const posted = () => server.calls().map(({ args }) => [args['channel'], args['thread_ts']]);

  it('sends a card to the channel and the thread that the labels name, and to no other', async () => {
    const channel = createSlackChannel(config(), { publicUrl: null });
    const send = (labels: Readonly<Record<string, string>>, more = {}) =>
      channel.send([labelled(labels)], { ...options, ...more });
    const there = { slackChannel: 'C0456', slackThread: '1700000000.000100' };
    await send(there);
    await send({ slackChannel: 'C0123' });
    // The outcome of a card in a thread stays in that thread.
    await send(there, { inReplyTo: 'C0456:1700000001.000200' });
    const refused = [
      await send({}),
      await send({ slackChannel: 'C9999' }),
      await send({ ...there, slackThread: 'C0123' }),
      await send({ ...there, slackThread: '' }),
    ];
    expect(refused.map(({ status }) => status)).toEqual(refused.map(() => 'refused'));
    expect(posted()).toEqual([
      ['C0456', '1700000000.000100'],
      ['C0123', undefined],
      ['C0456', '1700000000.000100'],
    ]);
  });

  it('shows nothing more in a channel that is no longer allowed', async () => {
    const channel = createSlackChannel(config(), { publicUrl: null });
    await channel.update?.('C0999:1.1', labelled({ slackChannel: 'C0123' }), options);
    expect(JSON.stringify(server.calls())).toContain('no longer shown here');
    expect(JSON.stringify(server.calls())).not.toContain('delete_file');
  });

  it.each([
    ['the card of its approval', 'C0456', '1.1', 1],
    ['another message of the channel', 'C0456', '1.2', 0],
    ['another channel of the file', 'C0123', '1.1', 0],
    ['a channel that the file does not list', 'C0999', '1.1', 0],
  ])('a press on %s: %s:%s', async (_, channelId, ts, counted) => {
    const notice = labelled({ slackChannel: 'C0456' });
    const { approvalId = '', shownDigest = '' } = notice.approval ?? {};
    const given: ChannelAnswer[] = [];
    const clock = createVirtualClock();
    const interactions = createSlackInteractions(
      config(),
      {
        ...{ people: () => [alice], clock, log: createCollectingLog(), publicUrl: null },
        responses: {
          find: async () => notice,
          copies: async () => ['C0456:1.1', 'C0999:1.1'],
          answer: async (answer) => {
            given.push(answer);
            return { status: 'recorded' };
          },
        },
      },
      200,
    );
    const value = createSlackTokens(config()).seal({ action: 'a', approvalId, shownDigest });
    const container = { type: 'message', channel_id: channelId, message_ts: ts };
    const taken = interactions.take(JSON.stringify(slackPress('approve', value, { container })));
    await untilDone(
      clock,
      taken.then(({ done }) => done),
    );
    expect(given).toHaveLength(counted);
    expect(JSON.stringify(server.calls()).includes('Nothing was decided')).toBe(counted === 0);
  });
});
