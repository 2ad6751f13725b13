import { randomUUID } from 'node:crypto';
import { openKafka } from '@countersign/message-bus/kafka';
import type { KafkaBus, KafkaOptions } from '@countersign/message-bus/kafka';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { Kafka, logLevel } from 'kafkajs';
import { startKafkaBroker } from '../kafka-broker/broker.ts';

/** A unique prefix for the topics and groups of one test. */
export const freshPrefix = (): string => `t${randomUUID().slice(0, 8)}`;

/** Kafka for one process of a test: the broker of the run, with a short session timeout. */
export async function openedKafka(options: Partial<KafkaOptions> = {}): Promise<KafkaBus> {
  const brokers = options.brokers ?? (await startKafkaBroker()).brokers;
  return openKafka({
    clientId: 'test',
    clock: systemClock,
    ids: createSystemIds(),
    log: createSilentLog(),
    sessionTimeoutMs: 6_000,
    ...options,
    brokers,
  });
}

/** The same, with its topics created. */
export async function openedWithTopics(
  options: Partial<KafkaOptions> = {},
  { partitions = 1, replication = 1 } = {},
): Promise<KafkaBus> {
  const kafka = await openedKafka(options);
  await kafka.topics.create({ partitions, replication });
  return kafka;
}

/** A group's position in the only partition of a topic. */
export async function committedBy(groupId: string, topic: string): Promise<string | undefined> {
  const { brokers } = await startKafkaBroker();
  const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).admin();
  await admin.connect();
  try {
    const [of] = await admin.fetchOffsets({ groupId, topics: [topic] });
    return of?.partitions[0]?.offset;
  } finally {
    await admin.disconnect();
  }
}
