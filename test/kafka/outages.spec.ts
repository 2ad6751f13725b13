import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { BusUnavailableError } from '@countersign/message-bus/kafka';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { startKafkaBroker, startKafkaCluster } from '../kafka-broker/broker.ts';
import { freshPrefix, openedKafka, openedWithTopics } from './opened.ts';
import { expectedByKey, firstsByKey, idOf, inTurns } from './traffic.ts';

/** Like an outbox: a message whose publishing is uncertain is published again. */
async function publishUntilDone(kafka: KafkaBus, topic: string, from: number): Promise<number> {
  for (let failures = 0; ; failures += 1) {
    try {
      await kafka.publisher.publish(topic, inTurns(10, 5, from));
      return failures;
    } catch (error) {
      expect(error).toBeInstanceOf(BusUnavailableError);
    }
  }
}

describe('an outage', () => {
  let end: () => Promise<void>;
  afterEach(() => end());

  it('of 5 s of the broker loses nothing, keeps the order, and passes by itself', async () => {
    const broker = await startKafkaBroker({ own: true });
    const kafka = await openedWithTopics({ brokers: broker.brokers, topicPrefix: freshPrefix() }, { partitions: 3 });
    end = async () => {
      await kafka.close();
      await broker.stop();
    };
    const topic = kafka.topics.names.events;
    const ids: string[] = [];
    kafka.bus.subscribe({ group: 'g', topics: [topic], onMessage: (message) => void ids.push(idOf(message)) });
    await publishUntilDone(kafka, topic, 1);
    await eventually(() => expect(ids).toHaveLength(50));
    await broker.kill();
    const publishing = publishUntilDone(kafka, topic, 6);
    await setTimeout(5_000);
    expect((await kafka.health()).state).toBe('interrupted');
    await broker.restart();
    await publishing;
    await publishUntilDone(kafka, topic, 11);
    await eventually(() => expect(new Set(ids).size).toBe(150));
    expect(firstsByKey(ids)).toEqual(expectedByKey(10, 15));
    await eventually(async () => expect((await kafka.health()).state).toBe('running'));
  }, 300_000);

  it('of one broker of three is hardly felt', async () => {
    const cluster = await startKafkaCluster(3);
    const options = { brokers: cluster.brokers, topicPrefix: freshPrefix() };
    const kafka = await openedWithTopics(options, { partitions: 6, replication: 3 });
    end = async () => {
      await kafka.close();
      await cluster.stop();
    };
    const topic = kafka.topics.names.events;
    const ids: string[] = [];
    kafka.bus.subscribe({ group: 'g', topics: [topic], onMessage: (message) => void ids.push(idOf(message)) });
    await publishUntilDone(kafka, topic, 1);
    await eventually(() => expect(new Set(ids).size).toBe(50));
    await cluster.nodes[0]?.kill();
    await publishUntilDone(kafka, topic, 6);
    await eventually(() => expect(new Set(ids).size).toBe(100));
    await cluster.nodes[0]?.restart();
    await cluster.nodes[1]?.kill();
    await publishUntilDone(kafka, topic, 11);
    await eventually(() => expect(new Set(ids).size).toBe(150));
    expect(firstsByKey(ids)).toEqual(expectedByKey(10, 15));
  }, 300_000);

  it('at the start is waited out, topics that are missing too, and the status says what to do', async () => {
    const kafka = await openedKafka({ topicPrefix: freshPrefix() });
    end = () => kafka.close();
    const { events, requests, deadLetters, checkpoints } = kafka.topics.names;
    const ids: string[] = [];
    const subscription = kafka.bus.subscribe({
      group: 'g',
      topics: [events],
      onMessage: (message) => void ids.push(idOf(message)),
    });
    const why = `TopicsMissingError: missing topics: ${events}, ${deadLetters}. Create them with: npx countersign topics create; or let this principal Describe them`;
    await eventually(() => expect(subscription.status()).toEqual({ state: 'interrupted', why, inFlight: 0 }));
    expect(await kafka.topics.missing()).toEqual([requests, events, deadLetters, checkpoints]);
    await expect(kafka.publisher.publish(events, inTurns(1, 1))).rejects.toThrow('npx countersign topics create');
    expect(await kafka.topics.create({ partitions: 2, replication: 1, retentionMs: 3_600_000 })).toHaveLength(4);
    expect(await kafka.topics.create({ partitions: 4, replication: 1 })).toEqual([]);
    expect(await kafka.topics.describe()).toMatchObject([
      { topic: requests, exists: true, partitions: 2, replication: 1, retentionMs: 3_600_000, minInSyncReplicas: 1 },
      { topic: events, partitions: 2 },
      { topic: deadLetters, partitions: 1 },
      { topic: checkpoints, partitions: 2 },
    ]);
    await kafka.publisher.publish(events, inTurns(1, 2));
    await eventually(() => expect(ids).toEqual(['k0.1', 'k0.2']));
    const subscriptions = { g: { state: 'running', inFlight: 0 } };
    await eventually(() => expect(kafka.status()).toEqual({ state: 'running', subscriptions }));
  });
});
