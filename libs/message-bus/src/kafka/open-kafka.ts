import type { Clock, Ids, Log } from '@countersign/runtime';
import type { MessageBus, MessagePublisher, OnParked, SubscriptionStatus } from '../message-bus.js';
import { topicNames } from '../topics.js';
import { Turns } from '../turns.js';
import { describeError } from '../failure.js';
import { TopicsMissingError } from './bus-errors.js';
import { createKafkaClient, patient } from './kafka-client.js';
import type { KafkaConnection } from './kafka-client.js';
import type { ExclusiveProgress } from '../exclusive-progress.js';
import { createKafkaDeadLetters } from './kafka-dead-letters.js';
import { createKafkaExclusiveProgress } from './kafka-exclusive-progress.js';
import type { KafkaExclusiveProgress } from './kafka-exclusive-progress.js';
import { createKafkaPublisher, createKafkaSender } from './kafka-publisher.js';
import { createKafkaRights } from './kafka-rights.js';
import type { KafkaRights } from './kafka-rights.js';
import { KafkaSubscription } from './kafka-subscription.js';
import { createKafkaTopics } from './kafka-topics.js';
import type { KafkaTopics } from './kafka-topics.js';

export interface KafkaOptions extends KafkaConnection {
  /** Default `countersign`. */
  readonly topicPrefix?: string;
  readonly clock: Clock;
  readonly ids: Pick<Ids, 'uuid'>;
  readonly log: Log;
  /**
   * A failure that this process cannot recover from, such as refused credentials or a stuck consumer: the process
   * should end and be restarted. The bus retries anyway.
   */
  readonly onFatal?: (error: Error) => void;
  readonly onParked?: OnParked;
  /** A member without heartbeats for this long is removed. Default: 30,000. */
  readonly sessionTimeoutMs?: number;
  /**
   * How long a consumer waits for unreachable brokers before it restarts as another member, for which its group then
   * waits a whole session. Default: 300,000.
   */
  readonly patienceMs?: number;
  /** Messages wait, there is room, and none arrives for this long: fatal. Default: 180,000. */
  readonly stallAfterMs?: number;
}

/** The state of the bus, for `/readyz`. */
export interface KafkaHealth {
  readonly state: 'running' | 'interrupted';
  /** The reason when it does not work, with the remedy if there is one. */
  readonly why?: string;
  /** By group. */
  readonly subscriptions: Readonly<Record<string, SubscriptionStatus>>;
}

/** Kafka as this process has it. */
export interface KafkaBus {
  readonly bus: MessageBus;
  readonly publisher: MessagePublisher;
  readonly topics: KafkaTopics;
  readonly rights: KafkaRights;
  /**
   * Elects one leader among the processes that name this group, which must not be a subscribed group.
   * `sessionTimeoutMs`: a leader without heartbeats for this long is replaced. Default: 8,000.
   */
  readonly exclusiveProgress: (group: string, options?: { readonly sessionTimeoutMs?: number }) => ExclusiveProgress;
  /** The last known state of this process's subscriptions, without asking the brokers. */
  readonly status: () => KafkaHealth;
  /** Asks whether the brokers are reachable and every topic exists. Never rejects. */
  readonly health: () => Promise<KafkaHealth>;
  /** Stops every subscription, finishes the send in flight, and disconnects. Unresponsive brokers get a few seconds. */
  readonly close: () => Promise<void>;
}

/**
 * The message bus on Kafka. Connects when it is first used; while brokers or topics are missing it waits, says so in
 * `status`, and begins by itself once they are there.
 *
 * Progress is committed at most 200 ms late, and at a rebalance and a stop. After a kill or a rebalance the last messages
 * come again; a partition's first deliveries keep the order of a key, and nothing is committed that was not handled.
 *
 * A handler that runs while its partition is taken away is not stopped, and what it does counts for nothing here: the
 * new owner repeats its message, perhaps at the same moment. Within one process a key's handlers never overlap; across
 * two they may, for as long as one handler takes, so handlers MUST tolerate a duplicate at the same time.
 * @example
 * const kafka = openKafka({ brokers: ['127.0.0.1:9092'], clientId: 'ledger', clock, ids, log });
 * kafka.bus.subscribe({ group: 'countersign-ledger', topics: [kafka.topics.names.requests], onMessage });
 */
