import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { freshPrefix, openedWithTopics } from './opened.ts';

const idleMs = 2_000;

describe('a process with nothing to do', () => {
  let kafka: KafkaBus;
  beforeAll(async () => {
    kafka = await openedWithTopics({ topicPrefix: freshPrefix() });
  });
  afterAll(async () => {
    await kafka.close();
  });

  it('sets hardly a timer while it is connected to Kafka, and hears the next message at once', async () => {
    const { requests } = kafka.topics.names;
    let heard = 0;
    const onMessage = (): void => void (heard += 1);
    const subscription = kafka.bus.subscribe({ group: 'idle', topics: [requests], onMessage });
    const publish = () => kafka.publisher.publish(requests, [{ key: 'k', value: '{}', headers: {} }]);
    await publish();
    while (heard < 1 || subscription.status().state !== 'running') await delay(20);
    const timers = jest.spyOn(globalThis, 'setTimeout');
    await delay(idleMs);
    const set = timers.mock.calls.length;
    timers.mockRestore();
    // A few for each long poll that ends. A timer a millisecond on two connections would be thousands.
    expect(set).toBeLessThan(100);
    await publish();
    while (heard < 2) await delay(20);
    await subscription.stop();
  });
});
