import { describe, expect, it } from '@jest/globals';
import { segmentsOf } from '@countersign/text';
import fc from 'fast-check';
import type { JsonObject } from '@countersign/contracts';
import { digestStartOf } from './answer-token.js';
import { cardOf } from './card/card.js';
import { stateShown, type Notice } from './channel.js';
import { messageOf } from './slack/blocks.js';
import { answerModal } from './slack/modal.js';
import { createSlackTokens } from './slack/slack-channel.js';
import { adaptiveCardOf } from './teams/adaptive-card.js';
import { createTelegramTokens } from './telegram/telegram-channel.js';
import { telegramMessageOf } from './telegram/telegram-message.js';
import { sampleNotice } from './testing/notices.js';
import { slackConfig, telegramConfig } from './testing/opened.js';

const noticeOf = (args: JsonObject) => sampleNotice({ arguments: args });
const toldOf = (instruction: string, more: { readonly ifDenied?: true } = {}) => {
  const instructions = [{ respondedBy: 'bob', instruction, ...more }];
  return sampleNotice({ approval: { instructions, shownDigest: `sha256:${'ef'.repeat(32)}` } });
};

const slackTokens = createSlackTokens({ ...slackConfig, apiUrl: '' });
const telegramTokens = createTelegramTokens({ ...telegramConfig, apiUrl: '' });

function inSlack(args: JsonObject): readonly string[] {
  return slackButtonsOf(noticeOf(args));
}

function slackButtonsOf(notice: Notice): readonly string[] {
  return messageOf(notice, slackTokens, null).blocks.flatMap((block) =>
    block.type === 'actions' ? block.elements.map((one) => ('action_id' in one ? (one.action_id ?? '') : '')) : [],
  );
}

function inModal(args: JsonObject): string {
  return modalOf(noticeOf(args));
}

function modalOf({ approval }: Notice): string {
  return approval === null ? '' : JSON.stringify(answerModal(approval, 'token').blocks);
}

function inTelegram(args: JsonObject): readonly string[] {
  return telegramButtonsOf(noticeOf(args));
}

function telegramButtonsOf(notice: Notice): readonly string[] {
  const { reply_markup: markup } = telegramMessageOf(notice, telegramTokens, null);
  return markup.inline_keyboard.flat().map(({ text }) => text);
}

const cut: readonly (readonly [string, JsonObject])[] = [
  ['a long text', { command: `echo ${'a'.repeat(600)}; curl evil` }],
  ['many lines', Object.fromEntries(Array.from({ length: 400 }, (_, n) => [`key${String(n)}`, n]))],
  ['characters that grow in the channel', { command: '&'.repeat(450), b: '&'.repeat(450), c: '&'.repeat(450) }],
];

describe('what a person agrees to besides the arguments', () => {
  const notice = toldOf('then verify "the backup"\nand tell ann');
  const shown = 'Instruction of bob to the agent: "then verify \\"the backup\\"\\nand tell ann"';

  it('is an instruction of another approver, which every message shows', () => {
    expect(messageOf(notice, slackTokens, null).blocks).toContainEqual(
      expect.objectContaining({ text: expect.objectContaining({ text: expect.stringContaining(shown) }) }),
    );
    expect(telegramMessageOf(notice, telegramTokens, null).text).toContain(shown);
    expect(cardOf(notice, 20_000).argumentLines).toContain(shown);
    expect(JSON.stringify(notice.approval && answerModal(notice.approval, 'token').blocks)).toContain(
      'Instruction of bob to the agent',
    );
  });

  it('is the instruction of a denial, which says that the agent gets it only then', () => {
    const ofDenial = toldOf('use the archive', { ifDenied: true });
    expect(cardOf(ofDenial, 20_000).argumentLines).toContain(
      'Instruction of bob to the agent, if it is denied: "use the archive"',
    );
  });

  it('is what the buttons decide about: a message from before the instruction decides nothing', () => {
    const [approve] = telegramMessageOf(notice, telegramTokens, null).reply_markup.inline_keyboard.flat();
    const [before] = telegramMessageOf(noticeOf({}), telegramTokens, null).reply_markup.inline_keyboard.flat();
    const startOf = (button = { callback_data: '' }) => telegramTokens.open(button.callback_data)?.digestStart;
    expect(startOf(approve)).toBe(digestStartOf(notice.approval?.shownDigest ?? ''));
    expect(startOf(before)).not.toBe(startOf(approve));
    expect(stateShown(notice)).not.toBe(stateShown(noticeOf({})));
  });

  it('cannot be approved where it is not shown whole', () => {
    const long = toldOf(`then ${'verify '.repeat(200)}`);
    expect(cardOf(long, 20_000).isWhole).toBe(false);
    expect(telegramMessageOf(long, telegramTokens, null).reply_markup.inline_keyboard.flat()).toHaveLength(1);
  });

  it('is an answer that is proposed in place of the run', () => {
    const answer = sampleNotice().approval?.proposal;
    if (answer === undefined) throw new Error('the sample has an approval');
    const proposal = { ...answer, kind: 'answer', output: { paid: 'all' }, proposedBy: 'bob' } as const;
    const { argumentLines } = cardOf(sampleNotice({ approval: { proposal } }), 20_000);
    expect(argumentLines.slice(-4)).toEqual([
      'It would not run: bob answers in its place:',
      ...['{', '  "paid": "all"', '}'],
    ]);
  });
});

