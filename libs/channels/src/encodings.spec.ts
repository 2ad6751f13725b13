import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { deflateRawSync } from 'node:zlib';
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

describe('the handshake of a connection to Slack', () => {
  let link: EncodedServer;
  beforeAll(async () => {
    link = await openEncodedServer();
  });
  afterAll(() => link.close());

  it.each(refusedEncodings.map((encodings) => ({ encodings })))(
    'cannot make us decode $encodings',
    async ({ encodings }) => {
      link.answerWith(encodings, 'not found');
      expect(await decodersOf(() => refuseLink(link.url))).toBe(0);
      expect(link.received.at(-1)).toContain('accept-encoding: identity\r\n');
    },
  );

  it('cannot choose compressed messages, which were not offered', async () => {
    const heads: unknown[] = [];
    const hello = deflateRawSync('{"type":"hello"}');
    const hostile = createServer().on('upgrade', ({ headers }, socket) => {
      heads.push(headers);
      const key = `${headers['sec-websocket-key'] ?? ''}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
      const accept = createHash('sha1').update(key).digest('base64');
      const lines = ['HTTP/1.1 101 Switching Protocols', 'upgrade: websocket', 'connection: Upgrade'];
      lines.push(`sec-websocket-accept: ${accept}`, 'sec-websocket-extensions: permessage-deflate');
      socket.on('error', () => socket.destroy()).on('end', () => socket.destroy());
      socket.resume();
      socket.write(`${lines.join('\r\n')}\r\n\r\n`);
      socket.write(Buffer.concat([Buffer.from([0xc1, hello.length]), hello]));
    });
    await new Promise<void>((resolve) => hostile.listen(0, '127.0.0.1', resolve));
    const { port } = hostile.address() as AddressInfo;
    expect(await decodersOf(() => refuseLink(`http://127.0.0.1:${String(port)}`))).toBe(0);
    expect(heads).toEqual([expect.not.objectContaining({ 'sec-websocket-extensions': expect.anything() })]);
    await new Promise((resolve) => hostile.close(resolve));
  });

  async function refuseLink(url: string): Promise<void> {
    server.answerWith([], JSON.stringify({ ok: true, url: url.replace('http', 'ws') }));
    const config = { ...slackSocketConfig, apiUrl: server.url };
    const connection = createSlackConnection(config, () => undefined, new AbortController().signal);
    // The vendor's client rejects without an error when the connection ends before Slack's hello.
    await expect(connection.open()).rejects.toBeUndefined();
  }
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
