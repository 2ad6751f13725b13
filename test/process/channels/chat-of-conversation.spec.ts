import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTelegramServer } from '@countersign/channels/testing';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import { eventually } from '../harness/wait.js';

cleanUpAfterEach();

test('a card goes to the chat that a label names, and decides there alone, until the file no longer lists the chat', async () => {
  const folder = temporaryFolder();
  const telegram = await openTelegramServer('1:bot');
  onCleanup(telegram.close);
  const file = join(folder, 'channels.yaml');
  const allow = (...chats: readonly string[]): void =>
    writeFileSync(
      file,
      `version: 1
people: [{ id: me, telegram: "4711" }]
channels:
  - id: chats
    type: telegram
    chat: { label: telegramChat, allow: ${JSON.stringify(chats)} }
    botToken: { env: TELEGRAM_TOKEN }
    webhookSecret: { env: TELEGRAM_SECRET }
    apiUrl: "${telegram.url}"
routes:
  - { runs: ["chat-*"], to: [chats] }
`,
    );
  allow('-1001', '-1002');
  const secret = 'telegram-secret';
  const env = { COUNTERSIGN_CHANNELS: file, TELEGRAM_TOKEN: '1:bot', TELEGRAM_SECRET: secret };
  const { http, tokens, restart, server } = await install(env, folder);
  const callsOf = (method: string) => telegram.calls().filter((call) => call.method === method);
  const ask = async (telegramChat: string, n: number): Promise<string> => {
    const call = {
      toolCallId: 'a',
      toolName: 'delete_file',
      arguments: {},
      needsApproval: true,
      labels: { telegramChat },
    };
    const body = { runId: `chat-${String(n)}`, calls: [call] };
    const answer = await http.send({ method: 'POST', path: '/v1/tool-calls', token: tokens.agent, body });
    const { calls } = answer.body as { calls: readonly { approval: { approvalId: string } }[] };
    return calls[0]?.approval.approvalId ?? '';
  };
  const stateOf = async (approvalId: string): Promise<unknown> => {
    const { body } = await http.send({ method: 'GET', path: `/v1/approvals/${approvalId}`, token: tokens.me });
    return (body as { state: string }).state;
  };
  let presses = 0;
  const press = async (card: Readonly<Record<string, unknown>>, chat: number, message: number): Promise<string> => {
    const { inline_keyboard: rows } = card['reply_markup'] as {
      readonly inline_keyboard: readonly (readonly { readonly callback_data: string }[])[];
    };
    presses += 1;
    const from = { id: 4711, is_bot: false, first_name: 'M' };
    const shown = { message_id: message, date: 1, chat: { id: chat, type: 'group', title: 'x' } };
    const query = { id: String(presses), from, chat_instance: '1', data: rows[0]?.[0]?.callback_data, message: shown };
    const headers = { 'x-telegram-bot-api-secret-token': secret };
    const body = { update_id: presses, callback_query: query };
    await http.send({ method: 'POST', path: '/channels/chats/telegram', headers, body });
    const told = await eventually('an answer to the press', () =>
      callsOf('answerCallbackQuery').find(({ args }) => args['callback_query_id'] === String(presses)),
    );
    return String(told.args['text']);
  };

  const refused = await ask('-1009', 1);
  const first = await ask('-1001', 2);
  const card = await eventually('the first card', () => callsOf('sendMessage')[0]?.args);
  expect(card['chat_id']).toBe('-1001');
  expect(await press(card, -1002, 101)).toContain('Nothing was decided');
  expect(await press(card, -1009, 101)).toContain('Nothing was decided');
  expect(await press(card, -1001, 109)).toContain('Nothing was decided');
  expect(await stateOf(first)).toBe('pending');
  expect(await press(card, -1001, 101)).toBe('Approved.');
  expect(await stateOf(first)).toBe('approved');
  await eventually(
    'the card to change where it is',
    () => callsOf('editMessageText').some(({ args }) => args['chat_id'] === '-1001') || undefined,
  );

  const second = await ask('-1002', 3);
  const last = await eventually('the second card', () => callsOf('sendMessage')[1]?.args);
  await eventually('the record of the card', async () => {
    const { text } = await http.send({ method: 'GET', path: '/metrics', token: tokens.me });
    return (
      /^countersign_notifications_undeliverable_total\{channel="chats",about="message"\} 1$/m.test(text) || undefined
    );
  });
  allow('-1001');
  await server().stop();
  await restart();
  expect(await press(last, -1002, 102 + callsOf('editMessageText').length)).toContain('Nothing was decided');
  expect(await stateOf(second)).toBe('pending');
  // People decide what was not sent, or stands in a chat of before, in the inbox.
  const body = { decision: { type: 'deny' } };
  for (const approvalId of [refused, second])
    await http.send({ method: 'POST', path: `/v1/approvals/${approvalId}/responses`, token: tokens.me, body });
  const closed = await eventually('the card in the chat of before', () =>
    callsOf('editMessageText').find(({ args }) => args['chat_id'] === '-1002'),
  );
  expect(closed.args['text']).toBe('This request is no longer shown here.');
  expect(callsOf('sendMessage')).toHaveLength(2);
}, 180_000);
