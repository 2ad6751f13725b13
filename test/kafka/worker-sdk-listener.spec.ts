import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { connectKafka, type KafkaConnection } from '@countersign/worker-sdk/kafka';
import { Kafka, logLevel } from 'kafkajs';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { freshPrefix, openedWithTopics } from './opened.ts';
import { inTurns } from './traffic.ts';

describe('the events topic of a worker', () => {
  const topicPrefix = freshPrefix();
  const heard: string[] = [];
  let gaps = 0;
  let kafka: KafkaBus;
  let brokers: readonly string[];
  let connection: KafkaConnection;
  beforeEach(async () => {
    ({ brokers } = await startKafkaBroker());
    kafka = await openedWithTopics({ topicPrefix });
    await kafka.publisher.publish(kafka.topics.names.events, inTurns(1, 3));
    connection = await connectKafka({
      kafka: { brokers, topicPrefix },
      feed: { hear: ({ headers }) => void heard.push(headers['ce_id'] ?? ''), gap: () => void (gaps += 1) },
      clock: systemClock,
      random: Math.random,
      log: createCollectingLog(),
    });
  });
  afterEach(async () => {
    await connection.close();
    await kafka.close();
  });

  it('continues from its offset after a rebalance, and reports a gap', async () => {
    const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const admin = client.admin();
    await admin.connect();
    const { groups } = await admin.listGroups();
    await admin.disconnect();
    const groupId = groups.find((group) => group.groupId.startsWith(`${topicPrefix}.worker.`))?.groupId ?? '';
    const topic = kafka.topics.names.events;
    await kafka.publisher.publish(topic, inTurns(1, 1, 4));
    await eventually(() => expect([heard, gaps]).toEqual([['k0.4'], 1]));
    const intruder = client.consumer({ groupId });
    await intruder.connect();
    await intruder.subscribe({ topic });
    await intruder.run({ autoCommit: false, eachMessage: async () => undefined });
    await intruder.disconnect();
    await eventually(() => expect(gaps).toBeGreaterThan(1));
    await kafka.publisher.publish(topic, inTurns(1, 1, 5));
    await eventually(() => expect(heard).toContain('k0.5'));
    // Messages from before the worker's start are still ignored.
    expect(heard.filter((id) => id !== 'k0.4')).toEqual(['k0.5']);
  });
});
