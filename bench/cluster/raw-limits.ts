import { randomUUID } from 'node:crypto';
import { EventStoreDBClient, jsonEvent, streamNameFilter } from '@eventstore/db-client';
import type { RecordedEvent } from '@countersign/contracts';
import { createWithLeaders } from '@countersign/message-bus/kafka';
import { systemClock } from '@countersign/runtime';
import { Kafka, logLevel } from 'kafkajs';
import { closedLoop, percentile } from '../closed-loop.ts';
import type { Engines } from './engines.ts';
import { startUsage } from './role-processes.ts';

/** A plain kafkajs client without our code. */
export function rawKafka(brokers: readonly string[]): Kafka {
  return new Kafka({ brokers: [...brokers], clientId: 'bench-raw', logLevel: logLevel.NOTHING });
}

const batch = 1000;

/** Messages of 500 bytes a second, produced in batches of 1,000 (acks from all), then consumed with an empty handler. */
export async function rawKafkaRates(
  brokers: readonly string[],
  messages: number,
): Promise<{ readonly produced: number; readonly consumed: number }> {
  const kafka = rawKafka(brokers);
  const topic = `bench-raw-${randomUUID().slice(0, 8)}`;
  const admin = kafka.admin();
  await admin.connect();
  await createWithLeaders(admin, [{ topic, numPartitions: 12, replicationFactor: 1 }], systemClock);
  const producer = kafka.producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const value = Buffer.alloc(500, 'x');
  const startedAt = performance.now();
  for (let sent = 0; sent < messages; sent += batch) {
    const count = Math.min(batch, messages - sent);
    await producer.send({
      topic,
      messages: Array.from({ length: count }, (_, index) => ({ key: String(sent + index), value })),
    });
  }
  const produced = messages / ((performance.now() - startedAt) / 1000);
  await producer.disconnect();
  const consumed = await consumeAll(kafka, topic, messages);
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
  return { produced, consumed };
}

/**
 * From the publishing of a message to an empty handler that gets it, one message at a time (acks from all): the minimum
 * of every step over Kafka.
 */
export async function rawPublishToHandler(brokers: readonly string[], seconds: number): Promise<number> {
  const kafka = rawKafka(brokers);
  const topic = `bench-alone-${randomUUID().slice(0, 8)}`;
  const admin = kafka.admin();
  await admin.connect();
  await createWithLeaders(admin, [{ topic, numPartitions: 1, replicationFactor: 1 }], systemClock);
  const [producer, consumer] = [
    kafka.producer({ allowAutoTopicCreation: false }),
    kafka.consumer({ groupId: `${topic}-group` }),
  ];
  await Promise.all([producer.connect(), consumer.connect()]);
  await consumer.subscribe({ topic, fromBeginning: true });
  let arrived = (): void => undefined;
  // Joining the group is no part of it.
  const joined = new Promise((resolve) => consumer.on(consumer.events.GROUP_JOIN, resolve));
  await consumer.run({
    autoCommit: false,
    eachMessage: async () => {
      arrived();
      return Promise.resolve();
    },
  });
  await joined;
  const measured = await closedLoop(1, seconds, async () => {
    const arrival = new Promise<void>((resolve) => (arrived = resolve));
    await producer.send({ topic, messages: [{ key: 'k', value: Buffer.alloc(500, 'x') }] });
    await arrival;
  });
  await Promise.all([producer.disconnect(), consumer.disconnect()]);
  await admin.deleteTopics({ topics: [topic] });
  await admin.disconnect();
  return percentile(measured.latenciesMs, 50);
}

async function consumeAll(kafka: Kafka, topic: string, messages: number): Promise<number> {
  const consumer = kafka.consumer({ groupId: `${topic}-group`, maxWaitTimeInMs: 250 });
  await consumer.connect();
  await consumer.subscribe({ topic, fromBeginning: true });
  const done = Promise.withResolvers<number>();
  let [received, startedAt] = [0, 0];
  // Joining the group is no part of the rate.
  consumer.on(consumer.events.GROUP_JOIN, () => (startedAt = performance.now()));
  await consumer.run({
    autoCommit: false,
    eachBatch: async ({ batch: { messages: some } }) => {
      received += some.length;
      if (received >= messages) done.resolve(messages / ((performance.now() - startedAt) / 1000));
      return Promise.resolve();
    },
  });
  const rate = await done.promise;
  await consumer.disconnect();
  return rate;
}

/** The raw client's speed with appends of the same events. */
export interface RawAppends {
  readonly perSecond: number;
  readonly p50Ms: number;
  /** The client's CPU, which is this process's. */
  readonly clientCpuMs: number;
  readonly storeCpuMs: number;
}

/**
 * Appends of these events per second, each to a new stream at an exact revision, pipelined by the vendor's client
 * (BatchAppend), without any reads.
 */
export async function rawAppends(
  { storeUrl, storePid }: Pick<Engines, 'storeUrl' | 'storePid'>,
  events: readonly RecordedEvent[],
  inFlight: number,
  seconds: number,
): Promise<RawAppends> {
  const client = EventStoreDBClient.connectionString(storeUrl);
  const used = startUsage({ client: process.pid, store: storePid });
  const measured = await closedLoop(inFlight, seconds, async () => {
    const proposed = events.map(({ type, data, metadata }) =>
      jsonEvent({ id: randomUUID(), type, data, metadata: { ...metadata } }),
    );
    await client.appendToStream(`benchRaw-${randomUUID()}`, proposed, { expectedRevision: 'no_stream' });
  });
  const { client: clientCpu = NaN, store: storeCpu = NaN } = used();
  await client.dispose();
  return {
    perSecond: measured.cycles / measured.seconds,
    p50Ms: percentile(measured.latenciesMs, 50),
    clientCpuMs: clientCpu / measured.cycles,
    storeCpuMs: storeCpu / measured.cycles,
  };
}

/** Events per second that the raw client reads from a subscription to these streams, until `count` arrived. */
export async function rawSubscription(url: string, prefixes: readonly string[], count: number): Promise<number> {
  const client = EventStoreDBClient.connectionString(url);
  const filter = streamNameFilter({ prefixes: [...prefixes], checkpointInterval: 100 });
  const startedAt = performance.now();
  const subscription = client.subscribeToAll({ fromPosition: 'start', filter });
  let received = 0;
  for await (const { event } of subscription) {
    if (event !== undefined) received += 1;
    if (received === count) break;
  }
  const seconds = (performance.now() - startedAt) / 1000;
  await client.dispose();
  return count / seconds;
}
