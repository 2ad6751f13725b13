import { createHmac } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@countersign/runtime';
import type { Secret } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import type { ResponsePort } from '../response-port.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import type { Notice } from '../channel.js';
import { listenToSlack } from '../slack/slack-socket.js';
import { createSlackSurface } from '../slack/slack-surface.js';
import type { SurfaceRequest, SurfaceResponse } from '../surface.js';
import type { BotFrameworkAuth } from '../teams/bot-framework-auth.js';
import type { AdaptiveCard } from '../teams/adaptive-card.js';
import { createTeamsSurface } from '../teams/teams-surface.js';
import { createTelegramSurface } from '../telegram/telegram-surface.js';
import { alice, sampleNotice } from './notices.js';
import { slackPress } from './slack-payloads.js';
import type { SlackServer } from './slack-server.js';
import { interactive } from './slack-sockets.js';
import { teamsPress } from './teams-server.js';
import type { TeamsServer } from './teams-server.js';
import type { TelegramServer } from './telegram-server.js';

/** The forged part of a response: its sender, its token, or its person. */
export type Forgery = 'sender' | 'token' | 'person';

/** How people respond to the messages of a channel. */
export interface Answers {
  /** A question that is pending. */
  readonly question: () => Promise<Notice>;
  /** Responds to the last message as its reader would. Returns whether it was refused, and the reply. */
  readonly press: (type: 'approve' | 'deny', forgery?: Forgery) => Promise<{ isRefused: boolean; told: string }>;
  /** Bob approves in the inbox. */
  readonly decideElsewhere: () => Promise<void>;
  /** The recorded decision, such as `approve by alice`. */
  readonly decided: () => Promise<readonly string[]>;
}

interface LocalDesk extends Pick<Answers, 'decideElsewhere' | 'decided'> {
  readonly responses: ResponsePort;
}

/** A port with one approval and the ledger's rules: one decision, and a repeated command adds nothing. */
function createLocalDesk(notice: Notice): LocalDesk {
  const decisions: { readonly commandId: string; readonly words: string; readonly by: string; readonly via: string }[] =
    [];
  const decide: ResponsePort['answer'] = async ({ commandId, decision, person, channelId: via }) => {
    const [first] = decisions;
    if (first?.commandId === commandId) return { status: 'recorded' };
    if (first === undefined) {
      decisions.push({ commandId, words: `${decision.type} by ${person.id}`, by: person.id, via });
      return { status: 'recorded' };
    }
    const winner = { respondedBy: first.by, respondedAt: notice.at, via: first.via, resolution: 'approved' };
    return { status: 'refused', code: 'already-resolved', detail: 'it is decided', winner };
  };
  return {
    responses: {
      find: (id) => Promise.resolve(id === notice.approval?.approvalId ? notice : undefined),
      answer: decide,
    },
    decideElsewhere: async () => {
      decisions.push({ commandId: 'bob', words: 'approve by bob', by: 'bob', via: 'inbox' });
    },
    decided: () => Promise.resolve(decisions.map(({ words }) => words)),
  };
}

/** A token of ours with another meaning. */
function forged(token: string): string {
  return token.replace(/^[ad]/, (action) => (action === 'a' ? 'd' : 'a'));
}

async function finished(response: SurfaceResponse): Promise<boolean> {
  await response.done;
  return response.status >= 400;
}

/** The way back of a Slack channel: signed form posts. */
export function slackAnswers(config: ChannelConfigOf<'slack'>, server: SlackServer): Answers {
  const notice = sampleNotice();
  const { responses, ...local } = createLocalDesk(notice);
  const surface = createSlackSurface(config, slackPorts(responses));
  return {
    ...local,
    question: () => Promise.resolve(notice),
    press: async (type, forgery) => {
      const payload = pressOf(server, type, forgery);
      const request = signedForm(payload, config.signingSecret, forgery === 'sender');
      return { isRefused: await finished(await surface.receive(request)), told: toldInSlack(server) };
    },
  };
}

/** The responses of a Slack channel in socket mode: envelopes. Only Slack can send one; a post is refused. */
export function slackSocketAnswers(config: ChannelConfigOf<'slack'>, server: SlackServer): Answers {
  const notice = sampleNotice();
  const { responses, ...local } = createLocalDesk(notice);
  const ports = slackPorts(responses);
  const surface = createSlackSurface(config, ports);
  return {
    ...local,
    question: () => Promise.resolve(notice),
    press: async (type, forgery) => {
      const payload = pressOf(server, type, forgery);
      if (forgery === 'sender') {
        return { isRefused: await finished(await surface.receive(signedForm(payload, undefined, false))), told: '' };
      }
      const before = server.sockets.opened();
      const stop = listenToSlack(config, ports);
      while (server.sockets.opened() === before) await nextTurn();
      await server.sockets.deliver(interactive(payload));
      await stop();
      if (server.sockets.violations.length > 0) throw new Error(server.sockets.violations.join());
      return { isRefused: false, told: toldInSlack(server) };
    },
  };
}

function slackPorts(responses: ResponsePort) {
  return { responses, people: () => [alice], clock: systemClock, log: createSilentLog(), publicUrl: null };
}

