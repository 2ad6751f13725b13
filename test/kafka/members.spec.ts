import { setTimeout } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import type { Message } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { createCollectingLog } from '@countersign/runtime/testing';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { startMember } from './member.ts';
import { committedBy, freshPrefix, openedKafka, openedWithTopics } from './opened.ts';
import { severable } from './severable.ts';
import { expectedByKey, firstsByKey, idOf, inTurns } from './traffic.ts';

const group = 'members';

describe('the members of a group', () => {
  const opened: KafkaBus[] = [];
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((kafka) => kafka.close()));
  });
  const open = async (topicPrefix: string): Promise<KafkaBus> => {
    const kafka = await openedKafka({ topicPrefix });
    opened.push(kafka);
    return kafka;
  };
  const openFirst = async (topicPrefix: string, partitions: number): Promise<KafkaBus> => {
    const kafka = await openedWithTopics({ topicPrefix }, { partitions });
    opened.push(kafka);
    return kafka;
  };

  it('get again what a killed one had begun and not finished', async () => {
    const topicPrefix = freshPrefix();
    const kafka = await openFirst(topicPrefix, 2);
    const topic = kafka.topics.names.events;
    await kafka.publisher.publish(topic, inTurns(20, 40));
    const { brokers } = await startKafkaBroker();
    const victim = startMember('consumer', brokers.join(','), topicPrefix, group, '30');
    await eventually(() => expect(victim.said.length).toBeGreaterThan(400));
    await victim.end('SIGKILL');
    const begun = new Set(victim.said.map((line) => line.split(' ')[1] ?? ''));
    const ids: string[] = [];
    kafka.bus.subscribe({ group, topics: [topic], onMessage: (message) => void ids.push(idOf(message)) });
    await eventually(() => expect(new Set([...begun, ...ids]).size).toBe(800));
    // The message that it was handling at the kill comes again; long finished ones do not.
    expect(ids.filter((id) => begun.has(id)).length).toBeGreaterThanOrEqual(1);
    expect(ids.length).toBeLessThan(800);
    expect(firstsByKey([...begun, ...ids])).toEqual(expectedByKey(20, 40));
  }, 300_000);

  it('ask again what was committed before them, when the connection breaks over that question', async () => {
    const topicPrefix = freshPrefix();
    const publisher = await openFirst(topicPrefix, 1);
    const topic = publisher.topics.names.events;
    await publisher.publisher.publish(topic, inTurns(1, 3));
    const { socketFactory, breakAt } = severable();
    const log = createCollectingLog();
    const kafka = await openedKafka({ topicPrefix, socketFactory, log });
    opened.push(kafka);
    // The client itself asks first, for where to begin.
    breakAt('offsets', 2);
    const ids: string[] = [];
    kafka.bus.subscribe({ group, topics: [topic], onMessage: (message) => void ids.push(idOf(message)) });
    await eventually(() => expect(ids).toEqual(['k0.1', 'k0.2', 'k0.3']));
    // A member that had to restart would report it.
    expect(log.entries.filter(({ message }) => message.startsWith('interrupted'))).toEqual([]);
    expect(log.entries.some(({ message }) => message.includes('the connection breaks'))).toBe(true);
  });

  it.each([
    { what: 'its coordinator has moved', code: 16 },
    { what: 'it is not known', code: 25 },
  ])('rejoin when one hears that $what, and the next coordinator is still loading', async ({ code }) => {
    const topicPrefix = freshPrefix();
    const publisher = await openFirst(topicPrefix, 1);
    const topic = publisher.topics.names.events;
    const { socketFactory, refuse } = severable();
    const kafka = await openedKafka({ topicPrefix, socketFactory });
    opened.push(kafka);
    const ids: string[] = [];
    kafka.bus.subscribe({ group, topics: [topic], onMessage: (message) => void ids.push(idOf(message)) });
    await publisher.publisher.publish(topic, inTurns(1, 1));
    await eventually(() => expect(ids).toEqual(['k0.1']));
    const coordinatorIsLoading = 14;
    refuse('joins', coordinatorIsLoading);
    refuse('heartbeats', code);
    // Longer than the session of a member that is not heard of.
    await setTimeout(8_000);
    await publisher.publisher.publish(topic, inTurns(1, 1, 2));
    await eventually(() => expect(new Set(ids)).toEqual(new Set(['k0.1', 'k0.2'])));
    await eventually(async () => expect(await committedBy(group, topic)).toBe('2'));
  });

  it('come and go under load: nothing is lost, and every key keeps its order', async () => {
    const topicPrefix = freshPrefix();
    const [keys, each, rounds] = [40, 10, 12];
    const publisher = await openFirst(topicPrefix, 6);
    const topic = publisher.topics.names.events;
    const ids: string[] = [];
    const onMessage = async (message: Message): Promise<void> => {
      ids.push(idOf(message));
      await setTimeout(2);
    };
    const join = async (): Promise<KafkaBus> => {
      const kafka = await open(topicPrefix);
      kafka.bus.subscribe({ group, topics: [topic], onMessage });
      return kafka;
    };
    const first = await join();
    for (let round = 0; round < rounds; round += 1) {
      await publisher.publisher.publish(topic, inTurns(keys, each, 1 + round * each));
      if (round === 2 || round === 5) await join();
      if (round === 8) await first.close();
      await setTimeout(150);
    }
    await eventually(() => expect(new Set(ids).size).toBe(keys * each * rounds));
    expect(firstsByKey(ids)).toEqual(expectedByKey(keys, each * rounds));
  }, 300_000);

  it('that stop in order hand over without a loss or a repeat', async () => {
    const topicPrefix = freshPrefix();
    const publisher = await openFirst(topicPrefix, 3);
    const topic = publisher.topics.names.events;
    await publisher.publisher.publish(topic, inTurns(10, 30));
    const ids: string[] = [];
    for (let members = 0; members < 6 && ids.length < 300; members += 1) {
      const before = ids.length;
      const kafka = await open(topicPrefix);
      const onMessage = async (message: Message): Promise<void> => {
        await setTimeout(3);
        ids.push(idOf(message));
      };
      kafka.bus.subscribe({ group, topics: [topic], onMessage });
      await eventually(() => expect(ids.length).toBeGreaterThanOrEqual(Math.min(before + 60, 300)));
      await kafka.close();
    }
    expect(ids).toHaveLength(300);
    expect(firstsByKey(ids)).toEqual(expectedByKey(10, 30));
  }, 300_000);
});
