import { Api, GrammyError } from 'grammy';
import { createAnswerTokens } from '../answer-token.js';
import type { AnswerTokens } from '../answer-token.js';
import { noAnswerWords, otherFormWords } from '../answers/cause-code.js';
import { toSendResult, vendorWords } from '../answers/send-result.js';
import type { Refusal } from '../answers/send-result.js';
import { meaningOf } from '../answers/vendor-answers.js';
import type { Channel, LinkPorts, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { isDigest } from '../digest-list.js';
import { isPlaceOf, locate } from '../place.js';
import { telegramDigestOf, telegramMessageOf, withdrawnMessage } from './telegram-message.js';

const timeoutSeconds = 10;

/** Cards in a Telegram chat, with buttons until they are decided anywhere. */
export function createTelegramChannel(config: ChannelConfigOf<'telegram'>, { publicUrl }: LinkPorts): Channel {
  const api = createTelegramApi(config);
  const tokens = createTelegramTokens(config);
  const secrets = [config.botToken.reveal(), config.webhookSecret?.reveal()];
  /** The supergroup that the chat of the file became. */
  let successor: string | undefined;
  const post = async (
    notices: Parameters<Channel['send']>[0],
    place: string,
    inReplyTo: string | undefined,
  ): Promise<SendResult> => {
    const chat = successor ?? place;
    const { text, ...message } = isDigest(notices)
      ? telegramDigestOf(notices, publicUrl)
      : telegramMessageOf(notices[0], tokens, publicUrl);
    const sent = await api.sendMessage(chat, text, { ...message, ...replyIn(chat, inReplyTo) });
    const note = successor === undefined ? {} : { note: movedWords(successor) };
    return { status: 'delivered', messageRef: `${String(sent.chat.id)}:${String(sent.message_id)}`, ...note };
  };
  return {
    id: config.id,
    type: 'telegram',
    addressing: 'shared',
    gatherMs: 0,
    tellsOutcomeBelow: false,
    send: async (notices, { inReplyTo }) => {
      const located = locate(config.chat, notices[0]);
      if (located.status === 'nowhere') return { status: 'refused', about: 'message', reason: located.reason };
      try {
        return await post(notices, located.place, inReplyTo).catch((error: unknown) => {
          const movedTo = successorOf(error);
          // The file lists the chats that a label may name, and their successors are not in it.
          if (movedTo === undefined || movedTo === successor || typeof config.chat !== 'string') throw error;
          successor = movedTo;
          return post(notices, located.place, inReplyTo);
        });
      } catch (error) {
        const { reason, ...refusal } = telegramRefusalOf(error, secrets);
        const movedTo = successor ?? successorOf(error);
        return toSendResult({
          ...refusal,
          // Each chat that a label names is as apart from the others as the mailboxes of two people.
          isOfOneRecipient: typeof config.chat !== 'string' && refusal.means === 'address',
          reason: movedTo === undefined ? reason : `${reason}; ${movedWords(movedTo)}`,
        });
      }
    },
    update: async (messageRef, notice) => {
      const { chat, messageId } = parseTelegramRef(messageRef);
      const { text, ...message } =
        typeof config.chat === 'string' || isPlaceOf(config.chat, chat)
          ? telegramMessageOf(notice, tokens, publicUrl)
          : withdrawnMessage;
      try {
        await api.editMessageText(chat, messageId, text, message);
        return { status: 'delivered', messageRef };
      } catch (error) {
        // A copy stays in the chat that it was sent to: in the successor its number is that of another message.
        const isElsewhere =
          successorOf(error) !== undefined ||
          typeof config.chat !== 'string' ||
          isAnotherChat(chat, successor ?? config.chat);
        const result = toSendResult(telegramRefusalOf(error, secrets), isElsewhere);
        return result.status === 'delivered' ? { status: 'delivered', messageRef } : result;
      }
    },
  };
}

function movedWords(successor: string): string {
  return `the chat became a supergroup: write chat: "${successor}" into the channels file`;
}

/** A card in the chat of before is no message of this one, such as the supergroup that the chat became. */
function replyIn(chat: string, inReplyTo: string | undefined): object {
  const card = inReplyTo === undefined ? undefined : parseTelegramRef(inReplyTo);
  if (card === undefined || isAnotherChat(card.chat, chat)) return {};
  return { reply_parameters: { message_id: card.messageId, allow_sending_without_reply: true } };
}

/** Names (`@…`) cannot be compared with numbers. */
function isAnotherChat(chat: string, configured: string): boolean {
  return !configured.startsWith('@') && chat !== configured;
}

/** The supergroup that a chat became, where an error names it. */
export function successorOf(error: unknown): string | undefined {
  const movedTo = error instanceof GrammyError ? error.parameters.migrate_to_chat_id : undefined;
  return movedTo === undefined ? undefined : String(movedTo);
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

/** What an answer of Telegram is about, with its words. */
export function telegramRefusalOf(error: unknown, secrets: readonly (string | undefined)[]): Refusal {
  if (!(error instanceof GrammyError)) return { means: 'retry', reason: noAnswerWords('Telegram', error) };
  const { error_code: status, description: text, parameters } = error;
  if (!isNumber(status) || !isText(text)) return { means: 'channel', reason: otherFormWords('Telegram') };
  const reason = `Telegram answers ${String(status)}: ${vendorWords(text, secrets)}`;
  const named = parameters.retry_after ?? Number(/retry after (\d+)/i.exec(text)?.[1] ?? 1);
  const afterMs = status === 429 ? named * 1000 : undefined;
  return { means: meaningOf({ channel: 'telegram', status, text }), reason, afterMs };
}

/** The vendor's client passes on what came. */
function isNumber(given: unknown): boolean {
  return typeof given === 'number';
}

function isText(given: unknown): boolean {
  return typeof given === 'string';
}
