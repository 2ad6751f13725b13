import { Secret, systemClock } from '@countersign/runtime';
import PostalMime from 'postal-mime';
import { SMTPServer } from 'smtp-server';
import type { Channel } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { createEmailChannel } from '../email/email-channel.js';
import { createSlackChannel } from '../slack/slack-channel.js';
import type { BotFrameworkAuth, BotFrameworkBot } from '../teams/bot-framework-auth.js';
import { createTeamsChannel } from '../teams/teams-channel.js';
import { createTelegramChannel } from '../telegram/telegram-channel.js';
import { createWebhookChannel } from '../webhook/webhook-channel.js';
import { slackAnswers, slackSocketAnswers, teamsAnswers, telegramAnswers } from './answers.js';
import type { Answers } from './answers.js';
import { openSlackServer } from './slack-server.js';
import type { SlackServer } from './slack-server.js';
import { openTeamsServer } from './teams-server.js';
import { openTelegramServer } from './telegram-server.js';
import { openVendorServer } from './vendor-server.js';

/** A channel with its own fake server that speaks the vendor's protocol. */
export interface OpenedChannel {
  readonly channel: Channel;
  /** Each received message, as its reader's program gets it. */
  readonly messages: () => Promise<readonly string[]>;
  /** The texts of a message that a program would show, its formats read. */
  readonly shown: () => Promise<string>;
  /** False: people do not respond through it. */
  readonly answers: Answers | false;
  /** Breaks the other side. */
  readonly down: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export const publicUrl = 'https://countersign.example.com/';

export const slackConfig = {
  id: 'ops-slack',
  type: 'slack',
  mode: 'http',
  channel: 'C0123',
  appToken: undefined,
  botToken: new Secret('xoxb-canary-bot-token'),
  signingSecret: new Secret('8f742231b10e8888abcd99yyyzzz85a5'),
} as const;

export const slackSocketConfig = {
  ...slackConfig,
  mode: 'socket',
  signingSecret: undefined,
  appToken: new Secret('xapp-canary-app-token'),
} as const;

export const telegramConfig = {
  id: 'ops-telegram',
  type: 'telegram',
  mode: 'webhook',
  chat: '-100123',
  botToken: new Secret('4711:canary-bot-token'),
  webhookSecret: new Secret('canary-webhook-secret'),
} as const;

export const teamsConfig = {
  id: 'ops-teams',
  type: 'teams',
  tenant: '11111111-0000-4000-8000-000000000001',
  appId: '22222222-0000-4000-8000-000000000002',
  conversation: '19:ops@thread.tacv2',
  clientSecret: new Secret('canary-client-secret'),
} as const;

export const teamsBot = { ...teamsConfig, clientSecret: teamsConfig.clientSecret.reveal() };

export async function openSlack(): Promise<OpenedChannel> {
  const server = await openSlackServer(slackConfig.botToken.reveal());
  const config = { ...slackConfig, apiUrl: server.url };
  return openedSlack(server, config, slackAnswers(config, server));
}

export async function openSlackSocket(): Promise<OpenedChannel> {
  const { botToken, appToken } = slackSocketConfig;
  const server = await openSlackServer(botToken.reveal(), appToken.reveal());
  const config = { ...slackSocketConfig, apiUrl: server.url };
  return openedSlack(server, config, slackSocketAnswers(config, server));
}

function openedSlack(server: SlackServer, config: ChannelConfigOf<'slack'>, answers: Answers): OpenedChannel {
  return {
    channel: createSlackChannel(config, { publicUrl }),
    answers,
    messages: async () => server.calls().map(({ args }) => JSON.stringify(args)),
    shown: async () => JSON.stringify(server.calls().at(-1)?.args['blocks']),
    down: server.close,
    close: server.close,
  };
}

export async function openTelegram(): Promise<OpenedChannel> {
  const server = await openTelegramServer(telegramConfig.botToken.reveal());
  const config = { ...telegramConfig, apiUrl: server.url };
  return {
    channel: createTelegramChannel(config, { publicUrl }),
    answers: telegramAnswers(config, server),
    messages: async () => server.calls().map(({ args }) => JSON.stringify(args)),
    shown: async () => String(server.calls().at(-1)?.args['text']),
    down: server.close,
    close: server.close,
  };
}

/** A Teams channel. `createAuth` is the gateway's. */
export async function openTeams(createAuth: (bot: BotFrameworkBot) => BotFrameworkAuth): Promise<OpenedChannel> {
  const server = await openTeamsServer(teamsBot);
  const config = { ...teamsConfig, ...server.urls };
  return {
    channel: createTeamsChannel(config, { clock: systemClock, publicUrl }),
    answers: teamsAnswers(config, server, createAuth(config)),
    messages: async () => server.calls().map(({ args }) => JSON.stringify(args)),
    shown: async () => JSON.stringify(server.calls().at(-1)?.args['attachments']),
    down: server.close,
    close: server.close,
  };
}

export const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

export async function openWebhook(): Promise<OpenedChannel> {
  const server = await openVendorServer(() => ({ status: 204 }));
  const secret = new Secret(webhookSecret);
  const config = { id: 'pager', type: 'webhook', url: server.url, secret, allowPrivateNetwork: true } as const;
  return {
    channel: createWebhookChannel(config, { clock: systemClock, publicUrl }),
    answers: false,
    messages: async () => server.received.map(({ body }) => body),
    shown: async () => server.received.at(-1)?.body ?? '',
    down: server.close,
    close: server.close,
  };
}

/** A mail as a mail program reads it. */
export interface ReadMail {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
  readonly to: readonly string[];
  readonly messageId: string;
  readonly headers: readonly string[];
}

/** A real SMTP server. `reply`: its answer to every recipient instead of 250. */
export async function openMailServer(reply?: number): Promise<{
  readonly url: string;
  readonly mails: () => Promise<readonly ReadMail[]>;
  readonly raw: readonly string[];
  readonly close: () => Promise<void>;
}> {
  const raw: string[] = [];
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    onRcptTo: (_address, _session, done) =>
      done(reply === undefined ? null : Object.assign(new Error('no'), { responseCode: reply })),
    onData: (stream, _session, done) => {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', () => {
        raw.push(Buffer.concat(chunks).toString());
        done();
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  const mails = (): Promise<readonly ReadMail[]> =>
    Promise.all(
      raw.map(async (one) => {
        const mail = await PostalMime.parse(one);
        const to = (mail.to ?? []).map((each) => each.address ?? '');
        const headers = mail.headers.map(({ key }) => key);
        return {
          subject: mail.subject ?? '',
          text: mail.text ?? '',
          html: mail.html ?? '',
          to,
          messageId: mail.messageId ?? '',
          headers,
        };
      }),
    );
  const close = (): Promise<void> => new Promise((resolve) => server.close(() => resolve()));
  return { url: `smtp://127.0.0.1:${String(port)}`, mails, raw, close };
}

/** An email channel. Responses use a page of the gateway, which has its own tests. */
export async function openEmail(
  gatewayUrl: string,
  answersOf: (server: Awaited<ReturnType<typeof openMailServer>>) => Answers,
): Promise<OpenedChannel> {
  const server = await openMailServer();
  return {
    channel: createEmailChannel(mailConfigOf(server.url), { publicUrl: gatewayUrl }),
    answers: answersOf(server),
    messages: async () => (await server.mails()).map((mail) => JSON.stringify(mail)),
    shown: async () => (await server.mails()).at(-1)?.text ?? '',
    down: server.close,
    close: server.close,
  };
}

export function mailConfigOf(url: string): ChannelConfigOf<'email'> {
  return { id: 'mail', type: 'email', smtp: new Secret(url), from: 'Countersign <c@example.com>' };
}
