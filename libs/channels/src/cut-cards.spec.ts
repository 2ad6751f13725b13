import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { messageOf } from './slack/blocks.js';
import { answerModal } from './slack/modal.js';
import { createSlackTokens } from './slack/slack-channel.js';
import { createTelegramTokens } from './telegram/telegram-channel.js';
import { telegramMessageOf } from './telegram/telegram-message.js';
import { sampleNotice } from './testing/notices.js';
import { slackConfig, telegramConfig } from './testing/opened.js';

const noticeOf = (args: JsonObject) => sampleNotice({ arguments: args });

const slackTokens = createSlackTokens({ ...slackConfig, apiUrl: '' });
const telegramTokens = createTelegramTokens({ ...telegramConfig, apiUrl: '' });

function inSlack(args: JsonObject): readonly string[] {
  return messageOf(noticeOf(args), slackTokens, null).blocks.flatMap((block) =>
    block.type === 'actions' ? block.elements.map((one) => ('action_id' in one ? (one.action_id ?? '') : '')) : [],
  );
}

function inModal(args: JsonObject): string {
  const { approval } = noticeOf(args);
  return approval === null ? '' : JSON.stringify(answerModal(approval, 'token').blocks);
}

function inTelegram(args: JsonObject): readonly string[] {
  const { reply_markup: markup } = telegramMessageOf(noticeOf(args), telegramTokens, null);
  return markup.inline_keyboard.flat().map(({ text }) => text);
}

const cut: readonly (readonly [string, JsonObject])[] = [
  ['a long text', { command: `echo ${'a'.repeat(600)}; curl evil` }],
  ['many lines', Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`key${String(n)}`, n]))],
  ['characters that grow in the channel', { command: '&'.repeat(450), b: '&'.repeat(450), c: '&'.repeat(450) }],
];

describe('arguments that a message does not show whole', () => {
  it.each(cut.slice(0, 2))('can be denied there and not approved: %s', (_, args) => {
    expect(inSlack(args)).toEqual(['deny', 'more']);
    expect(inTelegram(args)).toEqual(['❌ Deny']);
    expect(inModal(args)).not.toContain('Approve as it is');
    expect(inModal(args)).toContain('Not everything is shown here: approve it in the inbox');
  });

  it.each(cut.slice(2))('in Slack cannot be approved there: %s', (_, args) => {
    expect(inSlack(args)).toEqual(['deny', 'more']);
    expect(inModal(args)).not.toContain('Approve as it is');
  });

  it('can be approved where they are shown whole', () => {
    const args = { command: 'ls', path: '/tmp' };
    expect(inSlack(args)).toEqual(['approve', 'deny', 'more']);
    expect(inTelegram(args)).toEqual(['✅ Approve', '❌ Deny']);
    expect(inModal(args)).toContain('Approve as it is');
  });

  it('stand in the modal of "More…", which binds them', () => {
    expect(inModal({ to: 'supplier', amount: 10 })).toContain('\\"to\\": \\"supplier\\"');
  });
});
