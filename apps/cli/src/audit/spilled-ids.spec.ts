import { randomUUID } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { createSpilledIds } from './spilled-ids.js';

it('ids that are there twice are found in any number of passes, also those that are no UUIDs', () => {
  // More than two chunks of the file.
  const ids = Array.from({ length: 40_000 }, (_, nth) => (nth % 3 === 0 ? `event-${String(nth)}` : randomUUID()));
  const [uuid, name] = [ids[1]!, ids[0]!];
  for (const perPass of [1_000, 1_000_000]) {
    const honest = createSpilledIds(perPass);
    ids.forEach(honest.add);
    expect([...honest.repeated()]).toEqual([]);
    honest.add(uuid, 40_000);
    honest.add(name, 40_001);
    const repeated = [...honest.repeated()].toSorted((one, other) => one.index - other.index);
    expect(repeated).toEqual([
      { eventId: uuid, index: 40_000, first: 1 },
      { eventId: null, index: 40_001, first: 0 },
    ]);
    honest.close();
  }
});

it('of no ids, none is there twice', () => {
  const ids = createSpilledIds();
  expect([...ids.repeated()]).toEqual([]);
  ids.close();
});
