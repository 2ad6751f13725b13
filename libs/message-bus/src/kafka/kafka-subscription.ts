import type { Kafka } from 'kafkajs';
import { orAborted, sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { Dispatcher } from '../dispatcher.js';
import { inFlightMaxDefault } from '../room.js';
import { PoisonMessageError } from '../message-bus.js';
import type {
  Delivery,
  Message,
  OnParked,
  SubscribeOptions,
  Subscription,
  SubscriptionStatus,
} from '../message-bus.js';
import type { Turns } from '../turns.js';
import { explain, mayPass, TopicsMissingError } from './bus-errors.js';
import { toLetterHeaders } from './dead-letter-headers.js';
import { KafkaMessage } from './kafka-message.js';
import type { KafkaSender } from './kafka-publisher.js';
import { KafkaSession } from './kafka-session.js';
import type { KafkaTopics } from './kafka-topics.js';
import { farewellMsMax } from './farewell.js';

export interface KafkaSubscriptionOptions {
  readonly consumer: SubscribeOptions;
  readonly kafka: Kafka;
  /** A client for consumers, with longer waits for unresponsive brokers. */
  readonly consuming: Kafka;
  readonly topics: Pick<KafkaTopics, 'missing' | 'names'>;
  readonly sender: KafkaSender;
  /** Names this process. */
  readonly life: string;
  /** Shared by all groups of this process. */
  readonly trials: Turns;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessionTimeoutMs: number;
  readonly stallAfterMs: number;
  readonly onFatal: (error: Error) => void;
  readonly onStopped: () => void;
  readonly onParked?: OnParked | undefined;
}

const reopenAfterMs = 1_000;

/** One running member of a consumer group: successive sessions with Kafka, and one dispatcher. */
export class KafkaSubscription implements Subscription {
  readonly #options: KafkaSubscriptionOptions;
  readonly #dispatcher: Dispatcher;
  readonly #stop = new AbortController();
  /** Aborts when the time for the brokers to accept parked messages is over. */
  readonly #overdue = new AbortController();
  readonly #running: Promise<void>;
  #session: KafkaSession | undefined;
  #interruption: string | undefined = 'it has not joined its group yet';
  #stopping: Promise<void> | undefined;

  constructor(options: KafkaSubscriptionOptions) {
    const { consumer, clock, log } = options;
    this.#options = options;
    this.#dispatcher = new Dispatcher({
      consumer: { ...consumer, onMessage: (message, delivery) => this.#handle(message, delivery) },
      park: async (message, failure) => {
        if (!(message instanceof KafkaMessage) || message.isRevoked) return;
        const { group } = consumer;
        const headers = toLetterHeaders(message, group, failure, new Date(clock.now()).toISOString());
        const { key, value } = message.received;
        const sent = options.sender.send(options.topics.names.deadLetters, [{ key, value, headers }]);
        await orAborted(sent, this.#overdue.signal);
        options.onParked?.({ group, code: failure.code });
      },
      trials: options.trials,
      clock,
      log,
    });
    this.#running = this.#run();
  }

  readonly status = (): SubscriptionStatus => {
    const inFlight = this.#dispatcher.inFlight;
    if (this.#stopping !== undefined) return { state: 'stopped', inFlight };
    const why = this.#interruption ?? this.#session?.silence ?? this.#dispatcher.stuck;
    return why === undefined ? { state: 'running', inFlight } : { state: 'interrupted', why, inFlight };
  };

  readonly stop = (): Promise<void> => (this.#stopping ??= this.#drain());

  /**
   * Revoked messages are not started, because another member has them. Redelivered messages of a key wait until the
   * first try has ended.
   */
  #handle(message: Message, delivery: Delivery): void | Promise<void> {
    if (!(message instanceof KafkaMessage) || message.isRevoked) return undefined;
    if (message.isTombstone) throw new PoisonMessageError('malformed', 'a message without a value');
    return this.#options.consumer.onMessage(message, delivery);
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        await this.#consume();
      } catch (error) {
        this.#interrupted(error);
      }
      await sleep(clock, reopenAfterMs, this.#stop.signal);
    }
  }

  async #consume(): Promise<void> {
    const { consumer, topics } = this.#options;
    const asked = topics.missing([...consumer.topics, topics.names.deadLetters]);
    const missing = await orAborted(asked, this.#stop.signal);
    if (missing.length > 0) throw new TopicsMissingError(missing);
    if (this.#stop.signal.aborted) return;
    const session = new KafkaSession({
      ...this.#options,
      group: consumer.group,
      topics: consumer.topics,
      types: consumer.types === undefined ? undefined : new Set(consumer.types),
      takesUnreadable: consumer.takesUnreadable ?? false,
      dispatcher: this.#dispatcher,
      suspectsMax: consumer.inFlightMax ?? inFlightMaxDefault,
      onJoined: () => {
        this.#interruption = undefined;
      },
    });
    this.#session = session;
    try {
      await session.run(this.#stop.signal);
      // Stopped: what runs may end first, and its progress is committed.
      await this.#dispatcher.stop();
    } finally {
      this.#session = undefined;
      await session.close();
    }
  }

  #interrupted(error: unknown): void {
    if (this.#stop.signal.aborted) return;
    const { log, onFatal } = this.#options;
    const why = explain(error);
    if (why !== this.#interruption) log.warn({ error }, `interrupted, retrying: ${why}`);
    this.#interruption = why;
    if (!mayPass(error)) onFatal(error instanceof Error ? error : new Error(why));
  }

  async #drain(): Promise<void> {
    this.#session?.pause();
    const idle = this.#dispatcher.stop();
    this.#stop.abort(new Error('the subscription is stopped'));
    const cancel = this.#options.clock.setTimer(farewellMsMax, () => this.#overdue.abort(new Error('no time is left')));
    await idle;
    cancel();
    await this.#running;
    this.#options.onStopped();
  }
}
