import type { Clock, Log } from '@countersign/runtime';
import type { DeadLetters, MessageBus, OnParked } from '../message-bus.js';
import { Turns } from '../turns.js';
import { BusFile } from './bus-file.js';
import { EmbeddedSubscription } from './embedded-subscription.js';
import type { LogReader } from './log-reader.js';

export interface EmbeddedMessageBusOptions {
  /** The folder of `bus.db`, which is created at the first use. */
  readonly folder: string;
  /** The log that each topic carries. */
  readonly topics: Readonly<Record<string, LogReader>>;
  readonly clock: Clock;
  readonly log: Log;
  readonly onParked?: OnParked;
}

/**
 * The bus of one process: the log itself, with a named, durable checkpoint per consumer group. Nothing is published,
 * what is recorded is there. Without subscriptions it reads nothing and makes no file.
 *
 * Progress is kept at most 200 ms late and survives a kill; after a kill or a power cut the last messages come again.
 * @example
 * const bus = createEmbeddedMessageBus({ folder: './data', topics: { [topicNames().events]: store }, clock, log });
 */
export function createEmbeddedMessageBus(options: EmbeddedMessageBusOptions): MessageBus {
  const { folder, topics, clock, log, onParked } = options;
  const served = new Map<string, EmbeddedSubscription>();
  const trials = new Turns();
  let file: BusFile | undefined;
  const open = (): BusFile => (file ??= new BusFile(folder));
  return {
    system: 'countersign',
    subscribe: (consumer) => {
      const { group } = consumer;
      if (served.has(group)) throw new Error(`group "${group}" is already subscribed`);
      const onStopped = (): void => void served.delete(group);
      const own = { file: open(), log: log.child({ group }), onStopped, onParked };
      const subscription = new EmbeddedSubscription({ consumer, topics, trials, clock, ...own });
      served.set(group, subscription);
      return subscription;
    },
    deadLetters: deadLettersOf(open, served),
    close: async () => {
      await Promise.all([...served.values()].map((subscription) => subscription.stop()));
      file?.close();
      file = undefined;
    },
  };
}

function deadLettersOf(open: () => BusFile, served: ReadonlyMap<string, EmbeddedSubscription>): DeadLetters {
  return {
    list: async ({ group, after = '0', limit = 100 } = {}) => open().list(group, Number(after), limit),
    show: async (id) => open().show(Number(id)),
    replay: async (id) => {
      const letter = open().beginReplay(Number(id));
      if (letter !== undefined) served.get(letter.group)?.redeliver(letter);
      return letter !== undefined;
    },
  };
}
