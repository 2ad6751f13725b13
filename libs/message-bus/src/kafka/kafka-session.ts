import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import type { Clock, Log } from '@countersign/runtime';
import type { Dispatcher } from '../dispatcher.js';
import { Commits } from './commits.js';
import { isReplayForOther } from './dead-letter-headers.js';
import { Fetches } from './fetches.js';
import { after, Generation } from './generation.js';
import { headerOf, KafkaMessage } from './kafka-message.js';
import { atMost, farewellMsMax } from './patience.js';
import { awaitStall } from './stall.js';

export interface KafkaSessionOptions {
  readonly kafka: Kafka;
  /** A client for consumers, which waits longer for brokers that do not answer. */
  readonly consuming: Kafka;
  readonly group: string;
  readonly topics: readonly string[];
  /** Undefined: all. */
  readonly types: ReadonlySet<string> | undefined;
  readonly dispatcher: Dispatcher;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessionTimeoutMs: number;
  readonly stallAfterMs: number;
  readonly onJoined: () => void;
}

/** How long a fetch waits for messages, and so about how long a stop may have to wait. */
const fetchWaitMsMax = 250;
/** An idle consumer is answered several times a second. */
const silenceMsMax = 10_000;

/** One life of the vendor's consumer: from joining the group until it crashes or is stopped. */
export class KafkaSession {
  readonly #options: KafkaSessionOptions;
  readonly #consumer: Consumer;
  readonly #over = new AbortController();
  readonly #fetches: Fetches<Generation>;
  readonly #commits: Commits;
  #generation = new Generation();
  #joined: Promise<void> = Promise.resolve();
  #assignment: Readonly<Record<string, readonly number[]>> = {};
  #lastBatchAt = 0;
  /** When something was last received or handled. A consumer that was busy until now has had no time to receive more. */
  #lastActiveAt = 0;
  #lastAnswerAt = 0;

