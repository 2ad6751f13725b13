import { createAnswerTokens } from '../answer-token.js';
import type { AnswerTokens } from '../answer-token.js';
import { toSendResult } from '../answers/send-result.js';
import type { Channel, LinkPorts, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { isDigest } from '../digest-list.js';
import { messageOf, slackDigestOf } from './blocks.js';
import { createSlackClient, slackFailureOf } from './slack-client.js';

/** Cards in a Slack channel: every copy is updated when a decision is made, and the outcome is posted in its thread. */
export function createSlackChannel(config: ChannelConfigOf<'slack'>, { publicUrl }: LinkPorts): Channel {
  const client = createSlackClient(config);
  const tokens = createSlackTokens(config);
  return {
    id: config.id,
    type: 'slack',
    addressing: 'shared',
    gatherMs: 0,
    tellsOutcomeBelow: true,
    send: (notices, { inReplyTo }) =>
      attempt(async () => {
        const thread = inReplyTo === undefined ? undefined : parseSlackRef(inReplyTo).ts;
        const posted = await client.chat.postMessage({
          channel: config.channel,
          ...(isDigest(notices) ? slackDigestOf(notices, publicUrl) : messageOf(notices[0], tokens, publicUrl)),
          unfurl_links: false,
          unfurl_media: false,
          ...(thread === undefined ? {} : { thread_ts: thread }),
        });
        return posted.ts === undefined ? null : `${posted.channel ?? config.channel}:${posted.ts}`;
      }),
    update: (messageRef, notice) => {
      const copy = parseSlackRef(messageRef);
      return attempt(async () => {
        await client.chat.update({ ...copy, ...messageOf(notice, tokens, publicUrl) });
        return messageRef;
      }, copy.channel !== config.channel);
    },
  };
}

/** The tokens in the buttons of a Slack channel. */
export function createSlackTokens({ signingSecret, botToken, id }: ChannelConfigOf<'slack'>): AnswerTokens {
  return createAnswerTokens(signingSecret ?? botToken, id);
}

/** The channel and time of a copy. */
export function parseSlackRef(messageRef: string): { readonly channel: string; readonly ts: string } {
  const [channel = '', ts = ''] = messageRef.split(':');
  return { channel, ts };
}

async function attempt(call: () => Promise<string | null>, isCopyElsewhere = false): Promise<SendResult> {
  try {
    return { status: 'delivered', messageRef: await call() };
  } catch (error) {
    return toSendResult(slackFailureOf(error), isCopyElsewhere);
  }
}
