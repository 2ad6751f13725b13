import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  openMailServer,
  openSlackServer,
  openTelegramServer,
  openVendorServer,
  slackPress,
  teamsBot,
} from '@countersign/channels/testing';
import type { openTeamsServer } from '@countersign/channels/testing';
import { onCleanup, temporaryFolder } from '../harness/cleanup.js';

/** Fake servers of the vendors, and a channels file that names them. */
export interface Reach {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  readonly slack: Awaited<ReturnType<typeof openSlackServer>>;
  readonly telegram: Awaited<ReturnType<typeof openTelegramServer>>;
  readonly mail: Awaited<ReturnType<typeof openMailServer>>;
  readonly hooks: Awaited<ReturnType<typeof openVendorServer>>;
}

type TeamsServer = Awaited<ReturnType<typeof openTeamsServer>>;

const signingSecret = 'slack-signing-secret';
export const telegramSecret = 'telegram-secret';
/** The conversation of the cards in Teams. */
export const teamsPlace = '19:ops@thread.tacv2';
export const webhookSecret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';

/** How responses arrive. */
export interface ReachModes {
  readonly telegramMode?: 'webhook' | 'polling';
  readonly slackMode?: 'http' | 'socket';
  /** The fake of Teams, if `ops-teams` is one of the channels. */
  readonly teams?: TeamsServer;
}

/** Opens them all; they close after the test. `routes` are lines of the file. */
export async function openReach(
  routes: readonly string[],
  { telegramMode = 'webhook', slackMode = 'http', teams }: ReachModes = {},
): Promise<Reach> {
  const folder = temporaryFolder();
  const [slack, telegram] = [await openSlackServer('xoxb-1', 'xapp-1'), await openTelegramServer('1:bot')];
  const [mail, hooks] = [await openMailServer(), await openVendorServer(() => ({ status: 204 }))];
  for (const server of [slack, telegram, mail, hooks]) onCleanup(server.close);
  const file = join(folder, 'channels.yaml');
  const slackProof =
    slackMode === 'http' ? 'signingSecret: { env: SLACK_SECRET }' : 'appToken: { env: SLACK_APP_TOKEN }';
  writeFileSync(
    file,
    `version: 1
people: [{ id: me, slack: "T01:U01", telegram: "4711", teams: "${teamsBot.tenant}:aaaaaaaa-0000-4000-8000-000000000001", email: "me@example.com" }]
channels:
  - { id: ops-slack, type: slack, mode: ${slackMode}, channel: C0123, botToken: { env: SLACK_TOKEN }, ${slackProof}, apiUrl: "${slack.url}" }
  - { id: ops-telegram, type: telegram, mode: ${telegramMode}, chat: "-100123", botToken: { env: TELEGRAM_TOKEN }, webhookSecret: { env: TELEGRAM_SECRET }, apiUrl: "${telegram.url}" }${teams === undefined ? '' : teamsLine(teams)}
  - { id: mail, type: email, smtp: { env: SMTP_URL }, from: "Countersign <c@example.com>" }
  - { id: pager, type: webhook, url: "${hooks.url}/hook", secret: { env: HOOK_SECRET }, allowPrivateNetwork: true }
routes:
${routes.map((route) => `  - ${route}`).join('\n')}
`,
  );
  const env = {
    COUNTERSIGN_CHANNELS: file,
    SLACK_TOKEN: 'xoxb-1',
    SLACK_SECRET: signingSecret,
    SLACK_APP_TOKEN: 'xapp-1',
    TELEGRAM_TOKEN: '1:bot',
    TELEGRAM_SECRET: telegramSecret,
    TEAMS_SECRET: teamsBot.clientSecret,
    SMTP_URL: mail.url,
    HOOK_SECRET: webhookSecret,
  };
  return { folder, env, slack, telegram, mail, hooks };
}

function teamsLine({ urls }: TeamsServer): string {
  const { tenant, appId } = teamsBot;
  const proof = { tenant, appId, clientSecret: { env: 'TEAMS_SECRET' } };
  return `\n  - ${JSON.stringify({ id: 'ops-teams', type: 'teams', conversation: teamsPlace, ...proof, ...urls })}`;
}

/** Presses a button, as a signed payload of Slack. */
export function pressInSlack(port: number, { action_id: actionId, value }: Button): Promise<number> {
  return sendAsSlack(port, slackPress(actionId, value));
}

/** Sends any payload with the signature of Slack. */
export async function sendAsSlack(port: number, payload: unknown): Promise<number> {
  const body = new URLSearchParams({ payload: JSON.stringify(payload) }).toString();
  const timestamp = String(Math.floor(Date.now() / 1000));
  const mac = createHmac('sha256', signingSecret).update(`v0:${timestamp}:${body}`).digest('hex');
  const answer = await fetch(`http://127.0.0.1:${String(port)}/channels/ops-slack/slack`, {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': `v0=${mac}`,
    },
    body,
  });
  return answer.status;
}

/** Presses a button, as an update of Telegram. */
export function pressInTelegram(port: number, data: string, updateId = 1): Promise<number> {
  return sendAsTelegram(port, telegramPress(data, updateId));
}

/** Sends any update with the secret of Telegram. */
export async function sendAsTelegram(port: number, update: unknown): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}/channels/ops-telegram/telegram`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-telegram-bot-api-secret-token': telegramSecret },
    body: JSON.stringify(update),
  });
  return answer.status;
}

/** Sends any activity with a token of the Bot Connector. */
export async function sendAsTeams(port: number, activity: unknown, token: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${String(port)}/channels/ops-teams/teams`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
    body: JSON.stringify(activity),
  });
  return answer.status;
}

/** The update of a press. */
export function telegramPress(
  data: string,
  updateId: number,
): { readonly update_id: number; readonly callback_query: object } {
  const message = { message_id: 101, date: 1, chat: { id: -100123, type: 'group', title: 'ops' } };
  const query = { id: 'q', from: { id: 4711, is_bot: false, first_name: 'M' }, chat_instance: '1', message, data };
  return { update_id: updateId, callback_query: query };
}

/** A button of a card in Slack. */
export interface Button {
  readonly action_id: string;
  readonly value: string;
}

/** The button of a posted card; the first one, unless a text names another. */
export function buttonOf(reach: Reach, actionId: string, text = ''): Button {
  const card = reach.slack
    .calls()
    .find(({ method, args }) => method === 'chat.postMessage' && JSON.stringify(args).includes(text));
  const blocks = (card?.args['blocks'] ?? []) as readonly { readonly elements?: readonly Button[] }[];
  const button = blocks.flatMap(({ elements = [] }) => elements).find((one) => one.action_id === actionId);
  if (button === undefined) throw new Error(`no card with ${text} has a button ${actionId}`);
  return button;
}
