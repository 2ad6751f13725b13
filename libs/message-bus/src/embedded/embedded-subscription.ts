import type { Clock, Log } from '@countersign/runtime';
import { Dispatcher } from '../dispatcher.js';
import { inFlightMaxDefault } from '../room.js';
import type { DeadLetter, OnParked, SubscribeOptions, Subscription, SubscriptionStatus } from '../message-bus.js';
import { Probation } from '../probation.js';
import type { Turns } from '../turns.js';
import type { BusFile } from './bus-file.js';
import type { LogReader } from './log-reader.js';
import { TopicReader } from './topic-reader.js';

export interface EmbeddedSubscriptionOptions {
  readonly consumer: SubscribeOptions;
  readonly topics: Readonly<Record<string, LogReader>>;
  readonly file: BusFile;
  /** Shared by all groups of this process. */
  readonly trials: Turns;
  readonly clock: Clock;
  readonly log: Log;
  readonly onStopped: () => void;
  readonly onParked?: OnParked | undefined;
}

/** One running consumer group: a reader per topic, and one dispatcher. */
export class EmbeddedSubscription implements Subscription {
  readonly #dispatcher: Dispatcher;
  readonly #readers: readonly TopicReader[];
  readonly #file: BusFile;
  readonly #onStopped: () => void;
  #stopping: Promise<void> | undefined;

  /** @throws Error for a topic that is not there. */
  constructor(options: EmbeddedSubscriptionOptions) {
    const { consumer, topics, file, trials, clock, log, onStopped, onParked } = options;
    const { group } = consumer;
    const sources = consumer.topics.map((topic) => {
      const source = topics[topic];
      if (source === undefined) throw new Error(`topic "${topic}" is unknown`);
      return { topic, source };
    });
    this.#file = file;
    this.#onStopped = onStopped;
    const dispatcher = new Dispatcher({
      consumer,
      park: async (message, failure) => {
        file.park(group, message, failure, new Date(clock.now()).toISOString());
        onParked?.({ group, code: failure.code });
      },
      trials,
      clock,
      log,
    });
    this.#dispatcher = dispatcher;
    for (const letter of file.replaying(group)) this.redeliver(letter);
    const types = consumer.types === undefined ? undefined : new Set(consumer.types);
    const suspectsMax = consumer.inFlightMax ?? inFlightMaxDefault;
    const { concerns } = consumer;
    const own = { group, types, concerns, dispatcher, file, suspectsMax, clock, log };
    this.#readers = sources.map((from) => new TopicReader({ ...from, ...own }));
  }

  /**
   * Handles a parked message again, and alone: it may have crashed processes, and no stored progress would show that it
   * does again.
   */
  redeliver(letter: DeadLetter): void {
    const file = this.#file;
    const id = Number(letter.id);
    const probation = new Probation({ record: file.replayRecord(id), messagesMax: 1, isSuspect: true });
    const store = (): void => file.saveReplayRecord(id, probation.record);
    void this.#dispatcher.submitAlone(letter, () => file.endReplay(id), probation.trial(store, store));
  }

  readonly status = (): SubscriptionStatus => {
    const inFlight = this.#dispatcher.inFlight;
    if (this.#stopping !== undefined) return { state: 'stopped', inFlight };
    const [why = this.#dispatcher.stuck] = this.#readers.flatMap(({ interruption }) => interruption ?? []);
    return why === undefined ? { state: 'running', inFlight } : { state: 'interrupted', why, inFlight };
  };

  readonly stop = (): Promise<void> => (this.#stopping ??= this.#stop());

  async #stop(): Promise<void> {
    // The dispatcher first: it releases a reader that waits for room.
    const idle = this.#dispatcher.stop();
    await Promise.all(this.#readers.map((reader) => reader.stop()));
    await idle;
    for (const reader of this.#readers) reader.close();
    this.#onStopped();
  }
}
