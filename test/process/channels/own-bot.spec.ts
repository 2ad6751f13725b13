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
  const policy = join(folder, 'policy.yaml');
  const two = 'rules: [{ id: two, match: { tools: [pair] }, then: { require: { quorum: { approve: 2 } } } }]';
  writeFileSync(policy, `version: 1\n${two}\n`);
  const { http, port, restart, server } = await install({ COUNTERSIGN_POLICY: policy }, folder);
  const telegram = await openTelegramServer('1:bot');
  onCleanup(telegram.close);
  const env = {
    ...{ PATH: process.env['PATH'], COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}` },
    ...{ COUNTERSIGN_TOKEN: token('desk'), TELEGRAM_BOT_TOKEN: '1:bot', TELEGRAM_API_ROOT: telegram.url },
  };
  const example = join(root, 'examples', 'telegram-bot.ts');
  const bot = spawn(process.execPath, [example], { cwd: root, env, stdio: ['ignore', 'inherit', 'inherit'] });
  onCleanup(() => void bot.kill('SIGKILL'));

  const ask = async (toolCallId: string, telegramChat: string, toolName = 'refund'): Promise<string> => {
    const call = { toolCallId, toolName, arguments: { amount: 7, password: 'hunter2' }, needsApproval: true };
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
  const buttonOf = (args: Readonly<Record<string, unknown>>, nth = 0) => {
    const { inline_keyboard: rows } = args['reply_markup'] as {
      readonly inline_keyboard: readonly (readonly { readonly callback_data: string }[])[];
    };
    return rows[0]?.[nth]?.callback_data;
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

  // A press while Countersign restarts counts, and one that finds nobody for long is answered.
  const later = await ask('later', '-1001', 'pair');
  const messages = () => telegram.calls().filter(({ method }) => /^(send|edit)Message/.test(method));
  const at = await eventually('the second card', () => {
    const index = messages().findLastIndex(({ method }) => method === 'sendMessage');
    return index === 0 ? undefined : index;
  });
  const again = { message: 101 + at, data: buttonOf(messages()[at]?.args ?? {}) };
  const answers = async () => {
    const { body: now } = await http.send({ method: 'GET', path: `/v1/approvals/${later}`, token: token('me') });
    return now as { readonly state: string; readonly responses: readonly unknown[] };
  };
  await server().stop();
  press(4, 4711, -1001, again);
  expect((await told(4)).args['text']).toBe('Perhaps not recorded: press again.');
  press(5, 4711, -1001, again);
  await restart();
  expect((await told(5)).args['text']).toBe('Recorded.');
  expect(await answers()).toMatchObject({ state: 'pending', responses: [{ respondedBy: 'support-desk#kim' }] });

  // Who has answered takes it back where they answered.
  press(6, 4711, -1001, again);
  expect((await told(6)).args['text']).toMatch(/^You have already answered this.* See "Withdraw my answer"\.$/);
  await eventually('the button', () => JSON.stringify(messages().at(-1)).includes('Withdraw my answer') || undefined);
  press(7, 4711, -1001, { ...again, data: 'withdraw' });
  expect((await told(7)).args['text']).toBe('Withdrawn.');
  expect(await answers()).toMatchObject({ state: 'pending', responses: [] });

  const reason = 'not needed any more';
  await http.send({
    method: 'POST',
    path: `/v1/approvals/${later}/responses`,
    token: token('me'),
    body: { decision: { type: 'deny' }, reason },
  });
  await eventually('the card to lose its buttons', () => {
    const { args } = messages().at(-1) ?? {};
    return JSON.stringify(args?.['reply_markup']) === '{"inline_keyboard":[]}' || undefined;
  });
  press(8, 4711, -1001, again);
  expect((await told(8)).args['text']).toBe('Nothing is left to answer: denied.');

  // What others do elsewhere is shown, and a denial on the card counts whatever they told the agent or withdrew.
  const third = await ask('third', '-1001', 'pair');
  const sentAs = await eventually('the third card', () => {
    const index = messages().findLastIndex(({ method }) => method === 'sendMessage');
    return index === at ? undefined : index;
  });
  const deny = { message: 101 + sentAs, data: buttonOf(messages()[sentAs]?.args ?? {}, 1) };
  const shown = async (words: string, isShown: boolean) =>
    eventually(`a card ${isShown ? 'with' : 'without'} ${words}`, () => {
      const { method, args } = messages().at(-1) ?? {};
      return (method === 'editMessageText' && String(args?.['text']).includes(words) === isShown) || undefined;
    });
  const responses = `/v1/approvals/${third}/responses`;
  const withWords = { decision: { type: 'approve' }, instruction: 'then tell me' };
  await http.send({ method: 'POST', path: responses, token: token('me'), body: withWords });
  await shown('then tell me', true);
  await http.send({ method: 'DELETE', path: `${responses}/mine`, token: token('me') });
  await shown('then tell me', false);
  const lines = messages().length;
  press(9, 4711, -1001, deny);
  expect((await told(9)).args['text']).toBe('Recorded.');
  await shown('denied', true);
  expect(messages()).toHaveLength(lines + 1);
}, 180_000);
