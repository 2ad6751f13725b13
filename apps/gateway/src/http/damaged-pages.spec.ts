import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventView } from '@countersign/contracts';
import { EventStoreDamagedError } from '@countersign/event-store';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
/** The positions of the damaged events. A read that reaches one fails with the first of them, as that of the embedded log does. */
let damaged: readonly number[] = [];
let isPlaceKnown = true;

beforeAll(async () => {
  world = await openWorld({
    over: (store) => ({
      ...store,
      readAll: async (after, limit) => {
        const position = damaged.find((at) => at > after && at <= after + limit);
        if (position === undefined) return store.readAll(after, limit);
        throw new EventStoreDamagedError('not what was recorded', isPlaceKnown ? { position } : {});
      },
    }),
  });
  api = createApi(world);
  for (let n = 0; n < 150; n += 1) await api.request({ toolName: n % 3 === 0 ? 'pay' : 'read', arguments: { n } });
});
afterAll(() => world.close());

async function ask(query: string) {
  const { status, body, headers } = await api.send<string>('GET', `/v1/audit/events${query}`, { as: 'auditor' });
  const next = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '')?.[1]?.replace('/v1/audit/events', '');
  const missing = headers.get('countersign-log-missing')?.split(',').map(Number) ?? [];
  return { status, body, next, mark: headers.get('countersign-log'), missing };
}

async function walk(query: string) {
  const found: { positions: number[]; missing: number[] } = { positions: [], missing: [] };
  for (let page: string | undefined = query; page !== undefined;) {
    const { status, body, next, mark, missing } = await ask(page);
    expect([status, mark]).toEqual([200, missing.length > 0 ? 'damaged' : null]);
    const lines = body.split('\n').slice(0, -1);
    found.positions.push(...lines.map((line) => (JSON.parse(line) as EventView).position));
    found.missing.push(...missing);
    page = next;
  }
  return found;
}

describe('a search of a damaged log', () => {
  it.each(['?limit=7', '?limit=10000', '?order=desc&limit=7', '?types=ToolCallRequested&toolName=pay&limit=5'])(
    'finds what is sound, and names each damaged event once: %s',
    async (query) => {
      damaged = [];
      const whole = await walk(query);
      expect(whole.missing).toEqual([]);
      damaged = [whole.positions[3] ?? 0, whole.positions[4] ?? 0, whole.positions.at(-2) ?? 0].toSorted(
        (a, b) => a - b,
      );
      const sound = await walk(query);
      expect(sound.positions).toEqual(whole.positions.filter((position) => !damaged.includes(position)));
      expect(sound.missing.toSorted((a, b) => a - b)).toEqual(damaged);
      damaged = [];
    },
  );

  it('ends a page early where much is damaged', async () => {
    damaged = Array.from({ length: 250 }, (_, index) => 20 + index);
    const { missing } = await walk('?limit=10000');
    expect(missing).toEqual(damaged);
    damaged = [];
  });

  it.each(['?values=stored', '?format=ocsf&ocsf=1.9'])(
    'is refused where the events must be whole: %s',
    async (query) => {
      damaged = [12];
      expect(await ask(query)).toMatchObject({ status: 503 });
      damaged = [];
    },
  );

  it('is refused when nobody knows where the damage is', async () => {
    [damaged, isPlaceKnown] = [[12], false];
    expect(await ask('')).toMatchObject({ status: 503 });
    [damaged, isPlaceKnown] = [[], true];
  });
});
