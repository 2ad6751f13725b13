import { createSystemIds, uuidV5 } from './ids.js';
import { createRandom, createSeededIds } from './random.js';

const version4 = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe('ids', () => {
  it('are UUIDs, and different', () => {
    const ids = createSystemIds();
    expect(ids.uuid()).toMatch(version4);
    expect(ids.uuid()).not.toBe(ids.uuid());
    expect(ids.randomBytes(16)).toHaveLength(16);
  });

  it('follow the seed', () => {
    const [first, again, other] = [7, 7, 8].map((seed) => createSeededIds(createRandom(seed)));
    const id = first?.uuid();
    expect(id).toMatch(version4);
    expect(again?.uuid()).toBe(id);
    expect(other?.uuid()).not.toBe(id);
  });

  it('of a name are always the same: the example of RFC 9562', () => {
    const dns = '6ba7b810-9dad-11d1-80b4-00c04fd430c8';
    expect(uuidV5(dns, 'www.example.com')).toBe('2ed6657d-e927-568b-95e1-2665a8aea6a2');
  });
});

describe('seeded chance', () => {
  it('stays in its range', () => {
    const random = createRandom(1);
    for (let round = 0; round < 1000; round += 1) expect([0, 1, 2]).toContain(random.below(3));
    expect(random.chance(1)).toBe(true);
    expect(random.chance(0)).toBe(false);
    expect(['a', 'b']).toContain(random.pick(['a', 'b']));
    expect(() => random.pick([])).toThrow(RangeError);
  });
});
