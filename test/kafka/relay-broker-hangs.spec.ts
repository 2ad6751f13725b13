import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { afterAll, afterEach, expect, it } from '@jest/globals';
import { noStream, openEmbeddedEventStore } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { sampleEvent } from '@countersign/event-store/testing';
import { eventually } from '@countersign/message-bus/testing';
import { createRelay } from '@countersign/relay';
import type { Relay } from '@countersign/relay';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { startKafkaBroker } from '../kafka-broker/broker.ts';
import { freshPrefix, openedKafka, openedWithTopics } from './opened.ts';
import { idOf } from './traffic.ts';

const world = { clock: systemClock, ids: createSystemIds(), log: createSilentLog() };
const runs = ['a', 'b', 'c', 'd', 'e'];
const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

// A client of Kafka that was retrying when it was closed goes on for about 10 s, and finds no broker.
afterAll(() => setTimeout(10_000), 20_000);

/** Records one event of each run; returns their ids by run. */
async function record(store: EventStore, ofRun: Map<string, string[]>): Promise<void> {
  for (const run of runs) {
    const event = sampleEvent('x', world.ids.uuid());
    const known = ofRun.get(run) ?? [];
    const named = { ...event, metadata: { ...event.metadata, runId: run } };
    await store.append(`toolCall-${run}`, noStream + known.length, [named]);
    ofRun.set(run, [...known, event.eventId]);
  }
}

it('a broker that hangs longer than a turn: each run is published whole, first copies in order, by one of two relays', async () => {
  const broker = await startKafkaBroker({ own: true });
  undo.push(broker.stop);
  const folder = mkdtempSync(join(tmpdir(), 'countersign-hang-'));
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  const store = await openEmbeddedEventStore({ folder, ...world });
  undo.push(store.close);
  const options = { brokers: broker.brokers, topicPrefix: freshPrefix() };
  const watching = await openedWithTopics(options, { partitions: 3 });
  undo.push(watching.close);
  const topic = watching.topics.names.events;
  const relays: Relay[] = [];
  for (let count = 0; count < 2; count += 1) {
    const { publisher, exclusiveProgress, close } = await openedKafka(options);
    undo.push(close);
    const turns = exclusiveProgress(`${options.topicPrefix}-relay`, { sessionTimeoutMs: 6_000 });
    const relay = createRelay({ ...world, store, publisher, turns, topic, batchMax: 7 });
    undo.push(relay.stop);
    relay.start();
    relays.push(relay);
  }
  const [recorded, heard] = [new Map<string, string[]>(), new Map<string, Set<string>>()];
  watching.bus.subscribe({
    group: 'watching',
    topics: [topic],
    onMessage: (message) => {
      const run = message.key ?? '';
      heard.set(run, (heard.get(run) ?? new Set()).add(idOf(message)));
    },
  });
  const inOrder = (): void => {
    for (const run of runs) expect([...(heard.get(run) ?? [])]).toEqual(recorded.get(run));
  };
  await record(store, recorded);
  await eventually(inOrder, 60_000);
  await broker.pause();
  const hangsUntil = performance.now() + 9_000;
  while (performance.now() < hangsUntil) {
    await record(store, recorded);
    await setTimeout(100);
  }
  await broker.resume();
  await eventually(inOrder, 90_000);
  await eventually(() => {
    const states = relays.map((relay) => relay.status().state);
    expect(states.toSorted()).toEqual(['active', 'standby']);
  });
  await record(store, recorded);
  await eventually(inOrder, 60_000);
}, 400_000);
