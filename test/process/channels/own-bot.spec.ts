import { spawn } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openTelegramServer } from '@countersign/channels/testing';
import { expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { install } from '../harness/standalone.js';
import { eventually } from '../harness/wait.js';

cleanUpAfterEach();

const root = join(import.meta.dirname, '..', '..', '..');
const token = (name: string) => `${name}-token-of-this-spec`;

test('the bot of the example asks in the chat of the conversation, and passes on the presses of people it knows', async () => {
  expect(readFileSync(join(root, 'docs', 'front-ends.md'), 'utf8')).toContain('../examples/telegram-bot.ts');
  const folder = temporaryFolder();
  mkdirSync(join(folder, 'data'));
  const people = { groups: ['support'] };
  const tokens = [
    ...['agent', 'me', 'worker'].map((principal) => ({
      ...{ token: token(principal), principal },
      roles: { agent: ['agent'], me: ['approver', 'auditor', 'admin'], worker: ['resolver'] }[principal],
    })),
    { token: token('desk'), principal: 'support-desk', roles: ['front-end'], people },
    { token: token('asks'), principal: 'support-desk', roles: ['agent'] },
  ];
  writeFileSync(join(folder, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  const { http, port, restart, server } = await install({}, folder);
  const telegram = await openTelegramServer('1:bot');
  onCleanup(telegram.close);
  const env = {
    ...{ PATH: process.env['PATH'], COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}` },
    ...{ COUNTERSIGN_TOKEN: token('desk'), TELEGRAM_BOT_TOKEN: '1:bot', TELEGRAM_API_ROOT: telegram.url },
  };
  const example = join(root, 'examples', 'telegram-bot.ts');
  const bot = spawn(process.execPath, [example], { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  onCleanup(() => void bot.kill('SIGKILL'));

  const ask = async (toolCallId: string, telegramChat: string): Promise<string> => {
    const call = { toolCallId, toolName: 'refund', arguments: { amount: 7, password: 'hunter2' }, needsApproval: true };
    const body = { runId: 'run-1', calls: [{ ...call, labels: { telegramChat } }] };
    const answer = await http.send({ method: 'POST', path: '/v1/tool-calls', token: token('asks'), body });
    const { calls } = answer.body as { calls: readonly { approval: { approvalId: string } }[] };
    return calls[0]?.approval.approvalId ?? '';
  };
  const callsOf = (method: string) => telegram.calls().filter((call) => call.method === method);
  await ask('elsewhere', '-1002');
  const approvalId = await ask('here', '-1001');
  const card = await eventually('the card', () => callsOf('sendMessage')[0]?.args);
  expect(card).toMatchObject({ chat_id: '-1001', text: expect.stringContaining('May refund run?') as unknown });
  expect(JSON.stringify(card)).not.toContain('hunter2');
  const buttonOf = (args: Readonly<Record<string, unknown>>) => {
    const { inline_keyboard: rows } = args['reply_markup'] as {
      readonly inline_keyboard: readonly (readonly { readonly callback_data: string }[])[];
    };
    return rows[0]?.[0]?.callback_data;
  };
  const first = { message: 101, data: buttonOf(card) };
  const press = (id: number, from: number, chat: number, { message: messageId, data } = first): void => {
    const message = { message_id: messageId, date: 1, chat: { id: chat, type: 'group', title: 'x' } };
    const query = {
      id: String(id),
      from: { id: from, is_bot: false, first_name: 'K' },
      chat_instance: '1',
      data,
      message,
    };
    telegram.updates.push({ update_id: id, callback_query: query } as { update_id: number });
  };
  const told = (id: number) =>
    eventually(`an answer to press ${String(id)}`, () =>
      callsOf('answerCallbackQuery').find(({ args }) => args['callback_query_id'] === String(id)),
    );
  press(1, 4712, -1001);
  expect((await told(1)).args['text']).toBe('You cannot decide this here.');
  press(2, 4711, -1002);
  expect((await told(2)).args['text']).toBe('You cannot decide this here.');
  press(3, 4711, -1001);
  expect((await told(3)).args['text']).toBe('Recorded.');
  const { body } = await http.send({ method: 'GET', path: `/v1/approvals/${approvalId}`, token: token('me') });
  expect(body).toMatchObject({
    state: 'approved',
    responses: [{ respondedBy: 'support-desk#kim', via: 'support-desk' }],
  });
  const changed = await eventually('the card to change', () => callsOf('editMessageText')[0]?.args);
  expect(changed).toMatchObject({ chat_id: '-1001', message_id: 101, reply_markup: { inline_keyboard: [] } });
  expect(callsOf('sendMessage')).toHaveLength(1);

  // A press while Countersign does not run fails, and the bot goes on.
  const later = await ask('later', '-1001');
  const messages = () => telegram.calls().filter(({ method }) => /^(send|edit)Message/.test(method));
  const at = await eventually('the second card', () => {
    const index = messages().findLastIndex(({ method }) => method === 'sendMessage');
    return index === 0 ? undefined : index;
  });
  const again = { message: 101 + at, data: buttonOf(messages()[at]?.args ?? {}) };
  await server().stop();
  press(4, 4711, -1001, again);
  await eventually('the press to be read', () => callsOf('getUpdates').find(({ args }) => args['offset'] === 5));
  await restart();
  press(5, 4711, -1001, again);
  expect((await told(5)).args['text']).toBe('Recorded.');
  const second = await http.send({ method: 'GET', path: `/v1/approvals/${later}`, token: token('me') });
  expect(second.body).toMatchObject({ state: 'approved' });
}, 180_000);
