import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@countersign/message-bus/testing';
import { FencedError } from '@countersign/message-bus';
import type { Turn } from '@countersign/message-bus';
import type { KafkaBus } from '@countersign/message-bus/kafka';
import { whileFrozen } from '../freeze.ts';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { startMember } from './member.ts';
import type { Member } from './member.ts';
import { freshPrefix, openedKafka, openedWithTopics } from './opened.ts';
import { severable } from './severable.ts';

describe('the turn of one process among several', () => {
  const members: Member[] = [];
  let kafka: KafkaBus;
  afterEach(async () => {
    await Promise.all(members.splice(0).map((member) => member.end()));
    await kafka.close();
  });

  it('is taken from a process that stands still, which is refused by the broker when it goes on', async () => {
    const topicPrefix = freshPrefix();
    kafka = await openedWithTopics({ topicPrefix });
    const { brokers } = await startKafkaBroker();
    const start = (): Member => {
      const member = startMember('holder', brokers.join(','), topicPrefix, 'relay');
      members.push(member);
      return member;
    };
    const first = start();
    await eventually(() => expect(first.said).toEqual(['turn null']));
    first.tell('1');
    await eventually(() => expect(first.said).toContain('kept 1'));
    const second = start();
    await whileFrozen(first.pid, async () => {
      await eventually(() => expect(second.said).toEqual(['turn 1']));
      // Written while it is stopped: it reads this first.
      first.tell('2');
      second.tell('3');
      await eventually(() => expect(second.said).toContain('kept 3'));
    });
    await eventually(() => expect([...first.said].sort()).toEqual(['FencedError', 'ended', 'kept 1', 'turn null']));
    await second.end('SIGKILL');
    const third = start();
    await eventually(() => expect(third.said).toEqual(['turn 3']));
  }, 300_000);

  it('is over for one that comes back as a new member: what it keeps late is refused, and not tried again', async () => {
    const topicPrefix = freshPrefix();
    kafka = await openedWithTopics({ topicPrefix });
    const connections = severable();
    const late = await openedKafka({ topicPrefix, socketFactory: connections.socketFactory });
    const take = (bus: KafkaBus): Promise<Turn> =>
      bus.exclusiveProgress('relay', { sessionTimeoutMs: 6_000 }).take(new AbortController().signal);
    const first = await take(late);
    await first.keep('1');
    connections.freeze();
    const second = await take(kafka);
    await second.keep('2');
    // It rejoins, and stays while the broker waits for it: a commit now would be accepted.
    connections.lose('leaves');
    connections.thaw();
    await expect(first.keep('late')).rejects.toThrow(FencedError);
    await second.release();
    const third = await take(kafka);
    expect(third.progress).toBe('2');
    await late.close();
  }, 300_000);

  it('asks the broker once for each thing that it keeps: what failed is not tried again behind its back', async () => {
    const connections = severable();
    kafka = await openedWithTopics({ topicPrefix: freshPrefix(), socketFactory: connections.socketFactory });
    const turn = await kafka.exclusiveProgress('relay').take(new AbortController().signal);
    await turn.keep('1');
    const asked = connections.delayCommits();
    await expect(turn.keep('2')).rejects.toThrow('the progress was not kept');
    expect(asked()).toBe(1);
  }, 300_000);

  it('outlasts others that come to stand in line, and keeps what it is told meanwhile', async () => {
    kafka = await openedWithTopics({ topicPrefix: freshPrefix() });
    const stopped = new AbortController();
    const standIn = (): void =>
      void kafka
        .exclusiveProgress('relay', { sessionTimeoutMs: 6_000 })
        .take(stopped.signal)
        .catch(() => undefined);
    const turn = await kafka.exclusiveProgress('relay', { sessionTimeoutMs: 6_000 }).take(stopped.signal);
    const until = performance.now() + 6_000;
    let kept = 0;
    for (let comers = 0; performance.now() < until;) {
      if (performance.now() > until - 5_000 + comers * 1_500) {
        comers += 1;
        standIn();
      }
      await turn.keep(String((kept += 1)));
    }
    expect(turn.ended.aborted).toBe(false);
    await turn.release();
    stopped.abort();
    const next = await kafka.exclusiveProgress('relay', { sessionTimeoutMs: 6_000 }).take(new AbortController().signal);
    expect(next.progress).toBe(String(kept));
  }, 300_000);
});
