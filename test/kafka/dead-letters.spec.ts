import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import kafkajs from 'kafkajs';
import { MessageTooLargeError, PoisonMessageError, topicNames } from '@countersign/message-bus';
import type { Message } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { freshPrefix, openedWithTopics } from './opened.ts';
import { idOf, inTurns } from './traffic.ts';

const { ConfigResourceTypes, Kafka, logLevel, Partitioners } = kafkajs;
const notText = Buffer.from([0xff, 0xfe, 0x00, 0x80, 0xc3]);

describe('dead letters on Kafka', () => {
  let kafka: KafkaBus;
  let topic: string;
  beforeEach(async () => {
    kafka = await openedWithTopics({ topicPrefix: freshPrefix() }, { partitions: 2 });
    topic = kafka.topics.names.events;
  });
  afterEach(() => kafka.close());

  /** Sends as a foreign producer may: anything at all. */
  const sendRaw = async (message: kafkajs.Message): Promise<void> => {
    const { brokers } = await startKafkaBroker();
    const client = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING });
    const producer = client.producer({ createPartitioner: Partitioners.DefaultPartitioner });
    await producer.connect();
    try {
      await producer.send({ topic, messages: [message] });
    } finally {
      await producer.disconnect();
    }
  };
  const letters = () => kafka.bus.deadLetters.list();

  it('keep bytes that are no text, and give them back to the one group whose they are', async () => {
    const headers = { 'X-Bytes': notText, twice: ['a', Buffer.from('b')], ce_id: 'strange' };
    let isMended = false;
    const [seen, others]: Message[][] = [[], []];
    kafka.bus.subscribe({
      group: 'letters-others',
      topics: [topic],
      onMessage: (message) => void others?.push(message),
    });
    kafka.bus.subscribe({
      group: 'letters',
      topics: [topic],
      onMessage: (message) => {
        if (!isMended) throw new PoisonMessageError('malformed', 'no text');
        seen?.push(message);
      },
    });
    await sendRaw({ key: notText, value: notText, headers });
    await eventually(async () => expect(await letters()).toHaveLength(1));
    const [letter] = await letters();
    expect(letter).toMatchObject({
      group: 'letters',
      topic,
      code: 'malformed',
      detail: 'PoisonMessageError: no text',
      attempts: 1,
    });
    expect(Buffer.from(letter?.value ?? [])).toEqual(notText);
    expect(letter?.headers).toEqual({ 'x-bytes': notText.toString(), twice: 'a,b', ce_id: 'strange' });
    expect(letter?.id).toMatch(/^0-\d+$/);
    isMended = true;
    expect(await kafka.bus.deadLetters.replay(letter?.id ?? '')).toBe(true);
    await eventually(() => expect(seen).toHaveLength(1));
    expect(Buffer.from(seen?.[0]?.value ?? [])).toEqual(notText);
    await kafka.publisher.publish(topic, inTurns(4, 1));
    await eventually(() => expect(others).toHaveLength(5));
    expect(others?.map(idOf)).toEqual(expect.arrayContaining(['strange', 'k0.1', 'k1.1', 'k2.1', 'k3.1']));
    expect(await letters()).toEqual([]);
  });

  it('are on the topic with the original untouched, for any reader of it', async () => {
    kafka.bus.subscribe({
      group: 'letters',
      topics: [topic],
      onMessage: () => Promise.reject(new PoisonMessageError('bad', 'so it is')),
    });
    const headers = { 'X-Bytes': notText, ce_id: 'strange' };
    await sendRaw({ key: notText, value: notText, headers });
    const read: { key: Buffer | null; value: Buffer | null; headers: Record<string, unknown> }[] = [];
    const { brokers } = await startKafkaBroker();
    const consumer = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING }).consumer({
      groupId: freshPrefix(),
    });
    await consumer.connect();
    await consumer.subscribe({ topic: kafka.topics.names.deadLetters, fromBeginning: true });
    await consumer.run({
      eachMessage: async ({ message: { key, value, headers: all = {} } }) =>
        void read.push({ key, value, headers: all }),
    });
    await eventually(() => expect(read).toHaveLength(1));
    await consumer.disconnect();
    const { key, value, headers: parked } = read[0]!;
    expect([key, value, parked['X-Bytes']]).toEqual([notText, notText, notText]);
    const names = ['code', 'detail', 'topic', 'partition', 'offset', 'attempts', 'at', 'group'];
    expect(Object.keys(parked).filter((name) => name.startsWith('x-dead-letter-'))).toEqual(
      names.map((name) => `x-dead-letter-${name}`),
    );
    expect(String(parked['x-dead-letter-topic'])).toBe(topic);
  });

  it('take a message without a value, which no handler sees', async () => {
    const seen: string[] = [];
    kafka.bus.subscribe({ group: 'letters', topics: [topic], onMessage: (message) => void seen.push(idOf(message)) });
    await sendRaw({ key: 'k', value: null });
    await sendRaw({ key: 'k', value: '{}', headers: { ce_id: 'next' } });
    await eventually(() => expect(seen).toEqual(['next']));
    await eventually(async () => expect(await letters()).toMatchObject([{ code: 'malformed', key: 'k' }]));
  });

  it('take a storm of poison while everything else goes on', async () => {
    const seen = new Set<string>();
    kafka.bus.subscribe({
      group: 'letters',
      topics: [topic],
      attemptsMax: 2,
      retryDelayMsMin: 5,
      onMessage: (message) => {
        if (message.headers['poison'] === 'yes') throw new SyntaxError('Unexpected token');
        seen.add(idOf(message));
      },
    });
    const messages = inTurns(20, 50).flatMap((message, index) => [
      message,
      { ...message, headers: { ce_id: `bad-${index}`, poison: 'yes' } },
    ]);
    await kafka.publisher.publish(topic, messages);
    await eventually(() => expect(seen.size).toBe(1_000));
    await eventually(async () => expect(await kafka.bus.deadLetters.list({ limit: 5_000 })).toHaveLength(1_000));
    const page = await kafka.bus.deadLetters.list({ limit: 300 });
    const next = await kafka.bus.deadLetters.list({ limit: 5_000, after: page.at(-1)?.id ?? '' });
    expect(new Set([...page, ...next].map(({ headers }) => headers['ce_id'])).size).toBe(1_000);
  });

  it('have room for the largest message that a topic takes, and for why it was put aside', async () => {
    const codes = ['d'.repeat(1_999), 'ü'.repeat(1_999)];
    kafka.bus.subscribe({
      group: 'long'.repeat(50),
      topics: [topic],
      onMessage: () => Promise.reject(new PoisonMessageError('malformed', codes.pop() ?? '')),
    });
    // The topic's 8 MiB without the overhead of a batch and its one message.
    const value = Buffer.alloc(8 * 1024 * 1024 - 120, 'x');
    for (const ce_id of ['one', 'two']) await sendRaw({ key: 'k', value, headers: { ce_id } });
    await expect(sendRaw({ key: 'k', value: Buffer.alloc(8 * 1024 * 1024), headers: {} })).rejects.toThrow(/larger/);
    const ids = async (): Promise<readonly unknown[]> => (await letters()).map(({ headers }) => headers['ce_id']);
    // A busy machine may put one aside twice.
    await eventually(async () => expect(new Set(await ids())).toEqual(new Set(['one', 'two'])));
    expect((await letters()).every((letter) => Buffer.from(letter.value).equals(value))).toBe(true);
  });

  it('that the brokers will never take keep their key waiting and are told of; all else goes on', async () => {
    const topicPrefix = freshPrefix();
    const { deadLetters } = topicNames(topicPrefix);
    const admin = new Kafka({ brokers: [...(await startKafkaBroker()).brokers], logLevel: logLevel.NOTHING }).admin();
    await admin.connect();
    const limit = (bytes: number) => [{ name: 'max.message.bytes', value: String(bytes) }];
    // Limited from the beginning: a broker needs some time for a changed setting.
    await admin.createTopics({
      topics: [{ topic: deadLetters, numPartitions: 1, configEntries: limit(1_000) }],
      waitForLeaders: false,
    });
    await eventually(async () => void (await admin.fetchTopicOffsets(deadLetters)));
    await kafka.close();
    kafka = await openedWithTopics({ topicPrefix }, { partitions: 2 });
    topic = kafka.topics.names.events;
    const seen: string[] = [];
    const subscription = kafka.bus.subscribe({
      group: 'letters',
      topics: [topic],
      retryDelayMsMax: 200,
      onMessage: (message) => {
        if (message.value.length > 1_000) throw new PoisonMessageError('malformed', 'so large');
        seen.push(idOf(message));
      },
    });
    const of = (key: string, id: string, bytes: number) => ({
      ...{ key, value: Buffer.alloc(bytes, 'x'), headers: { ce_id: id } },
    });
    await kafka.publisher.publish(topic, [of('k', 'bad', 2_000), of('k', 'behind', 1), of('other', 'beside', 1)]);
    await eventually(() => {
      expect(seen).toEqual(['beside']);
      expect(subscription.status()).toMatchObject({
        state: 'interrupted',
        why: expect.stringMatching(/ \d@0 \(malformed\) cannot be put aside: MessageTooLargeError: /) as unknown,
        inFlight: 2,
      });
    });
    expect(kafka.status().state).toBe('interrupted');
    const resource = { type: ConfigResourceTypes.TOPIC, name: deadLetters, configEntries: limit(10_000) };
    await admin.alterConfigs({ validateOnly: false, resources: [resource] });
    await admin.disconnect();
    await eventually(() => expect(seen).toEqual(['beside', 'behind']));
    expect(await letters()).toMatchObject([{ headers: { ce_id: 'bad' } }]);
    await eventually(() => expect(subscription.status()).toEqual({ state: 'running', inFlight: 0 }));
  });

  it('are not made of messages that no broker accepts: the publisher gets an error, and others are not delayed', async () => {
    const seen: string[] = [];
    kafka.bus.subscribe({
      group: 'letters',
      topics: [topic],
      onMessage: (message) => void seen.push(`${idOf(message)}:${message.value.length}`),
    });
    const of = (id: string, bytes: number) => [{ key: 'k', value: Buffer.alloc(bytes, 'x'), headers: { ce_id: id } }];
    const published = await Promise.allSettled([
      kafka.publisher.publish(topic, of('small', 10)),
      kafka.publisher.publish(topic, of('too large', 9_000_000)),
      kafka.publisher.publish(topic, of('large', 5_000_000)),
      kafka.publisher.publish(topic, Array.from({ length: 40 }, (_, n) => of(`part ${n}`, 100_000)).flat()),
    ]);
    expect(published.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'fulfilled']);
    expect(published[1]).toMatchObject({ reason: expect.any(MessageTooLargeError) as unknown });
    const parts = Array.from({ length: 40 }, (_, n) => `part ${n}:100000`);
    // A busy machine may deliver one twice.
    await eventually(() => expect([...new Set(seen)]).toEqual(['small:10', 'large:5000000', ...parts]));
  });
});
