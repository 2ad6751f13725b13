import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCliRun, type CliRun } from '@countersign/cli/testing';
import { openKafka, type KafkaBus } from '@countersign/message-bus/kafka';
import { PoisonMessageError } from '@countersign/message-bus';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import { startKafkaBroker } from '../kafka-broker/broker.ts';

const prefix = `cli-${randomUUID()}`;
let run: CliRun;
let kafka: KafkaBus;

beforeAll(async () => {
  const { brokers } = await startKafkaBroker();
  run = createCliRun({
    COUNTERSIGN_KAFKA_BROKERS: brokers.join(','),
    COUNTERSIGN_TOPIC_PREFIX: prefix,
    COUNTERSIGN_TOPIC_PARTITIONS: '2',
    COUNTERSIGN_TOPIC_REPLICATION: '1',
  });
  const world = { clock: systemClock, ids: createSystemIds(), log: createCollectingLog() };
  kafka = openKafka({ brokers, clientId: 'test', topicPrefix: prefix, ...world });
});
afterAll(() => kafka.close());

describe('countersign topics', () => {
  it('says what is missing, makes it, and makes nothing twice', async () => {
    const before = await run('topics', 'describe');
    expect(before.code).toBe(6);
    expect(before.out).toContain(`${prefix}.requests.v1  missing`);

    const made = await run('topics', 'create', '--json');
    expect(made).toMatchObject({ code: 0, err: '' });
    const names = ['requests', 'events', 'dead-letters', 'checkpoints'].map((name) => `${prefix}.${name}.v1`);
    expect(JSON.parse(made.out)).toMatchObject({
      created: names,
      topics: [{ partitions: 2, replication: 1 }, { partitions: 2 }, { partitions: 1 }, { partitions: 2 }],
    });

    const again = await run('topics', 'create');
    expect(again.code).toBe(0);
    expect(again.out).toContain(`is there  ${prefix}.events.v1  2 partitions, 1 replica`);
    expect(again.out).not.toContain('made ');
    expect(await run('topics', 'describe')).toMatchObject({ code: 0, out: expect.stringContaining('kept 14 days') });
  });
});

describe('countersign dead-letters', () => {
  it('are listed, shown with their bytes, and given back to their group alone', async () => {
    const topic = kafka.topics.names.requests;
    let isMended = false;
    const handled: string[] = [];
    const subscription = kafka.bus.subscribe({
      group: `${prefix}-ledger`,
      topics: [topic],
      onMessage: ({ value }) => {
        if (!isMended) throw new PoisonMessageError('malformed', 'no request');
        handled.push(Buffer.from(value).toString());
      },
    });
    await kafka.publisher.publish(topic, [{ key: 'run-1', value: '{broken', headers: { ce_type: 'x', ce_id: 'r-1' } }]);
    while ((await kafka.bus.deadLetters.list()).length === 0);

    const { out } = await run('dead-letters', 'list', '--json');
    const letter = JSON.parse(out) as { id: string };
    expect(letter).toMatchObject({
      topic,
      group: `${prefix}-ledger`,
      code: 'malformed',
      detail: expect.stringContaining('no request'),
      key: 'run-1',
      value: '{broken',
    });
    expect((await run('dead-letters', 'show', letter.id)).out).toMatch(/header {3}ce_id: r-1[^]*\{broken/);
    isMended = true;
    expect(await run('dead-letters', 'replay', letter.id)).toMatchObject({ code: 0 });
    while (handled.length === 0) await new Promise(setImmediate);
    expect(handled).toEqual(['{broken']);
    expect(await run('dead-letters', 'list')).toMatchObject({ code: 0, out: '' });
    expect(await run('dead-letters', 'replay', letter.id)).toMatchObject({ code: 6 });
    await subscription.stop();
  });
});
