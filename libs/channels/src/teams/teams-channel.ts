import type { Clock } from '@countersign/runtime';
import { createAnswerTokens } from '../answer-token.js';
import type { AnswerTokens } from '../answer-token.js';
import { toSendResult } from '../answers/send-result.js';
import type { Channel, LinkPorts, SendResult } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { isDigest } from '../digest-list.js';
import { isPlaceOf, locate } from '../place.js';
import { createTeamsClient, teamsRefusalOf } from './teams-client.js';
import { teamsDigestOf, teamsMessageOf, withdrawnMessage } from './teams-message.js';

/** What a Teams channel needs. */
export interface TeamsChannelPorts extends LinkPorts {
  readonly clock: Clock;
}

/** Adaptive Cards in a conversation of Teams: every copy is changed when a decision is made. */
export function createTeamsChannel(config: ChannelConfigOf<'teams'>, { clock, publicUrl }: TeamsChannelPorts): Channel {
  const client = createTeamsClient(config, clock);
  const tokens = createTeamsTokens(config);
  return {
    id: config.id,
    type: 'teams',
    addressing: 'shared',
    gatherMs: 0,
    tellsOutcomeBelow: false,
    send: async (notices, { signal, inReplyTo }) => {
      const located = locate(config.conversation, notices[0]);
      if (located.status === 'nowhere') return { status: 'refused', about: 'message', reason: located.reason };
      const message = isDigest(notices)
        ? teamsDigestOf(notices, publicUrl)
        : teamsMessageOf(notices[0], tokens, publicUrl);
      return attempt(config, async () => {
        const id = await client.post(threadOf(located.place, inReplyTo), message, signal);
        return id === null ? null : teamsRefOf(located.place, id);
      });
    },
    update: (messageRef, notice, { signal }) => {
      const copy = parseTeamsRef(messageRef);
      const isShown = typeof config.conversation === 'string' || isPlaceOf(config.conversation, copy.conversation);
      const message = isShown ? teamsMessageOf(notice, tokens, publicUrl) : withdrawnMessage;
      const change = async (): Promise<string> => {
        await client.put(copy.conversation, copy.id, message, signal);
        return messageRef;
      };
      return attempt(config, change, copy.conversation !== config.conversation);
    },
  };
}

/** Only channels have threads. Each message to the channel itself begins one, and its id names the thread. */
function threadOf(place: string, inReplyTo: string | undefined): string {
  const card = inReplyTo === undefined ? undefined : parseTeamsRef(inReplyTo);
  const isBelow = card?.conversation === place && /@thread\.(tacv2|skype)$/.test(place);
  return isBelow ? `${place};messageid=${card.id}` : place;
}

/** The tokens in the buttons of a Teams channel. */
export function createTeamsTokens({ clientSecret, id }: ChannelConfigOf<'teams'>): AnswerTokens {
  return createAnswerTokens(clientSecret, id);
}

/** Names a copy by its conversation, without the thread, and its id. */
export function teamsRefOf(conversation: string, id: string): string {
  return `${conversation.replace(/;messageid=.*$/s, '')}|${id}`;
}

/** The conversation and id of a copy. */
export function parseTeamsRef(messageRef: string): { readonly conversation: string; readonly id: string } {
  const [conversation = '', id = ''] = messageRef.split('|');
  return { conversation, id };
}

async function attempt(
  { conversation }: Pick<ChannelConfigOf<'teams'>, 'conversation'>,
  call: () => Promise<string | null>,
  isCopyElsewhere = false,
): Promise<SendResult> {
  try {
    return { status: 'delivered', messageRef: await call() };
  } catch (error) {
    const refusal = teamsRefusalOf(error);
    // Each conversation that a label names is as apart from the others as the mailboxes of two people.
    const isOfOneRecipient = typeof conversation !== 'string' && refusal.means === 'address';
    return toSendResult({ ...refusal, isOfOneRecipient }, isCopyElsewhere);
  }
}
