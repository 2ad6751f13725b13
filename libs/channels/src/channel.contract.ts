/// <reference types="jest" />
import { maskByName } from '@countersign/contracts';
import type { Answers } from './testing/answers.js';
import type { Notice } from './channel.js';
import { hostileTexts } from './testing/hostile-texts.js';
import { sampleNotice } from './testing/notices.js';
import type { OpenedChannel } from './testing/opened.js';

/** The limits of a channel. */
export interface ChannelTraits {
  /** True if people respond through it. */
  readonly answers: boolean;
}

/** The contract that every channel fulfils. */
export function channelContract(
  open: () => Promise<OpenedChannel>,
  { answers: isAnswered }: ChannelTraits = { answers: true },
): void {
  let opened: OpenedChannel;
  const { signal } = new AbortController();
  beforeEach(async () => {
    opened = await open();
  });
  afterEach(async () => {
    await opened.close();
  });

  it('takes the same message twice, and each copy can be told from another message', async () => {
    for (let n = 0; n < 2; n += 1) {
      expect(await opened.channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'delivered' });
    }
    expect(await opened.messages()).toHaveLength(2);
  });

  it.each(hostileTexts)('shows $name as text', async ({ text, unseen }) => {
    const change = {
      ...{ toolName: `t ${text}`, arguments: { value: text }, reason: text, description: text },
      approval: { title: text, toolDescription: `d ${text}`, metadata: { [text]: text } },
    };
    expect(await opened.channel.send([sampleNotice(change)], { signal })).toMatchObject({ status: 'delivered' });
    const [message = ''] = await opened.messages();
    if (unseen !== undefined && opened.channel.type !== 'webhook') {
      expect(message).not.toContain(unseen);
      expect(await opened.shown()).toContain(
        `⟦U+${(unseen.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟧`,
      );
    }
  });

  it('takes a message of any size', async () => {
    const args = {
      text: 'x y '.repeat(60_000),
      list: Array.from({ length: 2_000 }, (_, n) => ({ n, a: '<&>"`'.repeat(20) })),
    };
    const notice = sampleNotice({
      ...{ arguments: args, description: '`'.repeat(8_000), reason: '<'.repeat(8_000), toolName: 'n'.repeat(256) },
      approval: { title: '&'.repeat(256), toolDescription: '_'.repeat(8_000), metadata: { text: '*'.repeat(8_000) } },
    });
    expect(await opened.channel.send([notice], { signal })).toMatchObject({ status: 'delivered' });
    if (opened.channel.type !== 'webhook')
      expect(await opened.shown()).toMatch(/⟦[\d,]+ (more lines|characters)|more is not shown/);
  });

  it('changes a copy after a decision made elsewhere: it says who decided, and nothing can be pressed any more', async () => {
    const { channel } = opened;
    const sent = await channel.send([sampleNotice()], { signal });
    if (channel.update === undefined) return;
    const messageRef = sent.status === 'delivered' ? (sent.messageRef ?? '') : '';
    const response = {
      respondedBy: 'bob',
      onBehalfOf: null,
      decision: { type: 'deny' },
      reason: 'too risky',
      respondedAt: '2026-11-22T10:01:00.000Z',
      via: 'inbox',
      counted: true,
      number: 1,
    } as const;
    const decided = sampleNotice({ approval: { state: 'denied', responses: [response], resolution: 'denied' } });
    expect(await channel.update(messageRef, decided, { signal })).toEqual({ status: 'delivered', messageRef });
    const [before = '', after = ''] = await opened.messages();
    expect(before).toMatch(/Approve/);
    expect(after).not.toMatch(/Approve|callback_data|action_id/);
    expect(await opened.shown()).toContain('bob denied via inbox');
  });

  it('links to the inbox, where a person sees the whole and decides after signing in', async () => {
    await opened.channel.send([sampleNotice()], { signal });
    const [message = ''] = await opened.messages();
    expect(message).toMatch(
      opened.channel.type === 'email' ? /\/a\// : /https:\/\/countersign\.example\.com\/approvals\/apr_/,
    );
  });

  it('lists several approvals in one digest, the oldest first, with links and without arguments or a way to decide', async () => {
    const digest = (toolCallId: string, toolName: string, requestedAt: string) =>
      sampleNotice({
        ...{ toolCallId, toolName, arguments: { path: 'canary-path' }, approval: { requestedAt } },
        notice: { kind: 'digest', nth: 1_795_336_200 },
      });
    const later = digest('call-2', 'later_tool', '2026-11-22T10:00:00.000Z');
    const sooner = digest('call-1', 'sooner_tool <!channel> @all', '2026-11-22T09:00:00.000Z');
    expect(await opened.channel.send([later, sooner], { signal })).toMatchObject({ status: 'delivered' });
    const messages = await opened.messages();
    expect(messages).toHaveLength(1);
    const [message = ''] = messages;
    expect(message.indexOf('sooner_tool')).toBeGreaterThan(0);
    expect(message.indexOf('sooner_tool')).toBeLessThan(message.indexOf('later_tool'));
    for (const { approval } of [later, sooner]) expect(message).toContain(`/approvals/${approval?.approvalId ?? ''}`);
    expect(message).not.toMatch(/canary|action_id|callback_data|\/a\//);
  });

  it('takes a digest of any length', async () => {
    const many = Array.from({ length: 200 }, (_, n) =>
      sampleNotice({ toolCallId: String(n), toolName: 't'.repeat(256), notice: { kind: 'digest', nth: 1 } }),
    ) as [Notice, ...Notice[]];
    expect(await opened.channel.send(many, { signal })).toMatchObject({ status: 'delivered' });
    expect(await opened.messages()).toHaveLength(1);
    if (opened.channel.type === 'webhook') expect((await opened.shown()).length).toBeLessThanOrEqual(20_000);
    if (opened.channel.type !== 'email') expect(await opened.shown()).toMatch(/and \d+ more|"more":\d+/);
  });

  it('shows a masked value as masked, and no secret of its own', async () => {
    const password = 'canary-of-the-arguments';
    const args = maskByName({ password, nested: [{ 'api-key': password }] });
    expect(await opened.channel.send([sampleNotice({ arguments: args })], { signal })).toMatchObject({
      status: 'delivered',
    });
    const [message = ''] = await opened.messages();
    expect(message).toContain('masked');
    expect(message).not.toMatch(/canary|whsec|8f742231b10e8888/);
  });

  it(`${isAnswered ? 'has a' : 'has no'} way back`, () => {
    expect(opened.answers !== false).toBe(isAnswered);
  });
  if (isAnswered) describe('its way back', () => answersContract(() => opened));

  it('reports a failure without a secret when no server answers, and never throws', async () => {
    await opened.down();
    const result = await opened.channel.send([sampleNotice()], { signal });
    expect(result.status).toBe('failed');
    expect(JSON.stringify(result)).not.toMatch(/canary|whsec|127\.0\.0\.1/);
  });
}

