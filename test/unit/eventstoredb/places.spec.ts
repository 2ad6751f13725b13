import { describe, expect, it } from '@jest/globals';
import { noStream } from '@countersign/event-store';
import { sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { BACKWARDS, EventStoreDBClient, FORWARDS } from '@eventstore/db-client';
import type { Position } from '@eventstore/db-client';
import { cleanUpAfterEach, onCleanUp, openReadyStore, patient, startServer, until } from './harness.js';

// The answers of EventStoreDB 24.6 and KurrentDB 26.1 about places in `$all`, as the test server gives them.
cleanUpAfterEach();

const at = (place: number): Position => ({ commit: BigInt(place), prepare: BigInt(place) });

async function world() {
  const server = await startServer();
  const { store } = await openReadyStore(server.url, patient);
  await store.append(sampleStream(), noStream, sampleEvents(3));
  const positions = (await store.readAll(0, 10)).map(({ position }) => position);
  const client = EventStoreDBClient.connectionString(server.url);
  onCleanUp(() => client.dispose());
  const read = async (place: number, direction: typeof FORWARDS | typeof BACKWARDS): Promise<number | string> => {
    let count = 0;
    try {
      for await (const _ of client.readAll({ fromPosition: at(place), direction })) count += 1;
    } catch (error) {
      return (error as Error).message;
    }
    return count;
  };
  return { client, read, positions, end: server.log.end() };
}

describe('$all', () => {
  it('is read forwards from the position of an event, from 0, and from behind the end', async () => {
    const { read, positions, end } = await world();
    const [first = 0, second = 0] = positions;
    expect(await read(0, FORWARDS)).toBe(3);
    expect(await read(second, FORWARDS)).toBe(2);
    expect(await read(end + 10_000, FORWARDS)).toBe(0);
    expect(await read(first + 1, FORWARDS)).toBe('2 UNKNOWN: Unexpected ReadAllResult: InvalidPosition');
    expect(await read(1, FORWARDS)).toBe('2 UNKNOWN: Unexpected ReadAllResult: InvalidPosition');
  });

  it('is read backwards from the position of an event, which is not included, and from 0', async () => {
    const { read, positions, end } = await world();
    const [first = 0, second = 0] = positions;
    expect(await read(second, BACKWARDS)).toBe(1);
    expect(await read(0, BACKWARDS)).toBe(0);
    expect(await read(first + 1, BACKWARDS)).toBe('2 UNKNOWN: Unexpected ReadAllResult: InvalidPosition');
    expect(await read(end + 10_000, BACKWARDS)).toBe('2 UNKNOWN: Unexpected ReadAllResult: Error');
  });

  it('confirms a subscription from between two events, and then ends it', async () => {
    const { client, positions } = await world();
    const subscription = client.subscribeToAll({ fromPosition: at((positions[0] ?? 0) + 1) });
    const seen: string[] = [];
    subscription.on('confirmation', () => seen.push('confirmed'));
    subscription.on('error', (error) => seen.push(error.message));
    subscription.on('data', () => seen.push('event'));
    await until(() => seen.length === 2, 'the end');
    expect(seen).toEqual(['confirmed', '3 INVALID_ARGUMENT: Trying to read from an invalid position.']);
  });
});
