import { hostileTexts } from './testing/hostile-texts.js';
import { sampleNotice } from './testing/notices.js';
import { openMailServer, openSlack, slackConfig } from './testing/opened.js';
import { cardOf } from './card/card.js';
import { createEmailChannel } from './email/email-channel.js';
import { htmlOf } from './email/mail-text.js';
import { Secret } from '@countersign/runtime';
import { messageOf } from './slack/blocks.js';
import { createSlackTokens } from './slack/slack-channel.js';
import { telegramMessageOf } from './telegram/telegram-message.js';

const { signal } = new AbortController();
const noticeOf = (text: string) =>
  sampleNotice({
    ...{ toolName: text, arguments: { [text]: text }, reason: text, description: text },
    approval: { title: text, toolDescription: `d ${text}`, metadata: { [text]: text } },
  });

describe('in a mail', () => {
  it.each(hostileTexts)('$name is no markup, no header and no address', async ({ text }) => {
    const server = await openMailServer();
    const config = { id: 'mail', type: 'email', smtp: new Secret(server.url), from: 'C <c@example.com>' } as const;
    const sent = await createEmailChannel(config, { publicUrl: 'https://c.example' }).send([noticeOf(text)], {
      signal,
    });
    expect(sent.status).toBe('delivered');
    const [mail] = await server.mails();
    await server.close();
    expect(mail?.html).not.toMatch(/<script|<img|onmouseover="/);
    expect(
      [...(mail?.html ?? '').matchAll(/href="([^"]*)"/g)].every(([, href = '']) =>
        href.startsWith('https://c.example/a/'),
      ),
    ).toBe(true);
    expect(mail?.to).toEqual(['alice@example.com']);
    expect(mail?.headers).not.toContain('bcc');
  });
});

describe('in the HTML of a mail', () => {
  it('two spaces stay two, in the name of the tool and in a label', () => {
    const notice = sampleNotice({ toolName: 'rm  all', approval: { labels: { cwd: '/srv/a  b' } } });
    const html = htmlOf([{ card: cardOf(notice, 3_000), link: null }]);
    const spaced = [...html.matchAll(/<(\w+)([^>]*)>([^<]*\S {2}\S[^<]*)/g)];
    expect(spaced.map(([, tag]) => tag)).toEqual(['h2', 'td', 'td']);
    for (const [, , attributes] of spaced) expect(attributes).toContain('white-space:pre-wrap');
  });
});

it('in Telegram a name or a place is neither link nor mention nor command, also in the headline and in a warning', () => {
  const name = 'sign-in.example.com/@all_admins';
  const schemaNotes = [{ pointer: `/${name}`, why: 'is odd' }];
  const notice = sampleNotice({ toolName: name, approval: { schemaNotes, requestedBy: name, labels: { cwd: name } } });
  const { text, entities } = telegramMessageOf(notice, { seal: () => 'token' }, null);
  const isCode = (at: number): boolean =>
    entities.some(({ type, offset, length }) => type !== 'bold' && offset <= at && at < offset + length);
  const places = Array.from(text.matchAll(/sign-in/g), ({ index }) => index);
  expect(places.length).toBeGreaterThan(4);
  expect(places.filter((at) => !isCode(at))).toEqual([]);
});

describe('in Slack', () => {
  it.each(hostileTexts)('$name is neither mention nor link nor the end of a fence', ({ text }) => {
    const tokens = createSlackTokens({ ...slackConfig, apiUrl: '' });
    const { text: fallback, blocks } = messageOf(noticeOf(text), tokens, null);
    expect(fallback).not.toMatch(/<[!@#h]/);
    const formatted = blocks.flatMap((block) =>
      block.type === 'section' && block.text?.type === 'mrkdwn' ? [block.text.text] : [],
    );
    expect(formatted).toHaveLength(1);
    for (const one of formatted) {
      expect(one).not.toMatch(/<[!@#h]/);
      expect(one.match(/```/g)).toHaveLength(2);
    }
  });

  it('is sent with blocks that Slack takes', async () => {
    const opened = await openSlack();
    for (const { text } of hostileTexts)
      expect(await opened.channel.send([noticeOf(text)], { signal })).toMatchObject({ status: 'delivered' });
    await opened.close();
  });
});
