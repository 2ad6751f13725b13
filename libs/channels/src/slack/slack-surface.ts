import { hash } from 'node:crypto';
import type { Clock, Log } from '@countersign/runtime';
import type { ModalView, WebClient } from '@slack/web-api';
import { answerWords } from '../answer-desk.js';
import type { AnswerDesk, AnswerResult, ChannelAnswer } from '../answer-desk.js';
import type { AnswerTokens } from '../answer-token.js';
import type { Person } from '../config/channels-file.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { readPress } from '../pressed.js';
import { answered, headerOf } from '../surface.js';
import type { Surface, SurfaceRequest, SurfaceResponse } from '../surface.js';
import { messageOf } from './blocks.js';
import { answerModal, modalId, noticeModal, readModal } from './modal.js';
import { readSlackPayload, slackIdentity } from './payload.js';
import type { BlockActions, ViewSubmission } from './payload.js';
import { createSlackClient, createSlackTokens } from './slack-channel.js';
import { isSignedBySlack } from './slack-signature.js';

export interface SlackSurfacePorts {
  readonly desk: AnswerDesk;
  readonly people: readonly Person[];
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Receives presses and modals of one Slack app. Nothing is read before its signature is proved, and nobody decides whom
 * the channels file does not know. A press is answered at once and decided after that; a modal is answered with what
 * became of it.
 */
export function createSlackSurface(config: ChannelConfigOf<'slack'>, ports: SlackSurfacePorts): Surface {
  const surface = new SlackSurface(config, ports);
  return { channelId: config.id, type: 'slack', receive: (request) => surface.receive(request) };
}

class SlackSurface {
  readonly #config: ChannelConfigOf<'slack'>;
  readonly #ports: SlackSurfacePorts;
  readonly #client: WebClient;
  readonly #tokens: AnswerTokens;

  constructor(config: ChannelConfigOf<'slack'>, ports: SlackSurfacePorts) {
    this.#config = config;
    this.#ports = ports;
    this.#client = createSlackClient(config);
    this.#tokens = createSlackTokens(config);
  }

  async receive(request: SurfaceRequest): Promise<SurfaceResponse> {
    const { signingSecret, id: channelId } = this.#config;
    const { clock, log } = this.#ports;
    const timestamp = headerOf(request, 'x-slack-request-timestamp');
    const signature = headerOf(request, 'x-slack-signature');
    if (
      signingSecret === undefined ||
      !isSignedBySlack(request.body, { timestamp, signature }, signingSecret, clock.now())
    ) {
      log.warn({ channelId }, 'refused: a request to the Slack surface is not signed by Slack');
      return answered(401);
    }
    const payload = readSlackPayload(request.body);
    if (payload === undefined) return answered(200);
    // Slack repeats what it thinks was not answered: the same bytes are the same press.
    const commandId = `slack:${channelId}:${hash('sha256', request.body, 'hex')}`;
    if (payload.type === 'view_submission') return this.#submitted(payload, commandId);
    return { status: 200, done: this.#pressed(payload, commandId).catch((error: unknown) => this.#failed(error)) };
  }

  async #pressed(payload: BlockActions, commandId: string): Promise<void> {
    const tokenText = payload.actions[0]?.value;
    const pressed = await readPress(this.#personOf(payload), tokenText, { tokens: this.#tokens, ...this.#ports });
    if (pressed.status === 'told') {
      await this.#tell(payload, noticeModal(pressed.words));
      if (pressed.isStale) await this.#refresh(payload, tokenText);
      return;
    }
    const { approval, person, token } = pressed;
    if (token.action === 'm' && approval.state === 'pending') {
      await this.#tell(payload, answerModal(approval, this.#tokens.seal({ action: 'a', ...approval })));
      return;
    }
    const type = token.action === 'd' ? 'deny' : 'approve';
    const result = await this.#ports.desk.answer({
      ...this.#answerOf(person, approval, commandId),
      decision: { type },
    });
    if (result.status === 'recorded') return;
    await this.#tell(payload, noticeModal(answerWords(result, type)));
    await this.#refresh(payload, tokenText);
  }

  async #submitted(payload: ViewSubmission, commandId: string): Promise<SurfaceResponse> {
    if (payload.view.callback_id !== modalId) return answered(200);
    const tokenText = payload.view.private_metadata;
    const pressed = await readPress(this.#personOf(payload), tokenText, { tokens: this.#tokens, ...this.#ports });
    if (pressed.status === 'told') return answered(200, shown(pressed.words));
    const given = readModal(payload);
    if (given === undefined) return answered(200);
    const result = await this.#ports.desk.answer({
      ...this.#answerOf(pressed.person, pressed.approval, commandId),
      ...given,
    });
    return result.status === 'recorded' ? answered(200) : answered(200, notRecorded(result, given.decision.type));
  }

  #personOf(payload: BlockActions | ViewSubmission): Person | undefined {
    const identity = slackIdentity(payload);
    const person = this.#ports.people.find(({ slack }) => slack === identity);
    if (person === undefined)
      this.#ports.log.warn({ channelId: this.#config.id, identity }, 'refused: a Slack user that nobody is');
    return person;
  }

  #answerOf(
    person: Person,
    { approvalId, actionDigest }: Pick<ChannelAnswer, 'approvalId' | 'actionDigest'>,
    commandId: string,
  ) {
    return { approvalId, actionDigest, person, channelId: this.#config.id, assurance: 'medium', commandId } as const;
  }

  /** To the one who pressed, and to nobody else. */
  async #tell({ trigger_id: triggerId }: BlockActions, view: ModalView): Promise<void> {
    if (triggerId !== undefined) await this.#client.views.open({ trigger_id: triggerId, view });
  }

  /** A copy whose buttons decide nothing any more: perhaps one that nobody remembers having sent. */
  async #refresh({ container }: BlockActions, tokenText = ''): Promise<void> {
    const token = this.#tokens.open(tokenText);
    const question = token === undefined ? undefined : await this.#ports.desk.find(token.approvalId);
    const { channel_id: channel, message_ts: ts } = container ?? {};
    if (question === undefined || channel === undefined || ts === undefined) return;
    const what = { messageId: '', kind: 'requested', nth: 0, at: '', recipient: null } as const;
    await this.#client.chat.update({ channel, ts, ...messageOf({ ...what, ...question }, this.#tokens) });
  }

  #failed(error: unknown): void {
    // Only its name: a message of Slack's client may repeat what it was given.
    const name = error instanceof Error ? error.name : 'unknown';
    this.#ports.log.error({ channelId: this.#config.id, name }, 'a press in Slack could not be dealt with');
  }
}

/** What the person can mend is said at the field; anything else takes the modal's place. */
function notRecorded(result: Extract<AnswerResult, { status: 'refused' }>, decision: string): object {
  const words = answerWords(result, decision);
  const mendable: Readonly<Record<string, string>> = {
    'reason-required': 'reason',
    'invalid-arguments': 'arguments',
    'invalid-request': 'arguments',
  };
  const block = mendable[result.code];
  return block === undefined ? shown(words) : { response_action: 'errors', errors: { [block]: words } };
}

function shown(words: string): object {
  return { response_action: 'update', view: noticeModal(words) };
}
