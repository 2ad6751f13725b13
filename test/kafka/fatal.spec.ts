import { afterEach, describe, expect, it } from '@jest/globals';
import { ConsumerStalledError } from '@countersign/message-bus/kafka';
import type { Message } from '@countersign/message-bus';
import type { KafkaBus, KafkaOptions } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { createCollectingLog } from '@countersign/runtime/testing';
import { committedBy, freshPrefix, openedKafka, openedWithTopics } from './opened.ts';
import { severable } from './severable.ts';
import { idOf, inTurns } from './traffic.ts';

describe('a reason to end the process', () => {
  const opened: KafkaBus[] = [];
  const fatal: Error[] = [];
  const onFatal = (error: Error): void => void fatal.push(error);
  afterEach(async () => {
    fatal.length = 0;
    await Promise.all(opened.splice(0).map((kafka) => kafka.close()));
  });
  const open = async (options: Partial<KafkaOptions>): Promise<KafkaBus> => {
    const kafka = await openedWithTopics({ topicPrefix: freshPrefix(), onFatal, ...options });
    opened.push(kafka);
    return kafka;
  };

  it.each([
    { hands: 'with nothing in hand', isHeld: false },
    { hands: 'with a message in hand', isHeld: true },
  ])('is a consumer that stands still while messages wait, $hands', async ({ isHeld }) => {
    const held = Promise.withResolvers<undefined>();
    const { socketFactory, lose, find } = severable();
    const kafka = await open({ socketFactory, stallAfterMs: 1_000 });
    const topic = kafka.topics.names.events;
    const ids: string[] = [];
    const onMessage = async (message: Message): Promise<void> => {
      ids.push(idOf(message));
      if (isHeld) await held.promise;
    };
    kafka.bus.subscribe({ group: 'stalling', topics: [topic], onMessage });
    await kafka.publisher.publish(topic, inTurns(1, 1));
    await eventually(() => expect(ids).toEqual(['k0.1']));
    lose('fetches');
    // A fetch in flight may still return the first of these.
    let next = 2;
    await eventually(async () => {
      await kafka.publisher.publish(topic, inTurns(1, 1, next++));
      expect(fatal[0]).toBeInstanceOf(ConsumerStalledError);
    });
    expect(fatal[0]?.message).toMatch(/^group "stalling" received nothing for \d+ s while \d+ messages wait$/);
    expect(kafka.status().state).toBe('interrupted');
    held.resolve(undefined);
    find('fetches');
  });

  it('is not one that has nothing to receive, nor one whose handlers are slow', async () => {
    const kafka = await open({ stallAfterMs: 8_000 });
    const topic = kafka.topics.names.events;
    const started: string[] = [];
    let finish = (): void => undefined;
    const held = new Promise<void>((resolve) => (finish = resolve));
    const onMessage = (message: Parameters<typeof idOf>[0]): Promise<void> => {
      started.push(idOf(message));
      return held;
    };
    kafka.bus.subscribe({ group: 'quiet', topics: [kafka.topics.names.requests], onMessage });
    kafka.bus.subscribe({ group: 'slow', topics: [topic], inFlightMax: 2, onMessage });
    await kafka.publisher.publish(topic, inTurns(1, 10));
    await eventually(() => expect(started).toEqual(['k0.1']));
    // Longer than the session of a silent member, and several times as long as a stall takes.
    await new Promise((resolve) => setTimeout(resolve, 20_000));
    finish();
    await eventually(() => expect(started).toHaveLength(10));
    // A removed member could commit only after it has handled all of them again.
    await eventually(async () => expect(await committedBy('slow', topic)).toBe('10'));
    expect(new Set(started).size).toBe(started.length);
    expect(fatal).toEqual([]);
    expect(kafka.status().state).toBe('running');
  });

  it('is a setting that the brokers refuse', async () => {
    const log = createCollectingLog();
    const good = await open({});
    const { sessionTimeoutMs } = { sessionTimeoutMs: 1 };
    const kafka = await openedKafka({
      topicPrefix: good.topics.names.events.split('.')[0] ?? '',
      onFatal,
      log,
      sessionTimeoutMs,
    });
    opened.push(kafka);
    kafka.bus.subscribe({ group: 'refused', topics: [kafka.topics.names.events], onMessage: () => undefined });
    await eventually(() => expect(fatal.length).toBeGreaterThan(0));
    expect(fatal[0]?.message).toContain('session timeout');
    expect(kafka.status()).toMatchObject({
      state: 'interrupted',
      why: expect.stringContaining('session timeout') as unknown,
    });
    expect(log.entries.filter(({ level }) => level === 'error')[0]?.message).toContain('requires a restart');
  });
});
