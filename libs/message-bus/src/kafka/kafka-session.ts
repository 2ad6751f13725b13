import type { Consumer, EachBatchPayload, Kafka } from 'kafkajs';
import { atMost } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { Dispatcher } from '../dispatcher.js';
import { Commits } from './commits.js';
import { Fetches } from './fetches.js';
import { aborted, beatUntil, heartbeatMs } from './heartbeat.js';
import { Generation, readCommittedRecords } from './generation.js';
import type { Partition } from './generation.js';
import { Intake } from './intake.js';
import { KafkaMessage } from './kafka-message.js';
import { Membership } from './membership.js';
import { farewellMsMax } from './farewell.js';
import { awaitStall } from './stall.js';

export interface KafkaSessionOptions {
  readonly kafka: Kafka;
  /** A client for consumers, with longer waits for unresponsive brokers. */
  readonly consuming: Kafka;
  readonly group: string;
  readonly topics: readonly string[];
  /** Undefined: all. */
  readonly types: ReadonlySet<string> | undefined;
  readonly takesUnreadable: boolean;
  readonly dispatcher: Dispatcher;
  /** Names this process in what it commits. */
  readonly life: string;
  /** How many messages a crashed process may have been handling. */
  readonly suspectsMax: number;
  readonly clock: Clock;
  readonly log: Log;
  readonly sessionTimeoutMs: number;
  readonly stallAfterMs: number;
  readonly onJoined: () => void;
}

/** How long a fetch waits for messages, and therefore roughly how long a stop may wait. */
const fetchWaitMsMax = 250;
/** An idle consumer gets several responses per second. */
const silenceMsMax = 10_000;

/** One run of the vendor's consumer: from joining the group until it crashes or is stopped. */
export class KafkaSession {
  readonly #options: KafkaSessionOptions;
  readonly #consumer: Consumer;
  readonly #over = new AbortController();
  readonly #fetches: Fetches<Generation>;
  readonly #commits: Commits;
  readonly #intake: Intake;
  readonly #membership: Membership;
  #generation: Generation;
  #joined: Promise<void> = Promise.resolve();
  #assignment: Readonly<Record<string, readonly number[]>> = {};
  /** When something was last received or handled. A consumer that was busy until now has had no time to receive more. */
  #lastActiveAt = 0;
  /** Nothing more is received until a received message is handled. */
  #isFull = false;
  #lastAnswerAt = 0;

