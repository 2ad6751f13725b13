import { randomUUID } from 'node:crypto';
import { recordStreamPrefix } from '@countersign/event-store';
import type { StreamRecord } from '@countersign/event-store';
import { streamPrefixes } from '@countersign/event-store/eventstoredb';
import { sampleEvent } from '@countersign/event-store/testing';
import { expect, it } from '@jest/globals';
import { cleanUpAfterEach, openReadyStore, patient, startServer } from './harness.ts';

cleanUpAfterEach();

const stream = `${recordStreamPrefix}checkpoints-acme`;
const recordOf = (nth: number): StreamRecord => ({ id: randomUUID(), type: 'Kept', data: { nth } });

it('a record is kept at its revision alone, once, and the newest are read first', async () => {
  const server = await startServer();
  const [one, other] = [await openReadyStore(server.url, patient), await openReadyStore(server.url, patient)];
  const [records, others] = [one.store.records!, other.store.records!];
  expect(await records.newest(stream, 2)).toEqual([]);
  const kept = [recordOf(0), recordOf(1), recordOf(2)];
  for (const [at, record] of kept.entries())
    expect(await records.keep(stream, at - 1, record)).toEqual({ status: 'kept' });
  // A repeat of the last one is known; another writer at the same revision was too late.
  expect(await records.keep(stream, 1, kept[2]!)).toEqual({ status: 'kept' });
  expect(await others.keep(stream, 1, recordOf(9))).toEqual({ status: 'conflict' });
  expect(await others.keep(stream, -1, recordOf(9))).toEqual({ status: 'conflict' });
  expect(await others.newest(stream, 2)).toEqual([
    { ...kept[2], revision: 2 },
    { ...kept[1], revision: 1 },
  ]);
});

it('no reader of the log sees a record', async () => {
  const server = await startServer();
  const { store } = await openReadyStore(server.url, patient);
  const event = sampleEvent();
  await store.append(`toolCall-${event.eventId}`, -1, [event]);
  const head = await store.head();
  await store.records?.keep(stream, -1, recordOf(0));
  expect(await store.head()).toBe(head);
  expect((await store.readAll(0, 10)).map(({ eventId }) => eventId)).toEqual([event.eventId]);
  expect(
    streamPrefixes.some((prefix) => prefix.startsWith(recordStreamPrefix) || recordStreamPrefix.startsWith(prefix)),
  ).toBe(false);
});
