import { hash, timingSafeEqual } from 'node:crypto';
import type { Clock, Log } from '@countersign/runtime';
import type { Api } from 'grammy';
import { z } from 'zod';
import { answerInTime } from '../answer-in-time.js';
import { answerWords, unableWords } from '../response-port.js';
import type { ResponsePort } from '../response-port.js';
import type { AnswerTokens } from '../answer-token.js';
import { copyOf } from '../channel.js';
import type { LinkPorts } from '../channel.js';
import type { PeopleNow } from '../config/channels-file.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { readInteraction } from '../interaction.js';
import { isOnOwnCopy } from '../own-copy.js';
import { elsewhereLogWords, elsewhereWords, isPlaceOf, otherChatWords } from '../place.js';
import { answered, headerOf } from '../surface.js';
import type { Surface } from '../surface.js';
import { createTelegramApi, createTelegramTokens, successorOf, telegramRefusalOf } from './telegram-channel.js';
import { meaningOfButton, telegramMessageOf } from './telegram-message.js';

export interface TelegramSurfacePorts extends LinkPorts {
  readonly responses: ResponsePort;
  readonly people: PeopleNow;
  readonly clock: Clock;
  readonly log: Log;
}

const buttonSchema = z.object({ text: z.string(), callback_data: z.string().optional() });
const keyboardSchema = z.object({ inline_keyboard: z.array(z.array(buttonSchema)) });

const updateSchema = z.object({
  update_id: z.int(),
  callback_query: z
    .object({
      id: z.string().max(128),
      from: z.object({ id: z.int() }),
      data: z.string().max(64).optional(),
      message: z
        .object({
          message_id: z.int(),
          chat: z.object({ id: z.int(), username: z.string().optional() }),
          reply_markup: keyboardSchema.optional(),
        })
        .optional(),
    })
    .optional(),
});
type Update = z.infer<typeof updateSchema>;
type Press = NonNullable<Update['callback_query']>;

/** Telegram waits longer. */
const answerMs = 10_000;

/** Deals with updates, however they were fetched. */
export interface TelegramUpdates {
  /** Resolves when the update is handled; never rejects. */
  readonly take: (update: unknown) => Promise<void>;
}

/** Receives the updates of one bot. Each needs the secret that was set with the webhook. */
export function createTelegramSurface(config: ChannelConfigOf<'telegram'>, ports: TelegramSurfacePorts): Surface {
  const updates = createTelegramUpdates(config, ports);
  const wanted = hash('sha256', config.webhookSecret?.reveal() ?? '', 'buffer');
  return {
    channelId: config.id,
    type: 'telegram',
    receive: async (request) => {
      const given = headerOf(request, 'x-telegram-bot-api-secret-token');
      // Compares hashes, so that the time reveals nothing, not even the length.
      const isProved = given !== undefined && timingSafeEqual(hash('sha256', given, 'buffer'), wanted);
      if (config.webhookSecret === undefined || !isProved) {
        ports.log.warn({ channelId: config.id }, 'refused: a request to the Telegram surface lacks the secret');
        return answered(401);
      }
      // Telegram gives an update again until it is acknowledged: a press is recorded first, or it could be lost with the process.
      const handled = updates.take(parse(request.body)).then(() => answered(200));
      return answerInTime(handled, () => answered(503), { clock: ports.clock, limitMs: answerMs });
    },
  };
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(body).toString());
  } catch {
    return undefined;
  }
}

/**
 * Handles a press: its meaning, its person, and the reply. There is always a reply, or the button would show a spinner.
 */
export function createTelegramUpdates(
  config: ChannelConfigOf<'telegram'>,
  ports: TelegramSurfacePorts,
): TelegramUpdates {
  const api = createTelegramApi(config);
  const tokens = createTelegramTokens(config);
  const told = async (press: Press, words: string, isAlert: boolean): Promise<void> => {
    await api.answerCallbackQuery(press.id, { text: words.slice(0, 200), show_alert: isAlert });
  };
  const secrets = [config.botToken.reveal(), config.webhookSecret?.reveal()];
  const failed = (error: unknown): void => {
    const { means, reason } = telegramRefusalOf(error, secrets);
    if (means !== 'done') ports.log.warn({ channelId: config.id, reason }, 'Telegram could not be answered');
  };
  return {
    take: async (given) => {
      const update = updateSchema.safeParse(given);
      const press = update.data?.callback_query;
      if (!update.success || press === undefined) return;
      const commandId = `telegram:${config.id}:${String(update.data.update_id)}`;
      try {
        const words = await decide(config, { ...ports, api, tokens }, press, commandId).catch((error: unknown) => {
          ports.log.error({ channelId: config.id, error }, 'a button press in Telegram could not be handled');
          return { text: unableWords, isStale: false, isDone: false };
        });
        // A press can be answered for some seconds. After that the message at least shows what is true.
        await told(press, words.text, !words.isDone).catch(failed);
        if (words.isStale) await refresh(api, ports, tokens, press);
      } catch (error) {
        failed(error);
      }
    },
  };
}