function pressOf(server: SlackServer, type: 'approve' | 'deny', forgery?: Forgery) {
  const value = slackTokenOf(server, type);
  const stranger = forgery === 'person' ? { user: { id: 'U99', team_id: 'T01' } } : {};
  return slackPress(type, forgery === 'token' ? forged(value) : value, stranger);
}

function toldInSlack(server: SlackServer): string {
  return JSON.stringify(server.calls().findLast(({ method }) => method === 'views.open')?.args ?? '');
}

function slackTokenOf(server: SlackServer, actionId: string): string {
  const card = server.calls().findLast(({ method }) => method === 'chat.postMessage');
  const blocks = (card?.args['blocks'] ?? []) as readonly {
    readonly elements?: readonly { readonly action_id: string; readonly value: string }[];
  }[];
  return blocks.flatMap(({ elements = [] }) => elements).find(({ action_id: id }) => id === actionId)?.value ?? '';
}

function signedForm(payload: object, secret: Secret | undefined, isForged: boolean): SurfaceRequest {
  const body = Buffer.from(new URLSearchParams({ payload: JSON.stringify(payload) }).toString());
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = isForged ? 'another secret' : (secret?.reveal() ?? '');
  const mac = createHmac('sha256', key).update(`v0:${timestamp}:${body.toString()}`).digest('hex');
  return { body, headers: { 'x-slack-request-timestamp': timestamp, 'x-slack-signature': `v0=${mac}` } };
}

/** The way back of a Teams channel: activities with a token of the Bot Connector. */
export function teamsAnswers(config: ChannelConfigOf<'teams'>, server: TeamsServer, auth: BotFrameworkAuth): Answers {
  const notice = sampleNotice();
  const { responses, ...local } = createLocalDesk(notice);
  const surface = createTeamsSurface(config, { ...slackPorts(responses), auth });
  return {
    ...local,
    question: () => Promise.resolve(notice),
    press: async (type, forgery) => {
      const { verb, data } = executeOf(server, type);
      const action = { verb, data: { ...data, value: forgery === 'token' ? forged(data.value) : data.value } };
      const stranger = { from: { id: '29:1', aadObjectId: 'ffffffff-0000-4000-8000-000000000001' } };
      const { conversation: place } = config;
      const card = { conversation: typeof place === 'string' ? place : '', id: '1700000000000' };
      const activity = teamsPress(config, card, action, forgery === 'person' ? stranger : {});
      const token = server.tokenFor({}, forgery === 'sender' ? 'unknown' : 'endorsed');
      const headers = { authorization: `Bearer ${token}` };
      const response = await surface.receive({ body: Buffer.from(JSON.stringify(activity)), headers });
      return { isRefused: await finished(response), told: JSON.stringify(response.body ?? '') };
    },
  };
}

/** The button of the last card that was posted. */
export function executeOf(
  server: TeamsServer,
  type: 'approve' | 'deny',
): { readonly verb: string; readonly data: { readonly value: string } } {
  const card = server.calls().findLast(({ method }) => method === 'POST');
  const [attachment] = (card?.args['attachments'] ?? []) as readonly { readonly content: AdaptiveCard }[];
  const execute = attachment?.content.actions.find(
    (action) => action.type === 'Action.Execute' && action.verb === `countersign/${type}`,
  );
  if (execute?.type !== 'Action.Execute') throw new Error(`the last card has no button ${type}`);
  return execute as unknown as ReturnType<typeof executeOf>;
}

/** The way back of a Telegram channel: updates with the secret of the webhook. */
export function telegramAnswers(config: ChannelConfigOf<'telegram'>, server: TelegramServer): Answers {
  const notice = sampleNotice();
  const { responses, ...local } = createLocalDesk(notice);
  const surface = createTelegramSurface(config, {
    responses,
    people: () => [alice],
    clock: systemClock,
    log: createSilentLog(),
    publicUrl: null,
  });
  return {
    ...local,
    question: () => Promise.resolve(notice),
    press: async (type, forgery) => {
      const card = server.calls().findLast(({ method }) => method === 'sendMessage');
      const keyboard = card?.args['reply_markup'] as
        { readonly inline_keyboard: readonly (readonly { readonly callback_data: string }[])[] } | undefined;
      const buttons = keyboard?.inline_keyboard.flat().map(({ callback_data: data }) => data) ?? [];
      const data = buttons.find((one) => one.startsWith(type === 'approve' ? 'a' : 'd')) ?? '';
      const update = {
        update_id: 9,
        callback_query: {
          ...{ id: 'query-1', chat_instance: '1', data: forgery === 'token' ? forged(data) : data },
          from: { id: forgery === 'person' ? 1 : 4711, is_bot: false, first_name: 'Alice' },
          message: { message_id: 101, date: 1, chat: { id: Number(config.chat), type: 'group', title: 'ops' } },
        },
      };
      const secret = forgery === 'sender' ? 'wrong' : config.webhookSecret?.reveal();
      const headers = { 'x-telegram-bot-api-secret-token': secret };
      const isRefused = await finished(await surface.receive({ body: Buffer.from(JSON.stringify(update)), headers }));
      const told = server.calls().findLast(({ method }) => method === 'answerCallbackQuery');
      return { isRefused, told: JSON.stringify(told?.args['text'] ?? '') };
    },
  };
}
