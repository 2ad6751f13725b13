import { Secret } from '@countersign/runtime';
import { createEmailChannel } from './email/email-channel.js';
import { createSlackChannel } from './slack/slack-channel.js';
import { createTelegramChannel } from './telegram/telegram-channel.js';
import { sampleNotice } from './testing/notices.js';
import { openMailServer, publicUrl, slackConfig, telegramConfig } from './testing/opened.js';
import { openSlackServer } from './testing/slack-server.js';
import { openTelegramServer } from './testing/telegram-server.js';

const { signal } = new AbortController();

it.each([
  ['invalid_blocks', 'refused'],
  ['message_not_found', 'refused'],
  ['channel_not_found', 'failed'],
  ['invalid_auth', 'failed'],
  ['<canary>', 'failed'],
])('Slack that answers %s has %s the message, and its words are not repeated', async (error, status) => {
  const server = await openSlackServer(slackConfig.botToken.reveal());
  server.next.push({ body: { ok: false, error } });
  const result = await createSlackChannel({ ...slackConfig, apiUrl: server.url }, { publicUrl }).send(
    [sampleNotice()],
    { signal },
  );
  await server.close();
  expect(result).toEqual({ status, reason: `Slack answers ${error.startsWith('<') ? 'unknown' : error}` });
});

it.each([
  [400, 'Bad Request: chat not found', 'refused'],
  [403, 'Forbidden: bot was kicked', 'failed'],
  [500, 'Internal Server Error', 'failed'],
])('Telegram that answers %i (%s) has %s the message', async (code, description, status) => {
  const server = await openTelegramServer(telegramConfig.botToken.reveal());
  server.next.push({ status: code, body: { ok: false, error_code: code, description } });
  const channel = createTelegramChannel({ ...telegramConfig, apiUrl: server.url }, { publicUrl });
  expect(await channel.send([sampleNotice()], { signal })).toEqual({
    status,
    reason: `Telegram answers ${String(code)}`,
  });
  await server.close();
});

it('a change in Telegram that was made already, by a try whose answer was lost, is made', async () => {
  const server = await openTelegramServer(telegramConfig.botToken.reveal());
  const description = 'Bad Request: message is not modified: specified new message content is exactly the same';
  server.next.push({ status: 400, body: { ok: false, error_code: 400, description } });
  const channel = createTelegramChannel({ ...telegramConfig, apiUrl: server.url }, { publicUrl });
  const messageRef = '-100123:101';
  expect(await channel.update?.(messageRef, sampleNotice(), { signal })).toEqual({ status: 'delivered', messageRef });
  await server.close();
});

describe('a mail', () => {
  const send = async (reply?: number) => {
    const server = await openMailServer(reply);
    const config = { id: 'mail', type: 'email', smtp: new Secret(server.url), from: 'C <c@example.com>' } as const;
    const channel = createEmailChannel(config, { publicUrl: null });
    const results = [];
    for (const toolCallId of ['call-1', 'call-1', 'call-2']) {
      const messageId = `id-of-${toolCallId}`;
      results.push(await channel.send([sampleNotice({ toolCallId, notice: { messageId } })], { signal }));
    }
    const mails = await server.mails();
    await server.close();
    return { results, mails };
  };

  it('that comes twice has the same id, so that a mail program shows it once', async () => {
    const { mails } = await send();
    expect(mails.map(({ messageId }) => messageId)).toEqual([
      '<id-of-call-1@countersign>',
      '<id-of-call-1@countersign>',
      '<id-of-call-2@countersign>',
    ]);
  });

  it.each([
    [550, 'refused'],
    [451, 'failed'],
  ] as const)('to an address of which the server says %i is %s', async (reply, status) => {
    const { results, mails } = await send(reply);
    expect(results[0]).toEqual({ status, reason: `the mail server answers ${String(reply)}` });
    expect(mails).toEqual([]);
  });
});
