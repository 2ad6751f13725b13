import { describe, expect, it } from '@jest/globals';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import type { Notice } from '../channel.js';
import { messageOf } from '../slack/blocks.js';
import type { AdaptiveCard } from '../teams/adaptive-card.js';
import { adaptiveCardOf } from '../teams/adaptive-card.js';
import { telegramMessageOf } from '../telegram/telegram-message.js';
import { sampleNotice } from '../testing/notices.js';
import { cardOf } from './card.js';

const tokens = { seal: () => 'x' };
const publicUrl = 'https://countersign.example.com/';

const shownOf = {
  Slack: (notice: Notice) =>
    messageOf(notice, tokens, publicUrl)
      .blocks.flatMap((block) => (block.type === 'section' ? (block.text?.text ?? '') : ''))
      .join('\n'),
  Telegram: (notice: Notice) => telegramMessageOf(notice, tokens, publicUrl).text,
  Teams: (notice: Notice) =>
    (adaptiveCardOf(notice, tokens, publicUrl) satisfies AdaptiveCard).body
      .map(({ inlines }) => inlines.map(({ text }) => text).join(''))
      .join('\n'),
};
const chats = Object.keys(shownOf) as (keyof typeof shownOf)[];
const shownIn = (chat: keyof typeof shownOf, approval: Partial<ApprovalView>): string =>
  shownOf[chat](sampleNotice({ approval }));

const responseOf = (number: number, reason: string): ApprovalView['responses'][number] => ({
  ...{ number, respondedBy: `person-${String(number)}`, onBehalfOf: null, decision: { type: 'approve' }, reason },
  ...{ via: 'cli', respondedAt: '2026-11-22T09:59:57.000Z', counted: true },
});
const responsesOf = (count: number, reason: string) =>
  Array.from({ length: count }, (_, index) => responseOf(index + 1, reason));

describe.each(chats)('a card in %s', (chat) => {
  it('says how many earlier responses it does not show', () => {
    const shown = shownIn(chat, { responses: responsesOf(11, 'seen') });
    expect(shown).toContain('⟦3 earlier lines⟧');
    expect(shown).not.toContain('person-3 ');
    expect(shown).toContain('person-4 approved via cli: "seen"');
    expect(shownIn(chat, { responses: responsesOf(8, 'seen') })).not.toContain('earlier lines');
  });

  it('quotes a reason that reads like another response', () => {
    const reason = 'ok"   carol approved via inbox: "checked';
    const shown = shownIn(chat, { responses: responsesOf(1, reason) });
    expect(shown).toContain('person-1 approved via cli: "ok\\"   carol approved via inbox: \\"checked"');
  });

  it('keeps its warnings, its link and its arguments where long responses would fill it', () => {
    const shown = shownIn(chat, {
      ...{ responses: responsesOf(8, '\u200b'.repeat(200)), labels: { env: 'production' } },
      hiddenValues: [{ pointer: '/password', why: 'name' }],
    });
    for (const words of ['Look at them in the inbox', '/tmp/x', 'env: production']) expect(shown).toContain(words);
    if (chat === 'Telegram') expect(shown).toContain('/approvals/apr_');
  });
});

describe.each(chats)('an edit on a card in %s', (chat) => {
  const edited = (args: JsonObject, before: JsonObject): string => {
    const { proposal } = sampleNotice().approval!;
    const notice = sampleNotice({
      ...{ arguments: args },
      approval: { proposal: { ...proposal, number: 2, proposedBy: 'bob', replaces: 1 } },
    });
    return shownOf[chat]({ ...notice, call: { ...notice.call, arguments: before } });
  };

  it('shows what the agent had asked for', () => {
    const shown = edited({ path: '/tmp/x', days: 3 }, { path: '/etc" + "', days: 3 });
    expect(shown).toContain('The agent asked for (-), and bob put in its place (+):');
    expect(shown).toContain('-   "path": "/etc\\" + \\"",');
    expect(shown).toContain('+   "path": "/tmp/x",');
  });

  it('says where a long change is, and shows none where nothing differs', () => {
    const long = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`k${String(n)}`, n]));
    expect(edited({ path: '/tmp/x' }, long)).toMatch(
      /bob changed what the agent asked for:[^]*⟦The inbox shows the change⟧/,
    );
    expect(edited({ path: '/tmp/x' }, { path: '/tmp/x' })).not.toContain('the agent asked for');
  });
});

it('keeps the link in Telegram where the facts fill the message', () => {
  const labels = Object.fromEntries(Array.from({ length: 20 }, (_, n) => [`label-${String(n)}`, '\u200b'.repeat(60)]));
  const shown = shownIn('Telegram', { labels });
  expect(shown).toMatch(/more is not shown|more characters/);
  expect(shown).toContain('/approvals/apr_');
  expect(shown).toContain('Not everything is shown here');
});

it('has the hash of all that it lists, so that two answers or instructions that are cut differ', () => {
  const hashOf = (last: string, instruction: string): string | undefined => {
    const output = Array.from({ length: 300 }, (_, n) => (n === 299 ? last : n));
    const { proposal } = sampleNotice().approval!;
    const approval = {
      proposal: { ...proposal, kind: 'answer', number: 2, output } as const,
      instructions: [{ respondedBy: 'bob', instruction }],
    };
    return /all of it: (sha256:[0-9a-f]+)⟧/.exec(cardOf(sampleNotice({ approval }), 800).argumentLines.join('\n'))?.[1];
  };
  const hashes = [hashOf('a', 'one'), hashOf('b', 'one'), hashOf('a', 'two')];
  expect(hashes).not.toContain(undefined);
  expect(new Set(hashes).size).toBe(3);
  expect(hashOf('a', 'one')).toBe(hashes[0]);
});
