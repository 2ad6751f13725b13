import { hash } from 'node:crypto';
import type { ApprovalView } from '@countersign/contracts';
import type { Clock, Log } from '@countersign/runtime';
import type { ModalView, WebClient } from '@slack/web-api';
import { answerInTime, lateWords } from '../answer-in-time.js';
import { answerWords, unableWords } from '../response-port.js';
import type { ResponsePort, AnswerResult } from '../response-port.js';
import type { AnswerTokens } from '../answer-token.js';
import { copyOf } from '../channel.js';
import type { LinkPorts } from '../channel.js';
import type { PeopleNow, Person } from '../config/channels-file.js';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { readInteraction } from '../interaction.js';
import { isOnOwnCopy } from '../own-copy.js';
import { elsewhereLogWords, elsewhereWords, isPlaceOf, locate } from '../place.js';
import type { Interaction, Pressed } from '../interaction.js';
import { answered } from '../surface.js';
import type { SurfaceResponse } from '../surface.js';
import { meaningOfButton, messageOf } from './blocks.js';
import { answerModal, hasUnusedArguments, modalId, noticeModal, readModal } from './modal.js';
import { readSlackPayload, slackIdentity } from './payload.js';
import type { BlockActions, ViewSubmission } from './payload.js';
import { createSlackTokens } from './slack-channel.js';
import { createSlackClient, isOfSlack, slackFailureOf } from './slack-client.js';

export interface SlackPorts extends LinkPorts {
  readonly responses: ResponsePort;
  readonly people: PeopleNow;
  readonly clock: Clock;
  readonly log: Log;
}

/** Handles presses and modals of both modes. */
export interface SlackInteractions {
  /**
   * Handles a payload that is verified to be Slack's, within 3 s; never rejects. A press is acknowledged once it is recorded, a modal with
   * its result. Status 503: it could not be recorded, and MUST NOT be acknowledged.
   */
  readonly take: (payloadText: string) => Promise<SurfaceResponse>;
}

/** Says something to the person who pressed. */
type Say = (words: string) => Promise<void>;

/**
 * Handles the presses and modals of one Slack app. Only people of the channels file can decide.
 * @param lateStatus of a press that takes longer than Slack waits. 200: it is acknowledged, and the person is told what becomes of it.
 */
export function createSlackInteractions(
  config: ChannelConfigOf<'slack'>,
  ports: SlackPorts,
  lateStatus: 200 | 503,
): SlackInteractions {
  const interactions = new Interactions(config, ports, lateStatus);
  return { take: (payloadText) => interactions.take(payloadText) };
}

/** Slack's timeout is 3 s. */
const answerMs = 2_500;

class Interactions {
  readonly #config: ChannelConfigOf<'slack'>;
  readonly #ports: SlackPorts;
  readonly #client: WebClient;
  readonly #tokens: AnswerTokens;
  readonly #lateStatus: 200 | 503;

  constructor(config: ChannelConfigOf<'slack'>, ports: SlackPorts, lateStatus: 200 | 503) {
    this.#lateStatus = lateStatus;
    this.#config = config;
    this.#ports = ports;
    this.#client = createSlackClient(config);
    this.#tokens = createSlackTokens(config);
  }

  async take(payloadText: string): Promise<SurfaceResponse> {
    const payload = readSlackPayload(payloadText);
    if (payload === undefined) return answered(200);
    // Slack repeats payloads that it believes were not acknowledged: the same text is the same press.
    const commandId = `slack:${this.#config.id}:${hash('sha256', payloadText, 'hex')}`;
    if (payload.type === 'view_submission') return this.#answerInTime(payload, commandId);
    return this.#pressInTime(payload, commandId);
  }

