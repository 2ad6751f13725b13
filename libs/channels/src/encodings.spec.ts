import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodersOf, openEncodedServer, refusedEncodings, type EncodedServer } from '@countersign/http-client/testing';
import { Secret, systemClock } from '@countersign/runtime';
import { createSlackChannel } from './slack/slack-channel.js';
import { createSlackConnection } from './slack/slack-socket-client.js';
import { createTelegramChannel } from './telegram/telegram-channel.js';
import { sampleNotice } from './testing/notices.js';
import { publicUrl, slackConfig, slackSocketConfig, telegramConfig, webhookSecret } from './testing/opened.js';
import { createWebhookChannel } from './webhook/webhook-channel.js';
import type { Channel } from './channel.js';

let server: EncodedServer;

beforeAll(async () => {
  server = await openEncodedServer();
});
afterAll(() => server.close());

const vendors: Readonly<Record<string, () => Channel>> = {
  Slack: () => createSlackChannel({ ...slackConfig, apiUrl: server.url }, { publicUrl }),
  Telegram: () => createTelegramChannel({ ...telegramConfig, apiUrl: server.url }, { publicUrl }),
};
const send = (channel: Channel) => channel.send([sampleNotice()], { signal: new AbortController().signal });

describe.each(Object.keys(vendors))('%s', (vendor) => {
  it.each(refusedEncodings.map((encodings) => ({ encodings })))(
    'cannot make us decode $encodings',
    async ({ encodings }) => {
      server.answerWith(encodings, '{"ok":true,"ts":"1.2","result":{"message_id":1,"chat":{"id":1}}}');
      const channel = vendors[vendor]?.();
      if (channel === undefined) throw new Error(vendor);
      const decoders = await decodersOf(async () => {
        await expect(send(channel)).resolves.toMatchObject({ status: expect.not.stringMatching('delivered') });
      });
      expect(decoders).toBe(0);
      expect(server.received.at(-1)).not.toMatch(/accept-encoding: (?!identity)/i);
    },
  );
});

it('the connection of Slack is not opened by a compressed response', async () => {
  server.answerWith(['br'], '{"ok":true,"url":"ws://127.0.0.1:1"}');
  const decoders = await decodersOf(async () => {
    const config = { ...slackSocketConfig, apiUrl: server.url };
    const connection = createSlackConnection(config, () => undefined, new AbortController().signal);
    await expect(connection.open()).rejects.toThrow('content-encoding');
  });
  expect(decoders).toBe(0);
});

it('a webhook asks for no compression, and the body of the response is not read', async () => {
  server.answerWith(['br'], 'thanks');
  const config = { id: 'pager', type: 'webhook', url: server.url, allowPrivateNetwork: true } as const;
  const channel = createWebhookChannel(
    { ...config, secret: new Secret(webhookSecret) },
    { clock: systemClock, publicUrl },
  );
  const decoders = await decodersOf(async () => {
    await expect(send(channel)).resolves.toMatchObject({ status: 'delivered' });
  });
  expect(decoders).toBe(0);
  expect(server.received.at(-1)).toContain('accept-encoding: identity\r\n');
});
