import { describe, expect, it } from '@jest/globals';
import type { ApprovalView } from '@countersign/contracts';
import type { Notice } from '../channel.js';
import { messageOf } from '../slack/blocks.js';
import { telegramMessageOf } from '../telegram/telegram-message.js';
import { sampleNotice } from '../testing/notices.js';
import { cardOf } from './card.js';

const requiring = (more: object): Pick<ApprovalView, 'requirement'> => ({
  requirement: { ...sampleNotice().approval!.requirement, ...more },
});
const tokens = { seal: ({ action }: { readonly action: string }) => action };
const inTelegram = (notice: Notice): readonly string[] =>
  telegramMessageOf(notice, tokens, null)
    .reply_markup.inline_keyboard.flat()
    .map((one) => one.callback_data);
const inSlack = (notice: Notice): readonly string[] =>
  messageOf(notice, tokens, null).blocks.flatMap((block) =>
    block.type === 'actions' ? block.elements.map((one) => ('value' in one ? one.value : '')) : [],
  );

const other = sampleNotice({ toolCallId: 'call-2', toolName: 'drop_table' });
const third = sampleNotice({ toolCallId: 'call-3' });
const stepOf = (asked: Partial<ApprovalView> = {}, callIds: readonly string[] = []): Notice => {
  const own = sampleNotice();
  const batch = { batchId: 'b', mode: 'all-or-nothing', callIds: [own.call.callId, other.call.callId, ...callIds] };
  const together = [{ call: other.call, approval: { ...other.approval!, ...asked } }];
  return sampleNotice({ approval: { batch } as Partial<ApprovalView>, notice: { together } });
};
const factsOf = (notice: Notice) => Object.fromEntries(cardOf(notice, 3_000).facts);

describe('the buttons of a channel', () => {
  it.each([
    [{}, ['a', 'd'], ['a', 'd', 'm']],
    [{ requireSignature: true }, [], []],
    [{ minAssurance: 'high' }, [], []],
    // A Telegram account proves less than that.
    [{ minAssurance: 'medium' }, [], ['a', 'd', 'm']],
    // The form has a reason.
    [{ requireReason: ['approve', 'deny'] }, [], ['m']],
    [{ requireReason: ['deny'] }, ['a'], ['a', 'm']],
  ])('are those that can decide: %j', (more, telegram, slack) => {
    const notice = sampleNotice({ approval: requiring(more) });
    expect([inTelegram(notice), inSlack(notice)]).toEqual([telegram, slack]);
  });

  it.each([{ requireSignature: true }, { requireReason: ['approve'] }])(
    'approve no step of which one call needs more: %j',
    (more) => {
      expect(inTelegram(stepOf())).toEqual(['a', 'd']);
      const notice = stepOf(requiring(more));
      expect([inTelegram(notice), inSlack(notice)]).toEqual([['d'], ['d']]);
      expect(cardOf(notice, 3_000).warnings).toHaveLength(1);
    },
  );
});

it('a card of a step names the calls of its batch that it does not show', () => {
  const { callId } = third.call;
  expect(factsOf(stepOf())).toMatchObject({ Step: 'one response decides about all 2 calls: all are shown below' });
  expect(factsOf(stepOf())).not.toHaveProperty('Batch');
  expect(factsOf(stepOf({}, [callId]))).toMatchObject({
    Step: 'one response decides about these 2 calls: all are shown below',
    Batch: `all or nothing: to deny this one cancels ${callId}, not shown here`,
  });
});

it('a card says that an answer took the place of the run, also after others agreed to it', () => {
  const { approval } = sampleNotice();
  const { status } = cardOf(
    sampleNotice({
      approval: {
        ...{ state: 'approved', resolution: 'approved' },
        proposal: { ...approval!.proposal, kind: 'answer', output: 1, proposedBy: 'bob', replaces: 1 },
      },
    }),
    3_000,
  );
  expect(status.at(-1)).toBe('The agent gets the answer of bob in place of the tool, which does not run.');
});
