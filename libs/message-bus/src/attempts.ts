import type { Clock, Log } from '@countersign/runtime';
import { describeError, judgeFailure, retryDelayMs } from './failure.js';
import type { Failure, RetryOptions } from './failure.js';
import type { Item, Lane } from './lane.js';
import { EarlyMessageError } from './message-bus.js';
import type { Message, SubscribeOptions } from './message-bus.js';
import { crashFailure } from './probation.js';
import type { Trial } from './probation.js';
import { Turns } from './turns.js';

export interface AttemptsOptions {
  readonly consumer: RetryOptions & Pick<SubscribeOptions, 'onMessage'>;
  /** Parks a message in the dead letters. MUST resolve only when it is stored; a rejection is retried. */
  readonly park: (message: Message, failure: Failure) => Promise<void>;
  /** Among the dispatchers of one process, one message is on trial at a time. */
  readonly trials?: Turns;
  /** Aborts when the dispatcher stops. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly log: Log;
}

/** What a try has come to. `early`: the message came before its subject. */
export type Outcome =
  | { readonly status: 'settled' }
  | { readonly status: 'again'; readonly afterMs: number }
  | { readonly status: 'early'; readonly afterMs: number; readonly subject: string };

const settled: Outcome = { status: 'settled' };
const again = (afterMs: number): Outcome => ({ status: 'again', afterMs });

/** The tries to handle messages, or to park them. */
export class Attempts {
  readonly #options: AttemptsOptions;
  readonly #trials: Turns;
  /** A message that can neither be handled nor parked now, and the reason. */
  readonly #stuck = new Map<Item, string>();

  constructor(options: AttemptsOptions) {
    this.#options = options;
    this.#trials = options.trials ?? new Turns();
  }

  /** Why a message can neither be handled nor put aside; undefined where none is so. */
  get stuck(): string | undefined {
    for (const why of this.#stuck.values()) return why;
    return undefined;
  }

  get #isStopping(): boolean {
    return this.#options.signal.aborted;
  }

  /** Makes the next try of the first message of a lane. Never rejects. */
  make(lane: Lane, item: Item): Promise<Outcome> {
    if (item.parking !== undefined) return this.#park(item, item.parking);
    return item.trial === undefined ? this.#handle(lane, item) : this.#handleAlone(lane, item, item.trial);
  }

  async #handleAlone(lane: Lane, item: Item, trial: Trial): Promise<Outcome> {
    const failure = crashFailure(trial.crashes);
    if (failure !== undefined) return this.#giveUp(item, failure);
    const endTurn = await this.#trials.take();
    try {
      if (this.#isStopping) return again(0);
      await trial.begin();
      return await this.#handle(lane, item);
    } catch (error) {
      this.#options.log.warn({ error }, `a message on trial was not started, retrying: ${describeError(error)}`);
      return again(retryDelayMs(Number.MAX_SAFE_INTEGER, this.#options.consumer));
    } finally {
      await trial.end();
      endTurn();
    }
  }

  async #handle(lane: Lane, item: Item): Promise<Outcome> {
    const { consumer, log } = this.#options;
    const isBehind = (subject: string): boolean => lane.isBehind(item, subject);
    try {
      const attempt = item.failures.counted + 1;
      await consumer.onMessage(item.message, { attempt, signal: this.#options.signal, isBehind });
      return settled;
    } catch (error) {
      // A handler that stopped on its signal has not failed: the message comes again.
      if (this.#isStopping) return again(0);
      const verdict = judgeFailure(error, item.failures, consumer);
      const where = { topic: item.message.topic, offset: item.message.offset };
      if (verdict.action === 'retry') {
        const { afterMs } = verdict;
        log.warn({ ...where, error, retryAfterMs: afterMs }, 'a message was not handled; retrying');
        item.failures = verdict.failures;
        // The messages behind one on trial are not here yet.
        if (!(error instanceof EarlyMessageError) || item.trial !== undefined) return again(afterMs);
        return { status: 'early', afterMs, subject: error.subject };
      }
      return this.#giveUp(item, verdict.failure, error);
    }
  }

  #giveUp(item: Item, failure: Failure, error?: unknown): Promise<Outcome> {
    const { topic, partition, offset } = item.message;
    const { code, detail, attempts } = failure;
    const why = error === undefined ? { detail } : { error };
    this.#options.log.error({ topic, partition, offset, code, attempts, ...why }, 'a message is parked');
    item.parking = failure;
    return this.#park(item, failure);
  }

  /** A message that can neither be handled nor parked stays where it is: the group's progress never passes it. */
  async #park(item: Item, failure: Failure): Promise<Outcome> {
    try {
      await this.#options.park(item.message, failure);
      this.#stuck.delete(item);
      return settled;
    } catch (error) {
      const { topic, partition, offset } = item.message;
      const where = `${topic} ${String(partition)}@${offset}`;
      this.#stuck.set(item, `${where} (${failure.code}) cannot be put aside: ${describeError(error)}`);
      this.#options.log.error({ error }, `a message cannot be parked, retrying: ${describeError(error)}`);
      return again(retryDelayMs(Number.MAX_SAFE_INTEGER, this.#options.consumer));
    }
  }
}