  constructor(options: KafkaSessionOptions) {
    const { consuming, group, sessionTimeoutMs, clock, log } = options;
    this.#options = options;
    this.#generation = this.#nextGeneration();
    this.#fetches = new Fetches(clock);
    this.#membership = new Membership(clock, sessionTimeoutMs);
    this.#commits = new Commits({ clock, log, generation: () => this.#generation });
    const onSettled = (): void => {
      this.#lastActiveAt = clock.monotonic();
    };
    this.#intake = new Intake({ ...options, commits: this.#commits, onSettled });
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

  /** Why nothing can be received although the consumer has not given up; undefined while brokers respond. */
  get silence(): string | undefined {
    const quietMs = this.#options.clock.monotonic() - this.#lastAnswerAt;
    if (quietMs < silenceMsMax) return undefined;
    return `the brokers have not answered for ${Math.round(quietMs / 1000)} s`;
  }

  /** Resolves when `stopped` aborts. @throws what ended it before that */
  async run(stopped: AbortSignal): Promise<void> {
    const crashed = this.#listen();
    const ended = aborted(stopped);
    try {
      // The client waits for brokers for minutes, and ignores a stop.
      this.#joined = this.#join();
      await Promise.race([this.#joined, ended]);
      await Promise.race([crashed, this.#membership.lost, this.#stalled(), ended]);
    } finally {
      this.#over.abort();
    }
  }

  /** Starts to consume. If it was stopped meanwhile, it leaves as soon as it can. */
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
    try {
      this.#consumer.pause(this.#options.topics.map((topic) => ({ topic })));
    } catch (error) {
      // It has not started yet, or has just ended by itself: there is nothing to pause.
      this.#options.log.debug({ error }, 'the consumer was not paused');
    }
  }

  /** Commits the progress and leaves the group. Unresponsive brokers remove the member later. */
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
      // No fetch is in flight. The commit is sent before the request to rejoin.
      this.#fetches.clear();
      this.#membership.joining();
      void this.#commits.now({ leaving: true });
      this.#generation.end();
    });
    this.#consumer.on(events.GROUP_JOIN, ({ payload }) => {
      this.#generation.end();
      this.#generation = this.#nextGeneration();
      this.#assignment = payload.memberAssignment;
      this.#membership.joined();
      this.#lastActiveAt = this.#lastAnswerAt = clock.monotonic();
      onJoined();
    });
    for (const answered of [events.FETCH, events.HEARTBEAT]) {
      this.#consumer.on(answered, () => {
        this.#lastAnswerAt = clock.monotonic();
      });
    }
    this.#consumer.on(events.HEARTBEAT, () => this.#membership.heard());
    this.#consumer.on(events.FETCH_START, ({ payload }) => {
      this.#membership.reading();
      this.#fetches.begin(String(payload.nodeId), this.#generation);
    });
    const crashed = new Promise<never>((_, reject) => {
      this.#consumer.on(events.CRASH, ({ payload }) => {
        this.#generation.end();
        reject(payload.error);
      });
    });
    // It may come before it has a listener.
    crashed.catch(() => undefined);
    return crashed;
  }

  async #take(payload: EachBatchPayload): Promise<void> {
    const { batch } = payload;
    const generation = this.#generation;
    if (this.#fetches.mayBeStale(generation)) return;
    const { topic, partition: number } = batch;
    const partition = generation.partition(topic, number) ?? (await this.#begin(generation, payload));
    let taken: string | undefined;
    try {
      for (const received of batch.messages) {
        if (generation.over || this.#options.dispatcher.stopping || payload.isStale()) return;
        taken = received.offset;
        this.#lastActiveAt = this.#options.clock.monotonic();
        const message = new KafkaMessage(topic, number, received, generation);
        const room = this.#intake.take(message, partition, generation);
        this.#isFull = room !== undefined;
        if (room !== undefined) await this.#beatUntil(room, payload);
      }
    } finally {
      this.#isFull = false;
      // Messages that were not accepted are fetched again.
      if (taken !== undefined && !generation.over) payload.resolveOffset(taken);
    }
  }

  #nextGeneration(): Generation {
    const { kafka, group, topics, life, suspectsMax, clock } = this.#options;
    return new Generation({ clock, life, suspectsMax, readRecords: () => readCommittedRecords(kafka, group, topics) });
  }

  /** Once per assigned partition: the next owner must see that this one had begun. */
  async #begin(generation: Generation, payload: EachBatchPayload): Promise<Partition> {
    const begun = generation.begin(payload).then(async (partition) => {
      if (partition.probation.over) await this.#commits.now();
      else this.#intake.tellOfCrash(partition);
      return partition;
    });
    await this.#beatUntil(begun, payload);
    return begun;
  }

  #beatUntil(room: Promise<unknown>, payload: EachBatchPayload): Promise<void> {
    const { clock, sessionTimeoutMs } = this.#options;
    return beatUntil(room, { clock, everyMs: heartbeatMs(sessionTimeoutMs), beat: () => payload.heartbeat() });
  }

  #stalled(): Promise<never> {
    const { kafka, group, clock, log, stallAfterMs } = this.#options;
    return awaitStall({
      kafka,
      group,
      clock,
      log,
      stallAfterMs,
      over: this.#over.signal,
      assignment: () => this.#assignment,
      received: (topic, partition) => this.#generation.received(topic, partition),
      quietMs: () => (this.#isFull ? 0 : clock.monotonic() - this.#lastActiveAt),
    });
  }

  async #disconnect(): Promise<void> {
    try {
      await this.#consumer.disconnect();
    } catch (error) {
      this.#options.log.debug({ error }, 'the consumer was not disconnected cleanly');
    }
  }
}
