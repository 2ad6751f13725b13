import { hash } from 'node:crypto';
import { answerInTime, lateWords } from '../answer-in-time.js';
import { copyOf } from '../channel.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { readInteraction } from '../interaction.js';
import { isOnOwnCopy } from '../own-copy.js';
import { elsewhereLogWords, elsewhereWords, isPlaceOf } from '../place.js';
import { answerWords, unableWords } from '../response-port.js';
import type { SlackPorts } from '../slack/slack-interactions.js';
import { answered, headerOf } from '../surface.js';
import type { Surface, SurfaceRequest, SurfaceResponse } from '../surface.js';
import { pressOf, readActivity, teamsIdentity } from './activity.js';
import type { Activity, TeamsPress } from './activity.js';
import { meaningOfVerb } from './adaptive-card.js';
import type { BotFrameworkAuth } from './bot-framework-auth.js';
import { createTeamsTokens, teamsRefOf } from './teams-channel.js';
import { createTeamsClient, teamsRefusalOf } from './teams-client.js';
import { teamsMessageOf } from './teams-message.js';

/** Teams waits longer than this. */
const answerMs = 5_000;

/** What a Teams surface needs. */
export interface TeamsSurfacePorts extends SlackPorts {
  readonly auth: BotFrameworkAuth;
}

/** What becomes of a press: the text for the person, and whether the card no longer says what is true. */
interface Outcome {
  readonly words: string;
  readonly isStale: boolean;
}

/** Receives the activities of one bot. Each needs a token of the Bot Connector; nothing is read before it is verified. */
export function createTeamsSurface(config: ChannelConfigOf<'teams'>, ports: TeamsSurfacePorts): Surface {
  const { id: channelId } = config;
  const { auth, log } = ports;
  const press = createPress(config, ports);
  return {
    channelId,
    type: 'teams',
    receive: async (request) => {
      const sender = await auth.verify(headerOf(request, 'authorization'));
      if (sender.status === 'unavailable') {
        log.error({ channelId, why: sender.why }, 'the keys of the Bot Connector could not be read');
        return answered(503);
      }
      const activity = sender.status === 'valid' ? readActivity(request.body) : undefined;
      if (
        sender.status === 'refused' ||
        (activity !== undefined && !isSameUrl(activity.serviceUrl, sender.serviceUrl))
      ) {
        const why = sender.status === 'refused' ? sender.why : 'its token is for another service url';
        log.warn({ channelId, why }, 'refused: a request to the Teams surface is not one of the Bot Connector');
        return answered(401);
      }
      return activity === undefined ? answered(400) : press(activity, request);
    },
  };
}

function isSameUrl(one: string, other: string): boolean {
  const [first, second] = [one, other].map((url) => url.replace(/\/$/, '').toLowerCase());
  return first === second;
}

/** Deals with activities that are proved to be those of the Bot Connector. */
function createPress(config: ChannelConfigOf<'teams'>, ports: SlackPorts) {
  const { id: channelId } = config;
  const { clock, log } = ports;
  const refresh = createRefresh(config, ports);
  const decide = createDecide(config, ports);
  return async (activity: Activity, { body }: SurfaceRequest): Promise<SurfaceResponse> => {
    const pressed = pressOf(activity);
    if (pressed === undefined) {
      // The operator finds the id of a conversation here, once the bot was added or spoken to.
      const { type, conversation } = activity;
      log.info({ channelId, type, conversation: conversation.id }, 'Teams says that something else happened');
      return answered(activity.type === 'invoke' ? 501 : 200);
    }
    const commandId = `teams:${channelId}:${hash('sha256', body, 'hex')}`;
    const outcome = decide(activity, pressed, commandId).catch((error: unknown): Outcome => {
      log.error({ channelId, name: nameOf(error) }, 'a button press in Teams could not be handled');
      return { words: unableWords, isStale: false };
    });
    const work = outcome.then(({ words, isStale }): SurfaceResponse => {
      const done = isStale ? refresh(activity, pressed) : Promise.resolve();
      return { status: 200, body: told(words), done };
    });
    return answerInTime(work, () => answered(200, told(lateWords)), { clock, limitMs: answerMs });
  };
}

/** The documented response to `adaptiveCard/action`: a text that only the person who pressed sees. */
function told(words: string): object {
  return { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: words };
}

/** Decides in the name of the person who pressed. Only people of the channels file can. */
function createDecide(config: ChannelConfigOf<'teams'>, ports: SlackPorts) {
  const { id: channelId, conversation: place } = config;
  const { log, people, responses } = ports;
  const tokens = createTeamsTokens(config);
  const isOwnCopy = async (activity: Activity, value: string): Promise<boolean> => {
    const messageRef = refOf(activity);
    const conversation = messageRef.split('|')[0] ?? '';
    if (!isPlaceOf(place, conversation)) return false;
    return typeof place === 'string' || isOnOwnCopy({ value, messageRef }, { ...ports, tokens, channelId });
  };
  return async (activity: Activity, { verb, value, reason }: TeamsPress, commandId: string): Promise<Outcome> => {
    const identity = teamsIdentity(activity, config);
    const person = people().find(({ teams }) => teams !== undefined && teams === identity);
    if (person === undefined) log.warn({ channelId, identity }, 'refused: unknown Teams user');
    else if (!(await isOwnCopy(activity, value))) {
      log.warn({ channelId, person: person.id }, elsewhereLogWords);
      return { words: elsewhereWords, isStale: false };
    }
    const asked = { person, value, means: meaningOfVerb(verb) };
    const pressed = await readInteraction(asked, { tokens, responses, log, channelId });
    if (pressed.status === 'told') return pressed;
    const { approvalId, shownDigest, proposal } = pressed.approval;
    const type = pressed.token.action === 'd' ? 'deny' : 'approve';
    const result = await responses.answer({
      ...{ approvalId, shownDigest, proposalDigest: proposal.digest, person: pressed.person, channelId, commandId },
      ...{ credential: `teams:${String(identity)}`, assurance: 'medium', decision: { type } },
      ...(reason === undefined ? {} : { reason }),
    });
    return { words: answerWords(result, type), isStale: result.status === 'refused' };
  };
}

function refOf({ conversation, replyToId = '' }: Activity): string {
  return teamsRefOf(conversation.id, replyToId);
}

/** Changes a card with inactive buttons to what is true. Never rejects. */
function createRefresh(config: ChannelConfigOf<'teams'>, { clock, log, publicUrl, responses }: SlackPorts) {
  const client = createTeamsClient(config, clock);
  const tokens = createTeamsTokens(config);
  return async (activity: Activity, { value }: TeamsPress): Promise<void> => {
    const [conversation = '', id = ''] = refOf(activity).split('|');
    try {
      const token = tokens.open(value);
      const question = token === undefined ? undefined : await responses.find(token.approvalId);
      if (question === undefined || id === '' || !isPlaceOf(config.conversation, conversation)) return;
      await client.put(conversation, id, teamsMessageOf(copyOf(question), tokens, publicUrl));
    } catch (error) {
      log.warn({ channelId: config.id, reason: teamsRefusalOf(error).reason }, 'a card in Teams could not be changed');
    }
  };
}

function nameOf(error: unknown): string {
  return error instanceof Error ? error.name : 'unknown';
}
