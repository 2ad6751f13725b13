import { retryPauseMs } from '@countersign/channels';
import type { SendResult } from '@countersign/channels';
import type { Log } from '@countersign/runtime';
import type { PlannedMessage } from './planned-message.js';

/** How many messages are not sent again, by what the other side refused. `channel`: three days of tries were in vain. */
export type GivenUp = Readonly<Record<'message' | 'recipient' | 'channel', number>>;

type Result<S extends SendResult['status']> = Extract<SendResult, { status: S }>;

/** What a channel's answers say about it: whether it works, why not, and what was lost. */
export class ChannelHealth {
  readonly #channelId: string;
  readonly #log: Log;
  readonly #givenUp = { message: 0, recipient: 0, channel: 0 };
  #failures = 0;
  #isOff = false;
  #reason: string | null = null;
  #note: string | undefined;

  constructor(channelId: string, log: Log) {
    this.#channelId = channelId;
    this.#log = log;
  }

  get state(): 'ok' | 'failing' | 'off' {
    return this.#isOff ? 'off' : this.#failures > 0 ? 'failing' : 'ok';
  }

  /** The words of the other side; null while the channel works. */
  get reason(): string | null {
    return this.#reason;
  }

  get givenUp(): GivenUp {
    return { ...this.#givenUp };
  }

  switchedOff(reason: string): void {
    this.#isOff = true;
    this.#reason = reason;
    this.#log.error({ channelId: this.#channelId, reason }, 'a channel is off until its address is changed');
  }

  /** The other side took a message, or refused this one alone: the way to it works. */
  works(actions: readonly PlannedMessage[], result: Result<'delivered' | 'refused' | 'off'>): void {
    this.#failures = 0;
    this.#reason = null;
    if (result.status === 'delivered') this.#noted(result.note);
    if (result.status !== 'refused') return;
    for (const action of actions) {
      if (action.messageRef === undefined) this.gaveUp(action, result.about, result.reason);
      else this.#tell('warn', action, result.reason, 'a copy could not be changed');
    }
  }

  #noted(note: string | undefined): void {
    if (note !== undefined && note !== this.#note) {
      this.#log.warn({ channelId: this.#channelId, note }, 'a channel needs a change of its file');
    }
    this.#note = note;
  }

  /** Returns the pause before the next try, in milliseconds. */
  failed({ reason, retryAfterMs, about }: Result<'failed'>): number {
    this.#failures += 1;
    this.#reason = reason;
    const pauseMs = retryPauseMs(about === 'recipient' ? 1 : this.#failures, retryAfterMs);
    this.#log.warn({ channelId: this.#channelId, reason, pauseMs }, 'a message could not be delivered; retrying');
    return pauseMs;
  }

  /** A message is not sent again: it is lost to its reader, and that is seen. */
  gaveUp(action: PlannedMessage, about: keyof GivenUp, reason: string): void {
    this.#givenUp[about] += 1;
    this.#tell('error', action, reason, 'a message could not be delivered, and is not sent again');
  }

  #tell(level: 'warn' | 'error', { subject, job }: PlannedMessage, reason: string, words: string): void {
    const { approvalId, callId } = subject;
    const { kind, recipient } = job.key;
    this.#log[level]({ channelId: this.#channelId, callId, approvalId, kind, recipient, reason }, words);
  }
}