  /** Attack or fault: a press that is acknowledged before it is recorded is lost with the process, and Slack shows success. */
  async #pressInTime(payload: BlockActions, commandId: string): Promise<SurfaceResponse> {
    let isLate = false;
    // A modal can be opened for 3 s.
    const say: Say = (words) => (isLate ? this.#whisper(payload, words) : this.#tell(payload, noticeModal(words)));
    const unable = (error: unknown): Promise<void> => {
      this.#failed(error);
      return say(unableWords).catch(() => undefined);
    };
    const work = this.#pressed(payload, commandId).then(
      (tell) => ({ status: 200, done: tell(say).catch(unable) }),
      (error: unknown) => ({ status: 503, done: unable(error) }),
    );
    const late = (): SurfaceResponse => {
      const done = say(lateWords).catch((error: unknown) => this.#failed(error));
      isLate = true;
      return { status: this.#lateStatus, done };
    };
    return answerInTime(work, late, { clock: this.#ports.clock, limitMs: answerMs });
  }

  async #answerInTime(payload: ViewSubmission, commandId: string): Promise<SurfaceResponse> {
    const submitted = this.#submitted(payload, commandId).catch((error: unknown) => {
      this.#failed(error);
      return answered(200, shown(unableWords));
    });
    return answerInTime(submitted, () => answered(200, shown(lateWords)), {
      clock: this.#ports.clock,
      limitMs: answerMs,
    });
  }

  /** Records the press. Returns what remains to be told. */
  async #pressed(payload: BlockActions, commandId: string): Promise<(say: Say) => Promise<void>> {
    if (!(await this.#isOnOwnCopy(payload))) return (say) => say(elsewhereWords);
    const [button, ...others] = payload.actions;
    const tokenText = button?.value;
    const means = others.length === 0 ? meaningOfButton(button?.action_id) : [];
    const pressed = await this.#read({ person: this.#personOf(payload), value: tokenText, means });
    if (pressed.status === 'told') {
      const { words, isStale } = pressed;
      return (say) => (isStale ? this.#sayAndRefresh(payload, say(words), tokenText) : say(words));
    }
    const { approval, person } = pressed;
    if (pressed.token.action === 'm' && approval.state === 'pending')
      return (say) => this.#openForm(payload, pressed, say, tokenText);
    const type = pressed.token.action === 'd' ? 'deny' : 'approve';
    const result = await this.#ports.responses.answer({
      ...this.#answerOf(payload, person, approval, commandId),
      decision: { type },
    });
    if (result.status === 'recorded') return () => Promise.resolve();
    return (say) => this.#sayAndRefresh(payload, say(answerWords(result, type)), tokenText);
  }

