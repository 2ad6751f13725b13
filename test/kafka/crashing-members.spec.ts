import { setImmediate } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Message } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { eventually } from '@countersign/message-bus/testing';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { startMember } from './member.ts';
import type { Member } from './member.ts';
import { freshPrefix, openedWithTopics } from './opened.ts';
import { idOf, inTurns } from './traffic.ts';

// Longer than all waits of a test, and than the starts and stops of a hook.
jest.setTimeout(300_000);

const group = 'crashing-members';
const notText = Buffer.from([0xff, 0xfe, 0x00, 0x80]);

describe('a message that aborts the process of its handler', () => {
  let kafka: KafkaBus;
  let topic: string;
  let brokers: readonly string[];
  const members: Member[] = [];
  beforeEach(async () => {
    kafka = await openedWithTopics({ topicPrefix: freshPrefix() }, { partitions: 2 });
    topic = kafka.topics.names.events;
    ({ brokers } = await startKafkaBroker());
  });
  afterEach(async () => {
    await Promise.all(members.splice(0).map((member) => member.end()));
    await kafka.close();
  });
  const start = (): Member => {
    const prefix = topic.slice(0, topic.indexOf('.'));
    const member = startMember('consumer', brokers.join(','), prefix, group, '5');
    members.push(member);
    return member;
  };
  const saidBy = (all: readonly Member[]): readonly string[] =>
    all.flatMap(({ said }) => said.map((line) => line.split(' ')[1] ?? ''));
  const poison = { key: 'k0', value: notText, headers: { ce_id: 'poison', poison: 'yes' } };
  const behind = (id: string) => ({ key: 'k0', value: '{}', headers: { ce_id: id } });

  it('is parked after three processes, with its bytes and headers; the messages around it are handled', async () => {
    const honest = inTurns(8, 6);
    await kafka.publisher.publish(topic, [...honest.slice(0, 20), poison, ...honest.slice(20), behind('behind')]);
    for (let life = 1; life <= 3; life += 1) {
      expect(await kafka.bus.deadLetters.list()).toEqual([]);
      const member = start();
      await member.ended;
      expect(saidBy([member])).toContain('poison');
    }
    expect(saidBy(members)).not.toContain('behind');
    start();
    await eventually(() => expect(saidBy(members)).toContain('behind'));
    await eventually(() => {
      expect([...new Set(saidBy(members))].sort()).toEqual([...honest.map(idOf), 'behind', 'poison'].sort());
    });
    const letters = await kafka.bus.deadLetters.list();
    expect(letters).toMatchObject([
      { group, topic, key: 'k0', code: 'crashed', attempts: 3, headers: { ce_id: 'poison', poison: 'yes' } },
    ]);
    expect(Buffer.from(letters[0]?.value ?? [])).toEqual(notText);
    expect(saidBy(members).filter((id) => id === 'poison')).toHaveLength(3);
  });

  it('is parked although each of its processes is another replica', async () => {
    const replicas = [start(), start(), start(), start()];
    await kafka.publisher.publish(topic, inTurns(8, 2));
    await eventually(() => expect(new Set(saidBy(replicas)).size).toBe(16));
    await kafka.publisher.publish(topic, [poison, behind('behind')]);
    await eventually(() => expect(saidBy(replicas)).toContain('behind'), 120_000);
    expect(await kafka.bus.deadLetters.list()).toMatchObject([{ code: 'crashed', attempts: 3, key: 'k0' }]);
    expect(saidBy(replicas).filter((id) => id === 'poison')).toHaveLength(3);
    const alive = await Promise.all(
      replicas.map(({ ended }) => Promise.race([ended.then(() => false), setImmediate(true)])),
    );
    expect(alive.filter(Boolean)).toHaveLength(1);
  });

  it('is handled when it is replayed by a process that can', async () => {
    await kafka.publisher.publish(topic, [poison]);
    for (let life = 1; life <= 3; life += 1) await start().ended;
    const last = start();
    await eventually(async () => expect(await kafka.bus.deadLetters.list()).toHaveLength(1));
    await last.end('SIGTERM');
    const seen: Message[] = [];
    kafka.bus.subscribe({ group, topics: [topic], onMessage: (message) => void seen.push(message) });
    const [letter] = await kafka.bus.deadLetters.list();
    expect(await kafka.bus.deadLetters.replay(letter?.id ?? '')).toBe(true);
    await eventually(() => expect(seen.map(idOf)).toEqual(['poison']));
    expect(await kafka.bus.deadLetters.list()).toEqual([]);
  });
});
