// The only file that loads kafkajs: imported when a worker connects, and not before.
import { randomUUID } from 'node:crypto';
import { backoffMs } from '@countersign/contracts';
import { Kafka, logLevel, Partitioners, type Consumer, type IHeaders, type KafkaMessage, type LogEntry } from 'kafkajs';
import { sleepOrThrow, type Clock } from '@countersign/contracts/clock';
import { CountersignError, messageOf } from '../errors.js';
import type { WorkerLog } from '../log.js';
import { requestsTopicOf } from './options.js';
import type { KafkaOptions } from './options.js';
import type { HeardMessage } from './heard-event.js';
import type { RequestFeed } from './request-feed.js';

/** A request as a message. */
export interface RequestMessage {
  readonly key: string;
  readonly value: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The two topics, from a worker's side. */
export interface KafkaConnection {
  /** Resolves when all in-sync replicas have it. Rejects with kafkajs's error. */
  readonly publish: (message: RequestMessage) => Promise<void>;
  /** Returns whether the events topic is being read. False while the brokers are away, or withhold messages. */
  readonly isListening: () => boolean;
  readonly close: () => Promise<void>;
}

/** The options of a connection. */
export interface ConnectOptions {
  readonly kafka: KafkaOptions;
  readonly feed: Pick<RequestFeed, 'hear' | 'gap'>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly log: WorkerLog;
}

/** Leaving the group waits for a running fetch, so it must be short. */
const fetchWaitMs = 1000;
/** The brokers answer a fetch within `fetchWaitMs`, also when there is no message. */
const silenceMsMax = 10 * fetchWaitMs;
const againBackoff = { firstMs: 500, maxMs: 10_000 } as const;

/**
 * Connects a producer to the requests topic and a consumer to the events topic. When it resolves, no later message is
 * missed: the consumer starts where the topic ended before.
 *
 * The consumer has its own group and commits nothing, so the brokers delete the group after it. After a crash it uses a
 * new group: in the old one it would wait until its former member is removed.
 *
 * @throws CountersignError `not-found` when a topic is missing.
 */
export async function connectKafka(options: ConnectOptions): Promise<KafkaConnection> {
  const { topicPrefix = 'countersign' } = options.kafka;
  const topics = { requests: requestsTopicOf(options.kafka), events: `${topicPrefix}.events.v1` };
  const closed = new AbortController();
  const kafka = kafkaOf(options.kafka, options.log, closed.signal);
  const positions = await endOf(kafka, topics);
  const producer = kafka.producer({
    allowAutoTopicCreation: false,
    createPartitioner: Partitioners.DefaultPartitioner,
    retry: { retries: 5 },
  });
  const listener = createListener(kafka, topics.events, `${topicPrefix}.worker`, positions, options);
  const close = async (): Promise<void> => {
    await Promise.allSettled([listener.stop(), producer.disconnect()]);
    closed.abort();
  };
  try {
    await producer.connect();
    await listener.start();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    publish: async ({ key, value, headers }) => {
      await producer.send({ topic: topics.requests, acks: -1, messages: [{ key, value, headers }] });
    },
    isListening: listener.isListening,
    close,
  };
}

function kafkaOf({ brokers, clientId, ssl, sasl }: KafkaOptions, log: WorkerLog, closed: AbortSignal): Kafka {
  return new Kafka({
    // Without brokers to try, what kafkajs still tries in the background ends.
    brokers: () => (closed.aborted ? [] : [...brokers]),
    clientId: clientId ?? 'countersign-worker',
    ...(ssl === undefined ? {} : { ssl: ssl as boolean }),
    // A copy: kafkajs keeps in it how it signs in, and would go on with an old password.
    ...(sasl === undefined ? {} : { sasl: { ...sasl } as { mechanism: 'plain'; username: string; password: string } }),
    logLevel: logLevel.ERROR,
    logCreator: () => (entry: LogEntry) => {
      log.warn({ from: 'kafkajs', namespace: entry.namespace, error: entry.log['error'] }, entry.log.message);
    },
  });
}

/** Returns the current end of the events topic, by partition. It also proves that both topics exist. */
async function endOf(
  kafka: Kafka,
  topics: { readonly requests: string; readonly events: string },
): Promise<Map<number, string>> {
  const admin = kafka.admin({ retry: { retries: 3 } });
  await admin.connect();
  try {
    const known = await admin.listTopics();
    const missing = Object.values(topics).filter((topic) => !known.includes(topic));
    if (missing.length > 0) {
      const message = `there is no topic ${missing.join(', ')}: is the prefix right, and may this user Describe them? \`countersign topics create\` makes them`;
      throw new CountersignError({ code: 'not-found', message });
    }
    const ends = await admin.fetchTopicOffsets(topics.events);
    return new Map(ends.map(({ partition, high }) => [partition, high]));
  } finally {
    await admin.disconnect();
  }
}

interface Listener {
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly isListening: () => boolean;
}

/** Consumes from `positions` on, and updates them. After a lost membership it continues from there. */
function createListener(
  kafka: Kafka,
  topic: string,
  groupPrefix: string,
  positions: Map<number, string>,
  { feed, clock, random, log }: ConnectOptions,
): Listener {
  const stopped = new AbortController();
  let consumer: Consumer | undefined;
  let failures = 0;
  let fetchedAtMs = -Infinity;

  const begin = async (): Promise<void> => {
    const groupId = `${groupPrefix}.${randomUUID()}`;
    const own = kafka.consumer({
      groupId,
      allowAutoTopicCreation: false,
      maxWaitTimeInMs: fetchWaitMs,
      // Otherwise kafkajs restarts by itself, even for a worker that was closed meanwhile.
      retry: { retries: 5, restartOnFailure: () => Promise.resolve(false) },
    });
    consumer = own;
    // Errors during the start are thrown here: kafkajs only emits them.
    let beginning: { crash?: Error } | undefined = {};
    own.on(own.events.GROUP_JOIN, () => {
      failures = 0;
      // Nothing is committed, so kafkajs would start at the beginning again after each rejoin.
      for (const [partition, offset] of positions) own.seek({ topic, partition, offset });
      fetchedAtMs = clock.monotonic();
      feed.gap();
    });
    own.on(own.events.FETCH, () => {
      fetchedAtMs = clock.monotonic();
    });
    own.on(own.events.CRASH, ({ payload }) => {
      fetchedAtMs = -Infinity;
      if (beginning !== undefined) {
        beginning.crash = payload.error;
        return;
      }
      log.warn({ error: payload.error.message, groupId }, 'the events topic cannot be read for a while');
      if (!isStopped()) void beginAgain();
    });
    await own.connect();
    // From the beginning, so that messages in a later added partition are not missed.
    await own.subscribe({ topic, fromBeginning: true });
    await own.run({
      autoCommit: false,
      eachBatch: async ({ batch }) => {
        for (const message of batch.messages) feed.hear(heard(message));
        positions.set(batch.partition, String(BigInt(batch.lastOffset()) + 1n));
      },
    });
    const { crash } = beginning;
    beginning = undefined;
    if (crash !== undefined) throw crash;
  };
  const isStopped = (): boolean => stopped.signal.aborted;
  const end = async (): Promise<void> => {
    await consumer?.disconnect().catch(() => undefined);
  };
  const beginAgain = async (): Promise<void> => {
    await end();
    while (!isStopped()) {
      try {
        failures += 1;
        await sleepOrThrow(clock, backoffMs(failures, againBackoff, random), stopped.signal);
        await begin();
        if (isStopped()) await end();
        return;
      } catch (error) {
        if (!isStopped()) log.warn({ error: messageOf(error) }, 'the events topic cannot be read yet');
        await end();
      }
    }
  };
  return {
    start: begin,
    isListening: () => clock.monotonic() - fetchedAtMs < silenceMsMax,
    stop: async () => {
      stopped.abort(new Error('the worker is closed'));
      await end();
    },
  };
}

function heard({ key, headers = {}, value }: KafkaMessage): HeardMessage {
  return { key: key?.toString() ?? null, headers: textsOf(headers), value: () => value?.toString() ?? '' };
}

function textsOf(headers: IHeaders): Record<string, string> {
  const texts = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), String(firstOf(value))] as const);
  return Object.fromEntries(texts);
}

function firstOf(value: IHeaders[string]): Buffer | string {
  return (Array.isArray(value) ? value[0] : value) ?? '';
}