  /** The form of one call. A response to a card about several would decide about what it does not show. */
  #openForm(
    payload: BlockActions,
    { approval, isAboutStep }: { readonly approval: ApprovalView; readonly isAboutStep: boolean },
    say: Say,
    tokenText: string | undefined,
  ): Promise<void> {
    if (isAboutStep) return this.#sayAndRefresh(payload, say(stepWords), tokenText);
    const { approvalId, shownDigest } = approval;
    const token = this.#tokens.seal({ action: 'a', approvalId, shownDigest });
    return this.#tell(payload, answerModal(approval, token));
  }

  async #submitted(payload: ViewSubmission, commandId: string): Promise<SurfaceResponse> {
    if (payload.view.callback_id !== modalId) return answered(200);
    const tokenText = payload.view.private_metadata;
    const pressed = await this.#read({ person: this.#personOf(payload), value: tokenText, means: ['a'] });
    if (pressed.status === 'told') return answered(200, shown(pressed.words));
    if (pressed.isAboutStep) return answered(200, shown(stepWords));
    // The operator may have taken the channel out of the file since the modal was opened.
    if (locate(this.#config.channel, pressed).status === 'nowhere') return answered(200, shown(elsewhereWords));
    const given = readModal(payload);
    if (given === undefined) return answered(200);
    if (hasUnusedArguments(payload, pressed.approval)) return answered(200, errorAt('decision', unusedWords));
    const result = await this.#ports.responses.answer({
      ...this.#answerOf(payload, pressed.person, pressed.approval, commandId),
      ...given,
    });
    return result.status === 'recorded' ? answered(200) : answered(200, notRecorded(result, given.decision.type));
  }

  /** Where labels name the channel or thread, a button counts only on the card that was sent for its approval. */
  async #isOnOwnCopy({ container, actions, user }: BlockActions): Promise<boolean> {
    const { id: channelId, channel: place, thread } = this.#config;
    if (typeof place === 'string' && thread === undefined) return true;
    const { channel_id: channel = '', message_ts: ts = '' } = container ?? {};
    const pressed = { value: actions[0]?.value, messageRef: `${channel}:${ts}` };
    const ports = { ...this.#ports, tokens: this.#tokens, channelId };
    const isOwn = isPlaceOf(place, channel) && (await isOnOwnCopy(pressed, ports));
    if (!isOwn) this.#ports.log.warn({ channelId, user: user.id }, elsewhereLogWords);
    return isOwn;
  }

  #read(pressed: Pressed): Promise<Interaction> {
    return readInteraction(pressed, { ...this.#ports, tokens: this.#tokens, channelId: this.#config.id });
  }

  #personOf(payload: BlockActions | ViewSubmission): Person | undefined {
    const identity = slackIdentity(payload);
    const person = this.#ports.people().find(({ slack }) => slack === identity);
    if (person === undefined)
      this.#ports.log.warn({ channelId: this.#config.id, identity }, 'refused: unknown Slack user');
    return person;
  }

  #answerOf(
    payload: BlockActions | ViewSubmission,
    person: Person,
    { approvalId, shownDigest, proposal }: ApprovalView,
    commandId: string,
  ) {
    const shown = { shownDigest, proposalDigest: proposal.digest };
    const question = { approvalId, ...shown, credential: `slack:${slackIdentity(payload)}` };
    return { ...question, person, channelId: this.#config.id, assurance: 'medium', commandId } as const;
  }

  /** Shown only to the person who pressed. */
  async #tell({ trigger_id: triggerId }: BlockActions, view: ModalView): Promise<void> {
    if (triggerId !== undefined) await this.#client.views.open({ trigger_id: triggerId, view });
  }

  /** Shown only to the person who pressed, also later, in the place where they did. */
  async #whisper({ container, user }: BlockActions, text: string): Promise<void> {
    const { channel_id: channel } = container ?? {};
    if (channel !== undefined) await this.#client.chat.postEphemeral({ channel, user: user.id, text });
  }

  /** Where the person cannot be told, the copy at least shows what is true. */
  async #sayAndRefresh(payload: BlockActions, said: Promise<void>, tokenText: string | undefined): Promise<void> {
    const ends = [said, this.#refresh(payload, tokenText)];
    await Promise.allSettled(ends);
    await Promise.all(ends);
  }

  /** A copy with inactive buttons. */
  async #refresh({ container }: BlockActions, tokenText = ''): Promise<void> {
    const token = this.#tokens.open(tokenText);
    const question = token === undefined ? undefined : await this.#ports.responses.find(token.approvalId);
    const { channel_id: channel, message_ts: ts } = container ?? {};
    if (question === undefined || channel === undefined || ts === undefined) return;
    await this.#client.chat.update({
      channel,
      ts,
      ...messageOf(copyOf(question), this.#tokens, this.#ports.publicUrl),
    });
  }

  #failed(error: unknown): void {
    // Only its name, or the code of Slack: an error message of Slack's client may repeat its input.
    const what = isOfSlack(error)
      ? { reason: slackFailureOf(error).reason }
      : { name: error instanceof Error ? error.name : 'unknown' };
    this.#ports.log.error({ channelId: this.#config.id, ...what }, 'a button press in Slack could not be handled');
  }
}

/** An error that the person can fix is shown at the field; any other replaces the modal. */
function notRecorded(result: Extract<AnswerResult, { status: 'refused' }>, decision: string): object {
  const words = answerWords(result, decision);
  const mendable: Readonly<Record<string, string>> = {
    'reason-required': 'reason',
    'invalid-arguments': 'arguments',
    'invalid-request': 'arguments',
  };
  const block = mendable[result.code];
  return block === undefined ? shown(words) : errorAt(block, words);
}

const stepWords = 'One response decides about several calls here: use the buttons of the card, or the inbox.';

const unusedWords = 'You changed the arguments: choose “Approve with the arguments below”, or put them back.';

function errorAt(block: string, words: string): object {
  return { response_action: 'errors', errors: { [block]: words } };
}

function shown(words: string): object {
  return { response_action: 'update', view: noticeModal(words) };
}
