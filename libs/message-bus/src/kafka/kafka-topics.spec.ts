import { createVirtualClock } from '@countersign/runtime/testing';
import type { Admin, Kafka } from 'kafkajs';
import { topicNames } from '../topics.js';
import { createKafkaTopics, onceLed } from './kafka-topics.js';

/** A broker's error response in the client's form. */
const answer = (type: string): Error => Object.assign(new Error(type), { type });

/** Creates topics through a broker that reports these errors one after the other. */
function madeWith(failures: Error[]) {
  const clock = createVirtualClock();
  const admin: Partial<Admin> = {
    connect: () => Promise.resolve(),
    disconnect: () => Promise.resolve(),
    listTopics: () => Promise.resolve([]),
    createTopics: ({ waitForLeaders }) =>
      waitForLeaders === true ? Promise.reject(failures[0] ?? new Error('none')) : Promise.resolve(true),
    fetchTopicOffsets: () => {
      setImmediate(() => clock.advance(1_000));
      const failure = failures.shift();
      return failure === undefined ? Promise.resolve([]) : Promise.reject(failure);
    },
  };
  const kafka: Partial<Kafka> = { admin: () => admin as Admin };
  return createKafkaTopics(kafka as Kafka, topicNames('t'), clock).create({ partitions: 1, replication: 1 });
}

describe('topics that are made', () => {
  it('are waited for while a broker has not heard of them, has no leader for them, or does not lead them yet', async () => {
    const types = ['UNKNOWN_TOPIC_OR_PARTITION', 'LEADER_NOT_AVAILABLE', 'NOT_LEADER_FOR_PARTITION'];
    const made = await madeWith(types.map(answer));
    expect(made).toHaveLength(4);
  });

  it('are asked again while the leader of a partition changes', async () => {
    const clock = createVirtualClock();
    const failures = [answer('NOT_LEADER_FOR_PARTITION')];
    const ask = (): Promise<string> => {
      setImmediate(() => clock.advance(1_000));
      const failure = failures.shift();
      return failure === undefined ? Promise.resolve('led') : Promise.reject(failure);
    };
    expect(await onceLed(clock, ask)).toBe('led');
  });

  it('are given up after half a minute, and at once for any other reason', async () => {
    const never = Array.from({ length: 100 }, () => answer('LEADER_NOT_AVAILABLE'));
    await expect(madeWith(never)).rejects.toThrow('LEADER_NOT_AVAILABLE');
    expect(never.length).toBeLessThan(100 - 25);
    await expect(madeWith([answer('TOPIC_AUTHORIZATION_FAILED')])).rejects.toThrow('TOPIC_AUTHORIZATION_FAILED');
  });
});
