import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { appendUntilKnown, isStoreOutage, noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { startTestCluster } from '../../eventstoredb-server/cluster.ts';
import type { TestCluster } from '../../eventstoredb-server/cluster.ts';
import { cleanUpAfterEach, onCleanUp, openReadyStore, until } from './harness.js';
import type { OpenedStore } from './harness.js';

cleanUpAfterEach();

const ports = { clock: systemClock, ids: createSystemIds() };

interface Opened extends OpenedStore {
  readonly cluster: TestCluster;
  readonly wedged: readonly string[];
}

async function open(): Promise<Opened> {
  const cluster = await startTestCluster();
  onCleanUp(cluster.stop);
  const wedged: string[] = [];
  const timeouts = { appendMs: 5000, readMs: 5000, probeMs: 500, wedgedMs: 1000 };
  const opened = await openReadyStore(cluster.url, { timeouts, onWedged: (why) => wedged.push(why) });
  return { ...opened, cluster, wedged };
}

const write = ({ store }: Opened) => appendUntilKnown({ ...ports, store }, sampleStream(), noStream, sampleEvents(1));
const whyOf = ({ store }: Opened): string => JSON.stringify(store.health());

describe('a cluster of three servers', () => {
  it('is found at its leader, and the start tells which servers these are', async () => {
    const opened = await open();
    expect(await write(opened)).toMatchObject({ status: 'committed' });
    const [leader, ...others] = opened.cluster.members;
    expect(leader?.calls).toContain('Streams/Append');
    for (const { calls } of others) expect(calls).not.toContain('Streams/Append');
    await until(() => opened.log.entries.some(({ message }) => message.startsWith('EventStoreDB')), 'the line');
    expect(opened.log.entries.find(({ message }) => message.startsWith('EventStoreDB'))).toMatchObject({
      level: 'info',
      message: 'EventStoreDB 24.10.0, 3 members, no TLS, no user',
    });
  });

  it('whose leader is frozen is written again at the next one, each event once, and ends no process', async () => {
    const opened = await open();
    const seen: number[] = [];
    const subscription = opened.store.subscribe(0, {
      onEvents: (events) => void seen.push(...events.map(({ position }) => position)),
      onError: () => undefined,
    });
    await write(opened);
    for (let round = 0; round < 2; round += 1) {
      opened.cluster.freezeLeader();
      const writing = Array.from({ length: 20 }, () => write(opened));
      await Promise.all([
        until(() => /the leader .* does not answer/.test(whyOf(opened)) || round > 0, 'the reason'),
        sleep(round === 0 ? 6000 : 500),
      ]);
      opened.cluster.elect();
      for (const result of await Promise.all(writing)) expect(result).toMatchObject({ status: 'committed' });
      opened.cluster.thaw();
    }
    expect(opened.wedged).toEqual([]);
    await until(() => seen.length === 41, 'every event');
    expect(seen).toEqual((await opened.store.readAll(0, 100)).map(({ position }) => position));
    await subscription.stop();
  });

  it('without a majority says so, refuses writes, and is written again when it is back', async () => {
    const opened = await open();
    opened.cluster.loseQuorum();
    expect(isStoreOutage(await write(opened).catch((error: unknown) => error))).toBe(true);
    await until(() => whyOf(opened).includes('no leader: 3 of 3 members answer'), 'the reason');
    opened.cluster.elect();
    await until(() => opened.store.health().status === 'ok', 'the leader');
    expect(await write(opened)).toMatchObject({ status: 'committed' });
    expect(opened.wedged).toEqual([]);
  });

  it('is away as long as none of them answers', async () => {
    const opened = await open();
    for (const member of opened.cluster.members) member.stop();
    await expect(write(opened)).rejects.toThrow();
    await until(() => whyOf(opened).includes('no member answers, of 3'), 'the reason');
    expect(opened.wedged).toEqual([]);
  });
});
