import { Api, GrammyError } from 'grammy';
import { createAnswerTokens } from '../answer-token.js';
import type { AnswerTokens } from '../answer-token.js';
import type { Channel, LinkPorts, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { isDigest } from '../digest-list.js';
import { telegramDigestOf, telegramMessageOf } from './telegram-message.js';

const timeoutSeconds = 10;

/** Cards in a Telegram chat, with buttons until they are decided anywhere. */
export function createTelegramChannel(config: ChannelConfigOf<'telegram'>, { publicUrl }: LinkPorts): Channel {
  const api = createTelegramApi(config);
  const tokens = createTelegramTokens(config);
  return {
    id: config.id,
    type: 'telegram',
    addressing: 'shared',
    gatherMs: 0,
    tellsOutcomeBelow: false,
    send: (notices, { inReplyTo }) =>
      attempt(async () => {
        const { text, ...message } = isDigest(notices)
          ? telegramDigestOf(notices, publicUrl)
          : telegramMessageOf(notices[0], tokens, publicUrl);
        const replyTo = inReplyTo === undefined ? undefined : parseTelegramRef(inReplyTo).messageId;
        const reply =
          replyTo === undefined ? {} : { reply_parameters: { message_id: replyTo, allow_sending_without_reply: true } };
        const sent = await api.sendMessage(config.chat, text, { ...message, ...reply });
        return `${String(sent.chat.id)}:${String(sent.message_id)}`;
      }),
    update: (messageRef, notice) =>
      attempt(async () => {
        const { chat, messageId } = parseTelegramRef(messageRef);
        const { text, ...message } = telegramMessageOf(notice, tokens, publicUrl);
        await api.editMessageText(chat, messageId, text, message).catch(unlessUnchanged);
        return messageRef;
      }),
  };
}

/** The client of a Telegram channel. It neither retries nor waits. */
export function createTelegramApi({ botToken, apiUrl }: ChannelConfigOf<'telegram'>): Api {
  return new Api(botToken.reveal(), {
    apiRoot: apiUrl.replace(/\/+$/, ''),
    timeoutSeconds,
    // The vendor's client asks for no compression then, and decodes none.
    baseFetchConfig: { compress: false },
  });
}

/** The tokens in the buttons of a Telegram channel. */
export function createTelegramTokens({ webhookSecret, botToken, id }: ChannelConfigOf<'telegram'>): AnswerTokens {
  return createAnswerTokens(webhookSecret ?? botToken, id);
}

/** The chat and number of a copy. */
export function parseTelegramRef(messageRef: string): { readonly chat: string; readonly messageId: number } {
  const at = messageRef.lastIndexOf(':');
  return { chat: messageRef.slice(0, at), messageId: Number(messageRef.slice(at + 1)) };
}

/** An update that an earlier try has already made, whose response was lost, counts as made. */
function unlessUnchanged(error: unknown): void {
  if (error instanceof GrammyError && error.description.includes('message is not modified')) return;
  throw error;
}

async function attempt(call: () => Promise<string>): Promise<SendResult> {
  try {
    return { status: 'delivered', messageRef: await call() };
  } catch (error) {
    // The message of any other error could name the url, and that has the bot's token in it.
    if (!(error instanceof GrammyError)) return { status: 'failed', reason: 'Telegram does not respond' };
    const { error_code: code, parameters } = error;
    const reason = `Telegram answers ${String(code)}`;
    if (code === 429) return { status: 'failed', reason, retryAfterMs: (parameters.retry_after ?? 1) * 1000 };
    // 400 concerns this message; 401, 403 and 404 concern the bot or the chat, and can be fixed.
    return { status: code === 400 ? 'refused' : 'failed', reason };
  }
}