export function openKafka(options: KafkaOptions): KafkaBus {
  const { clock, ids, log, topicPrefix = 'countersign', sessionTimeoutMs = 30_000, stallAfterMs = 180_000 } = options;
  const { patienceMs = 300_000, onParked } = options;
  const closed = new AbortController();
  const kafka = createKafkaClient(options, { log, closed: closed.signal });
  const consuming = createKafkaClient(options, { log, closed: closed.signal, retries: patient(patienceMs) });
  const topics = createKafkaTopics(kafka, topicNames(topicPrefix), clock);
  const sender = createKafkaSender(kafka, topics, clock);
  const served = new Map<string, KafkaSubscription>();
  const exclusive: (readonly [group: string, progress: KafkaExclusiveProgress])[] = [];
  const closing = new AbortController();
  const [life, trials] = [ids.uuid(), new Turns()];
  const onFatal = (error: Error): void => {
    log.error({ error }, `Kafka requires a restart of this process: ${describeError(error)}`);
    options.onFatal?.(error);
  };
  const bus: MessageBus = {
    system: 'kafka',
    subscribe: (consumer) => {
      const { group } = consumer;
      if (served.has(group)) throw new Error(`group "${group}" is already subscribed`);
      const onStopped = (): void => void served.delete(group);
      const own = {
        life,
        trials,
        clock,
        log: log.child({ group }),
        sessionTimeoutMs,
        stallAfterMs,
        onFatal,
        onStopped,
        onParked,
      };
      const subscription = new KafkaSubscription({ consumer, kafka, consuming, topics, sender, ...own });
      served.set(group, subscription);
      return subscription;
    },
    deadLetters: createKafkaDeadLetters({ kafka, topics, sender, ids, clock }),
    close: async () => {
      await Promise.all([...served.values()].map((subscription) => subscription.stop()));
    },
  };
  const status = (): KafkaHealth => {
    const subscriptions = Object.fromEntries([...served].map(([group, each]) => [group, each.status()]));
    const troubled = [
      ...Object.entries(subscriptions).filter(([, { state }]) => state === 'interrupted'),
      ...exclusive.map(([group, { interruption }]) => [group, { why: interruption() }] as const),
    ].find(([, { why }]) => why !== undefined);
    if (troubled === undefined) return { state: 'running', subscriptions };
    const [group, { why = '' }] = troubled;
    return { state: 'interrupted', why: `${group}: ${why}`, subscriptions };
  };
  return {
    bus,
    publisher: createKafkaPublisher(sender),
    topics,
    rights: createKafkaRights(kafka, topicPrefix, topics.names),
    exclusiveProgress: (group, { sessionTimeoutMs: afterMs = 8_000 } = {}) => {
      const own = { group, topic: topics.names.events, sessionTimeoutMs: afterMs, log: log.child({ group }) };
      const progress = createKafkaExclusiveProgress({ kafka, topics, clock, closed: closing.signal, ...own });
      exclusive.push([group, progress]);
      return progress;
    },
    status,
    health: async () => {
      try {
        const missing = await topics.missing();
        if (missing.length > 0) throw new TopicsMissingError(missing);
        return status();
      } catch (error) {
        return { ...status(), state: 'interrupted', why: error instanceof Error ? error.message : String(error) };
      }
    },
    close: async () => {
      closing.abort(new Error('the bus is closed'));
      // Messages that are parked while subscriptions stop still need the sender.
      await Promise.all([bus.close().then(sender.close), ...exclusive.map(([, progress]) => progress.leave())]);
      closed.abort();
    },
  };
}