  constructor(options: KafkaSessionOptions) {
    const { consuming, group, sessionTimeoutMs, clock, log } = options;
    this.#options = options;
    this.#fetches = new Fetches(clock);
    this.#commits = new Commits({ clock, log, generation: () => this.#generation });
    this.#consumer = consuming.consumer({
      groupId: group,
      allowAutoTopicCreation: false,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatMs(sessionTimeoutMs),
      rebalanceTimeout: Math.max(sessionTimeoutMs, 30_000),
      maxWaitTimeInMs: fetchWaitMsMax,
      metadataMaxAge: 60_000,
    });
  }

  /** Why nothing can be received although the consumer has not given up; undefined while brokers answer. */
  get silence(): string | undefined {
    const quietMs = this.#options.clock.monotonic() - this.#lastAnswerAt;
    if (quietMs < silenceMsMax) return undefined;
    return `the brokers have not answered for ${Math.round(quietMs / 1000)} s`;
  }

  /** Resolves when `stopped` aborts. @throws what ended it before that */
  async run(stopped: AbortSignal): Promise<void> {
    const crashed = this.#listen();
    const ended = until(stopped);
    try {
      // The client waits for brokers for minutes, whoever tells it to leave.
      this.#joined = this.#join();
      await Promise.race([this.#joined, ended]);
      await Promise.race([crashed, this.#stalled(), ended]);
    } finally {
      this.#over.abort();
    }
  }

  /** Begins to consume; what was told to leave meanwhile leaves as soon as it can. */
  async #join(): Promise<void> {
    const { topics } = this.#options;
    const steps = [
      () => this.#consumer.connect(),
      () => this.#consumer.subscribe({ topics: [...topics], fromBeginning: true }),
      () =>
        this.#consumer.run({
          autoCommit: false,
          eachBatchAutoResolve: false,
          eachBatch: (payload) => this.#take(payload),
        }),
    ];
    for (const step of steps) {
      await step();
      if (this.#over.signal.aborted) return this.#disconnect();
    }
  }

  /** Fetches nothing more; what was fetched is still committed. */
  pause(): void {
    // It throws as long as it has not begun to run, and then there is nothing to pause.
    if (this.#lastBatchAt > 0) this.#consumer.pause(this.#options.topics.map((topic) => ({ topic })));
  }

  /** Commits what is done and leaves the group; brokers that do not answer take the member for dead later. */
  async close(): Promise<void> {
    const { clock } = this.#options;
    await atMost(clock, farewellMsMax, this.#commits.end());
    this.#generation.end();
    const gone = this.#joined.catch(() => undefined).then(() => this.#disconnect());
    await atMost(clock, farewellMsMax, gone);
  }

  /** Rejects when the consumer has ended by itself. */
  #listen(): Promise<never> {
    const { clock, onJoined } = this.#options;
    const { events } = this.#consumer;
    this.#consumer.on(events.REBALANCING, () => {
      // Nothing is being fetched now. The commit goes out before the request to join again.
      this.#fetches.clear();
      void this.#commits.now();
      this.#generation.end();
    });
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => {
      this.#generation.end();
      this.#generation = new Generation();
      this.#assignment = payload.memberAssignment;
      this.#lastBatchAt = this.#lastActiveAt = this.#lastAnswerAt = clock.monotonic();
      onJoined();
    });
    for (const answered of [events.FETCH, events.HEARTBEAT]) {
      this.#consumer.on(answered, () => {
        this.#lastAnswerAt = clock.monotonic();
      });
    }
    this.#consumer.on(events.FETCH_START, ({ payload }) => {
      this.#fetches.begin(String(payload.nodeId), this.#generation);
    });
    const crashed = new Promise<never>((_, reject) => {
      this.#consumer.on(events.CRASH, ({ payload }) => {
        this.#generation.end();
        reject(payload.error);
      });
    });
    // It may come when nobody waits for it yet.
    crashed.catch(() => undefined);
    return crashed;
  }

  async #take(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const generation = this.#generation;
    this.#lastBatchAt = this.#lastActiveAt = this.#options.clock.monotonic();
    if (this.#fetches.mayBeStale(generation)) return;
    const watermark = generation.watermarkOf(payload);
    let taken: string | undefined;
    try {
      for (const received of batch.messages) {
        if (generation.over || this.#options.dispatcher.stopping || payload.isStale()) return;
        taken = received.offset;
        const room = this.#takeOne(new KafkaMessage(batch.topic, batch.partition, received, generation), watermark);
        if (room !== undefined) await this.#waitForRoom(room, payload);
      }
    } finally {
      // What was not taken is fetched again.
      if (taken !== undefined && !generation.over) payload.resolveOffset(taken);
    }
  }

  #takeOne(message: KafkaMessage, watermark: ReturnType<Generation['watermarkOf']>): Promise<void> | undefined {
    const { types, group, dispatcher, clock } = this.#options;
    const { received } = message;
    const next = after(message.offset);
    const unwanted = types !== undefined && !types.has(headerOf(received, 'ce_type') ?? '');
    if (unwanted || isReplayForOther(received, group)) {
      watermark.pass(next);
      this.#commits.later();
      return undefined;
    }
    const end = watermark.begin(next);
    return dispatcher.submit(message, () => {
      end();
      this.#lastActiveAt = clock.monotonic();
      this.#commits.later();
    });
  }

  /** The member stays one while it waits, however long the handlers take; a rebalance ends the wait by a throw. */
  async #waitForRoom(room: Promise<void>, payload: EachBatchPayload): Promise<void> {
    const { clock, sessionTimeoutMs } = this.#options;
    for (let waiting = true; waiting;) {
      let cancel = (): void => undefined;
      const beat = new Promise<true>((resolve) => {
        cancel = clock.setTimer(heartbeatMs(sessionTimeoutMs), () => resolve(true));
      });
      waiting = await Promise.race([room.then(() => false), beat]);
      cancel();
      if (waiting) await payload.heartbeat();
    }
  }

  #stalled(): Promise<never> {
    const { kafka, group, clock, log, dispatcher, stallAfterMs } = this.#options;
    return awaitStall({
      kafka,
      group,
      clock,
      log,
      stallAfterMs,
      over: this.#over.signal,
      assignment: () => this.#assignment,
      quietMs: () => (dispatcher.inFlight > 0 ? 0 : clock.monotonic() - this.#lastActiveAt),
    });
  }

  async #disconnect(): Promise<void> {
    try {
      await this.#consumer.disconnect();
    } catch (error) {
      this.#options.log.debug({ error }, 'the consumer was not disconnected in order');
    }
  }
}

const heartbeatMs = (sessionTimeoutMs: number): number => Math.min(3_000, Math.floor(sessionTimeoutMs / 4));

function until(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