/** The contract of every way to respond. */
function answersContract(opened: () => OpenedChannel): void {
  let answers: Answers;
  beforeEach(async () => {
    const { answers: given, channel } = opened();
    if (given === false) throw new Error('the channel has no way back');
    answers = given;
    const { signal } = new AbortController();
    expect(await channel.send([await answers.question()], { signal })).toMatchObject({ status: 'delivered' });
  });

  it('takes an answer in the name of the person, once, however often it comes', async () => {
    expect(await answers.press('approve')).toMatchObject({ isRefused: false });
    await answers.press('approve');
    expect(await answers.decided()).toEqual(['approve by alice']);
  });

  it.each(['sender', 'token', 'person'] as const)('refuses an answer whose %s is forged', async (forgery) => {
    const { isRefused, told } = await answers.press('approve', forgery);
    expect(await answers.decided()).toEqual([]);
    // Only an address that could be the real sender's gets an error; others are dropped.
    expect(isRefused || /expired|not known|not for you/.test(told)).toBe(true);
    if (forgery === 'sender') expect(isRefused).toBe(true);
  });

  it('tells a late answer who was first', async () => {
    await answers.decideElsewhere();
    expect((await answers.press('deny')).told).toMatch(/approved.*bob|bob.*approved/);
    expect(await answers.decided()).toEqual(['approve by bob']);
  });
}