interface Words {
  readonly text: string;
  /** The pressed buttons are no longer active. */
  readonly isStale: boolean;
  readonly isDone: boolean;
}

async function decide(
  config: ChannelConfigOf<'telegram'>,
  ports: TelegramSurfacePorts & { readonly api: Api; readonly tokens: AnswerTokens },
  press: Press,
  commandId: string,
): Promise<Words> {
  const { responses, people, log, api, tokens } = ports;
  const person = people().find(({ telegram }) => telegram === String(press.from.id));
  if (person === undefined) {
    log.warn({ channelId: config.id, user: press.from.id }, 'refused: a press by an unknown person');
  } else if (!(await isOurChat(config, press, api))) {
    log.warn({ channelId: config.id, person: person.id }, 'refused: a press in another chat');
    return { text: otherChatWords, isStale: false, isDone: false };
  }
  if (person !== undefined && typeof config.chat !== 'string' && !(await isOwnCopy(config, press, ports))) {
    log.warn({ channelId: config.id, person: person.id }, elsewhereLogWords);
    return { text: elsewhereWords, isStale: false, isDone: false };
  }
  const asked = { person, value: press.data, means: meaningOfButton(textOfButton(press)) };
  const pressed = await readInteraction(asked, { tokens, responses, log, channelId: config.id });
  if (pressed.status === 'told') return { text: pressed.words, isStale: pressed.isStale, isDone: false };
  const { approvalId, shownDigest, proposal } = pressed.approval;
  const type = pressed.token.action === 'd' ? 'deny' : 'approve';
  const result = await responses.answer({
    ...{
      approvalId,
      shownDigest,
      proposalDigest: proposal.digest,
      person: pressed.person,
      channelId: config.id,
      credential: `telegram:${String(press.from.id)}`,
      assurance: 'low',
      commandId,
    },
    decision: { type },
    ...(type === 'deny' ? { reason: 'Rejected by user via Telegram' } : {}),
  });
  const isDone = result.status === 'recorded';
  return { text: answerWords(result, type), isStale: !isDone, isDone };
}

function isOwnCopy(
  { id: channelId }: ChannelConfigOf<'telegram'>,
  { message, data: value }: Press,
  ports: TelegramSurfacePorts & { readonly tokens: AnswerTokens },
): Promise<boolean> {
  const messageRef = message && `${String(message.chat.id)}:${String(message.message_id)}`;
  return isOnOwnCopy({ value, messageRef }, { ...ports, channelId });
}

/**
 * The text of the pressed button, where Telegram says with which keyboard the message was shown. Telegram does not say which
 * of two buttons with one value was pressed: then their texts together, which are of no button.
 */
function textOfButton({ message, data }: Press): string | undefined {
  const buttons = message?.reply_markup?.inline_keyboard.flat() ?? [];
  const texts = new Set(buttons.filter((button) => button.callback_data === data).map(({ text }) => text));
  return texts.size === 0 ? undefined : [...texts].join('\n');
}

/** The ids of supergroups are below this one, those of groups above it. */
const supergroupIdMax = -1_000_000_000_000;

/** A press in the chat of the file, or in the supergroup that Telegram says it became. */
async function isOurChat({ chat }: ChannelConfigOf<'telegram'>, { message }: Press, api: Api): Promise<boolean> {
  if (typeof chat !== 'string') return message !== undefined && isPlaceOf(chat, String(message.chat.id));
  if (message === undefined) return true;
  if (chat.startsWith('@')) return `@${message.chat.username ?? ''}` === chat;
  const { id } = message.chat;
  if (String(id) === chat) return true;
  if (id > supergroupIdMax || Number(chat) <= supergroupIdMax) return false;
  return (await api.sendChatAction(chat, 'typing').then(() => undefined, successorOf)) === String(id);
}

async function refresh(
  api: Api,
  { responses, publicUrl }: TelegramSurfacePorts,
  tokens: AnswerTokens,
  press: Press,
): Promise<void> {
  const token = tokens.open(press.data ?? '');
  const { message } = press;
  if (message === undefined) return;
  const question = token === undefined ? undefined : await responses.find(token.approvalId);
  if (question === undefined) {
    await api.editMessageReplyMarkup(message.chat.id, message.message_id, { reply_markup: { inline_keyboard: [] } });
    return;
  }
  const { text, ...rest } = telegramMessageOf(copyOf(question), tokens, publicUrl);
  await api.editMessageText(message.chat.id, message.message_id, text, rest);
}
