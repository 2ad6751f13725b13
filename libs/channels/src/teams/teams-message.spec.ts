import { systemClock } from '@countersign/runtime';
import { cardProblem } from '../testing/adaptive-card-rules.js';
import { hostileTexts } from '../testing/hostile-texts.js';
import { sampleNotice } from '../testing/notices.js';
import type { NoticeChange } from '../testing/notices.js';
import { openTeamsServer } from '../testing/teams-server.js';
import { publicUrl, teamsBot, teamsConfig } from '../testing/opened.js';
import type { AdaptiveCard } from './adaptive-card.js';
import { createTeamsChannel, createTeamsTokens } from './teams-channel.js';
import { teamsMessageOf } from './teams-message.js';

const tokens = createTeamsTokens({ ...teamsConfig, serviceUrl: '', loginUrl: '', openIdUrl: '' });
const messageOf = (change: NoticeChange = {}) => teamsMessageOf(sampleNotice(change), tokens, publicUrl);
const cardOf = (change: NoticeChange = {}) => messageOf(change).attachments[0].content as AdaptiveCard;
const typesOf = ({ actions }: Pick<AdaptiveCard, 'actions'>) => actions.map(({ type }) => type);

it('has a form whose buttons are those of the card, and no button that a client could send as a message', () => {
  const card = cardOf();
  expect(typesOf(card)).toEqual(['Action.Execute', 'Action.Execute', 'Action.ShowCard', 'Action.OpenUrl']);
  const [approve, deny, more] = card.actions;
  expect(more).toMatchObject({ card: { actions: [approve, deny] } });
  expect(JSON.stringify(card)).not.toMatch(/Action\.Submit|fallback/);
  expect(cardProblem(card)).toBeUndefined();
});

it('has only the link where a rule asks for a signature', () => {
  const { approval } = sampleNotice();
  if (approval === null) throw new Error('the sample has an approval');
  for (const signing of [{ requireSignature: true }, { minAssurance: 'high' }] as const) {
    const card = cardOf({ approval: { requirement: { ...approval.requirement, ...signing } } });
    expect(typesOf(card)).toEqual(['Action.OpenUrl']);
    expect(JSON.stringify(card)).toContain('Sign it in the inbox');
  }
});

it('asks for a reason that a rule demands: the button is in the form alone', () => {
  const { approval } = sampleNotice();
  if (approval === null) throw new Error('the sample has an approval');
  const { actions } = cardOf({ approval: { requirement: { ...approval.requirement, requireReason: ['deny'] } } });
  expect(typesOf({ actions })).toEqual(['Action.Execute', 'Action.ShowCard', 'Action.OpenUrl']);
  expect(actions[0]).toMatchObject({ verb: 'countersign/approve' });
  expect(JSON.stringify(actions[1])).toContain('countersign/deny');
});

it('has no button to approve what it does not show whole', () => {
  const card = cardOf({ arguments: { text: 'x y '.repeat(60_000) } });
  expect(card.actions[0]).toMatchObject({ verb: 'countersign/deny' });
  expect(JSON.stringify(card)).not.toContain('countersign/approve');
});

it.each(hostileTexts)('shows $name as text alone', ({ text }) => {
  const { summary, attachments } = messageOf({ toolName: text, arguments: { [text]: text }, description: text });
  expect(summary).not.toMatch(/[<>]/);
  const { body } = attachments[0].content as AdaptiveCard;
  expect(new Set(body.flatMap(({ type, inlines }) => [type, ...inlines.map((run) => run.type)]))).toEqual(
    new Set(['RichTextBlock', 'TextRun']),
  );
  expect(JSON.stringify(body)).not.toContain('{{');
});

it('writes an outcome into the thread of its card, and into no thread of another conversation', async () => {
  const server = await openTeamsServer(teamsBot);
  const channel = createTeamsChannel({ ...teamsConfig, ...server.urls }, { clock: systemClock, publicUrl });
  const { signal } = new AbortController();
  for (const inReplyTo of ['19:ops@thread.tacv2|1700000000000', '19:before@thread.tacv2|1700000000001'])
    await channel.send([sampleNotice({ notice: { kind: 'denied' } })], { signal, inReplyTo });
  expect(server.calls().map(({ conversation }) => conversation)).toEqual([
    '19:ops@thread.tacv2;messageid=1700000000000',
    '19:ops@thread.tacv2',
  ]);
  expect(server.tokensGiven()).toBe(1);
  await server.close();
});
