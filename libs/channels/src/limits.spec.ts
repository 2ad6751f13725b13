import { systemClock } from '@countersign/runtime';
import { createSlackChannel } from './slack/slack-channel.js';
import { createTeamsChannel } from './teams/teams-channel.js';
import { createTelegramChannel } from './telegram/telegram-channel.js';
import { sampleNotice } from './testing/notices.js';
import { publicUrl, slackConfig, teamsBot, teamsConfig, telegramConfig } from './testing/opened.js';
import { openSlackServer } from './testing/slack-server.js';
import { openTeamsServer } from './testing/teams-server.js';
import { openTelegramServer } from './testing/telegram-server.js';

const { signal } = new AbortController();

it('Slack that asks for patience is asked once, and for how long is passed on', async () => {
  const server = await openSlackServer(slackConfig.botToken.reveal());
  const channel = createSlackChannel({ ...slackConfig, apiUrl: server.url }, { publicUrl });
  const limited = { status: 429, headers: { 'retry-after': '30' }, body: { ok: false, error: 'ratelimited' } };
  server.next.push(limited, limited);
  expect(await channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'failed', retryAfterMs: 30_000 });
  expect(await channel.update?.('C0123:1700000000.000001', sampleNotice(), { signal })).toMatchObject({
    status: 'failed',
    retryAfterMs: 30_000,
  });
  expect(server.received).toHaveLength(2);
  expect(await channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'delivered' });
  await server.close();
});

it('Telegram that asks for patience is asked once, and for how long is passed on', async () => {
  const server = await openTelegramServer(telegramConfig.botToken.reveal());
  const channel = createTelegramChannel({ ...telegramConfig, apiUrl: server.url }, { publicUrl });
  const body = { ok: false, error_code: 429, description: 'Too Many Requests', parameters: { retry_after: 17 } };
  server.next.push({ status: 429, body }, { status: 429, body });
  expect(await channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'failed', retryAfterMs: 17_000 });
  expect(await channel.update?.('-100123:101', sampleNotice(), { signal })).toMatchObject({
    status: 'failed',
    retryAfterMs: 17_000,
  });
  expect(server.received).toHaveLength(2);
  expect(await channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'delivered' });
  await server.close();
});

it('Teams that hangs is given up within 15 s, also where its token was late', async () => {
  const server = await openTeamsServer(teamsBot);
  const channel = createTeamsChannel({ ...teamsConfig, ...server.urls }, { clock: systemClock, publicUrl });
  server.next.push('hang');
  const from = performance.now();
  expect(await channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'failed' });
  expect(performance.now() - from).toBeLessThan(15_000);
  expect(await channel.send([sampleNotice()], { signal })).toMatchObject({ status: 'delivered' });
  await server.close();
});

it.concurrent.each([
  [
    'Slack',
    () => openSlackServer(slackConfig.botToken.reveal()),
    (apiUrl: string) => createSlackChannel({ ...slackConfig, apiUrl }, { publicUrl }),
  ],
  [
    'Telegram',
    () => openTelegramServer(telegramConfig.botToken.reveal()),
    (apiUrl: string) => createTelegramChannel({ ...telegramConfig, apiUrl }, { publicUrl }),
  ],
] as const)('%s that hangs is given up within 15 s', async (_name, open, create) => {
  const server = await open();
  server.next.push('hang');
  const from = performance.now();
  expect(await create(server.url).send([sampleNotice()], { signal })).toMatchObject({ status: 'failed' });
  expect(performance.now() - from).toBeLessThan(15_000);
  await server.close();
});
