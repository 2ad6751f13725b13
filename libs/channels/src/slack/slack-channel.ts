import { createAnswerTokens } from '../answer-token.js';
import type { AnswerTokens } from '../answer-token.js';
import { toSendResult } from '../answers/send-result.js';
import type { Channel, LinkPorts, Notice, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { isDigest } from '../digest-list.js';
import { isPlaceOf, labelOf, locate } from '../place.js';
import { messageOf, slackDigestOf, withdrawnMessage } from './blocks.js';
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
    send: async (notices, { inReplyTo }) => {
      const located = locate(config.channel, notices[0]);
      const thread = threadOf(config, notices[0], inReplyTo);
      const reason = located.status === 'nowhere' ? located.reason : thread.reason;
      if (located.status === 'nowhere' || reason !== undefined) {
        return { status: 'refused', about: 'message', reason: reason ?? '' };
      }
      return attempt(config, async () => {
        const posted = await client.chat.postMessage({
          channel: located.place,
          ...(isDigest(notices) ? slackDigestOf(notices, publicUrl) : messageOf(notices[0], tokens, publicUrl)),
          unfurl_links: false,
          unfurl_media: false,
          ...(thread.ts === undefined ? {} : { thread_ts: thread.ts }),
        });
        return posted.ts === undefined ? null : `${posted.channel ?? located.place}:${posted.ts}`;
      });
    },
    update: (messageRef, notice) => {
      const copy = parseSlackRef(messageRef);
      const isShown = typeof config.channel === 'string' || isPlaceOf(config.channel, copy.channel);
      const message = isShown ? messageOf(notice, tokens, publicUrl) : withdrawnMessage;
      const isElsewhere = typeof config.channel !== 'string' || copy.channel !== config.channel;
      const change = async (): Promise<string> => {
        await client.chat.update({ ...copy, ...message });
        return messageRef;
      };
      return attempt(config, change, isElsewhere);
    },
  };
}

/** The form of a message's `ts`, which Slack also names a thread by. */
const tsForm = /^\d{1,12}\.\d{1,8}$/;

/**
 * The thread of a message: that of the call, else the one below its card. A label that names no thread is a reason not to send
 * it: others read the channel itself.
 */
function threadOf(
  { thread }: Pick<ChannelConfigOf<'slack'>, 'thread'>,
  notice: Notice,
  inReplyTo: string | undefined,
): { readonly ts?: string; readonly reason?: string } {
  const named = thread === undefined ? undefined : labelOf(notice, thread.label);
  if (named !== undefined && thread !== undefined) {
    return tsForm.test(named) ? { ts: named } : { reason: `not sent: the label "${thread.label}" names no thread` };
  }
  return inReplyTo === undefined ? {} : { ts: parseSlackRef(inReplyTo).ts };
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

async function attempt(
  { channel }: Pick<ChannelConfigOf<'slack'>, 'channel'>,
  call: () => Promise<string | null>,
  isCopyElsewhere = false,
): Promise<SendResult> {
  try {
    return { status: 'delivered', messageRef: await call() };
  } catch (error) {
    const failure = slackFailureOf(error);
    // Each channel that a label names is as apart from the others as the mailboxes of two people.
    const isOfOneRecipient = typeof channel !== 'string' && failure.means === 'address';
    return toSendResult({ ...failure, isOfOneRecipient }, isCopyElsewhere);
  }
}
