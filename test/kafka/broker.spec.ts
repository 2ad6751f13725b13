import { describe, expect, it } from '@jest/globals';
import { Kafka, logLevel } from 'kafkajs';
import { startKafkaBroker } from '../kafka-broker/broker.ts';

describe('the broker of the tests', () => {
  it('answers, and makes no topic by itself', async () => {
    const { brokers } = await startKafkaBroker();
    const admin = new Kafka({ brokers: [...brokers], logLevel: logLevel.NOTHING, retry: { retries: 0 } }).admin();
    await admin.connect();
    expect((await admin.describeCluster()).brokers).toHaveLength(1);
    await expect(admin.fetchTopicMetadata({ topics: ['never-made'] })).rejects.toThrow('does not host');
    await admin.disconnect();
  });
});