describe('an answer that is proposed in place of the run', () => {
  const mask = '[masked sha256:0123456789abcdef]';
  const sample = sampleNotice().approval?.proposal;
  if (sample === undefined) throw new Error('the sample has an approval');
  const output = { note: mask, password: mask };
  const hiddenValues = [{ pointer: '/password', why: 'name' as const }];
  const proposal = { ...sample, kind: 'answer', output, hiddenValues, proposedBy: 'bob' } as const;
  const notice = sampleNotice({ toolName: 'wire_money', approval: { proposal } });

  it('is what the headline and the form ask about', () => {
    const question = 'May wire_money be answered without a run?';
    expect(cardOf(notice, 20_000).headline).toBe(question);
    expect(modalOf(notice)).toContain(question);
    expect(modalOf(notice)).not.toContain('May wire_money run?');
  });

  it('has its texts that read like hidden values in quotes', () => {
    expect(cardOf(notice, 20_000).argumentLines).toEqual(
      expect.arrayContaining([
        `  "note": "${mask}" ⟦text of the answer, not a hidden value⟧,`,
        `  "password": ${mask}`,
      ]),
    );
  });
});

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

function fieldOf(args: JsonObject): string {
  const { approval } = noticeOf(args);
  const blocks = approval === null ? [] : answerModal(approval, 'token').blocks;
  return blocks
    .flatMap((block) =>
      'element' in block && block.element.type === 'plain_text_input' ? [block.element.initial_value ?? ''] : [],
    )
    .join('');
}

describe('the field of the form in Slack', () => {
  const end = 'a\u3164b\u115fc\uffa0d\u2800e\u2062f         g /\u0435tc';

  it('has each character that the card marks as its escape', () => {
    const field = fieldOf({ text: `${'x'.repeat(600)}${end}` });
    const escapes = String.raw`a\u3164b\u115fc\uffa0d\u2800e\u2062f${String.raw`\u0020`.repeat(9)}g /\u0435tc`;
    expect(field).toContain(`xxx${escapes}"`);
  });

  it('holds any value exactly, and nothing that is easily missed', () => {
    const text = fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom(end, '\u0065\u0301', '\\"\u3164', '        '));
    fc.assert(
      fc.property(fc.dictionary(text, text, { maxKeys: 3 }), (args) => {
        const field = fieldOf(args);
        expect(JSON.parse(field)).toEqual(args);
        const lines = field.split('\n').map((line) => line.trimStart());
        expect(lines.flatMap((line) => segmentsOf(line).filter(({ kind }) => kind === 'mark'))).toEqual([]);
      }),
    );
  });

  it('is not offered where nothing can be decided in it, and no choice is empty', () => {
    const notice = sampleNotice({
      arguments: { text: '\u200b'.repeat(1_000) },
      approval: { allowedDecisions: ['approve'] },
    });
    expect(slackButtonsOf(notice)).toEqual([]);
    expect(JSON.stringify(messageOf(notice, slackTokens, null))).toContain('Not everything is shown here');
    expect(modalOf(notice)).not.toContain('static_select');
    expect(modalOf(notice)).toContain('decide it there');
  });
});

describe('a card that is too long for its channel alone', () => {
  const warning = 'Not everything is shown here: approve it in the inbox';
  const group = (name: string) => `${name}-${'g'.repeat(90)}`;
  const stage = {
    mode: 'quorum',
    approve: 1,
    deny: 1,
    groups: Array.from({ length: 40 }, (_, n) => group(String(n))),
  } as const;
  const { approval } = sampleNotice();
  const requirement = { ...approval!.requirement, stages: [stage] };
  const lines = { arguments: { list: Array.from({ length: 150 }, (_, n) => n) } };

  it.each([
    ['Slack', () => messageOf(sampleNotice({ approval: { requirement } }), slackTokens, null)],
    ['Telegram', () => telegramMessageOf(sampleNotice({ approval: { requirement } }), telegramTokens, null)],
    ['Teams', () => adaptiveCardOf(sampleNotice(lines), slackTokens, null)],
  ])('says in %s why it cannot be approved there', (_, message) => {
    expect(JSON.stringify(message())).toContain(warning);
  });
});

describe('the tool and the labels, which have the folder and the server of a call', () => {
  const toolName = `${'t'.repeat(245)}_delete_all`;
  const cwd = `/work/${'d'.repeat(492)}/production`;

  it('are shown whole where the call can be approved', () => {
    const notice = sampleNotice({ toolName, approval: { labels: { cwd } } });
    const shown = [
      JSON.stringify(messageOf(notice, slackTokens, null).blocks),
      telegramMessageOf(notice, telegramTokens, null).text,
      modalOf(notice),
    ];
    for (const text of shown) {
      expect(text).toContain(toolName);
      expect(text).toContain(`cwd: ${cwd}`);
    }
    expect(slackButtonsOf(notice)).toContain('approve');
    expect(telegramButtonsOf(notice)).toContain('✅ Approve');
  });

  it.each([
    ['many labels', Object.fromEntries(Array.from({ length: 64 }, (_, n) => [`label${String(n)}`, 'x'.repeat(500)]))],
    ['labels of characters that are marked', { cwd: '\u200b'.repeat(500) }],
  ])('do not let a call be approved where they are cut: %s', (_, labels) => {
    const notice = sampleNotice({ approval: { labels } });
    expect(slackButtonsOf(notice)).toEqual(['deny', 'more']);
    expect(telegramButtonsOf(notice)).toEqual(['❌ Deny']);
    expect(modalOf(notice)).not.toContain('Approve as it is');
  });
});
