import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createSparseStore } from '@countersign/event-store/testing';
import { firstEventIds } from '@countersign/http-client/testing';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld({ over: createSparseStore });
  api = createApi(world);
  for (let call = 0; call < 20; call += 1) await api.pending({ toolName: `tool_${String(call)}` });
});
afterAll(() => world.close());

const idsOf = (query: string, count: number, headers: Record<string, string> = {}): Promise<readonly number[]> =>
  firstEventIds(`${world.url}/v1/events${query}`, count, { authorization: 'Bearer auditor-token', ...headers });

describe('on a store that reads its log from the positions of events only', () => {
  const next3 = (from: number): readonly number[] => [from, from + 10, from + 20];

  it.each([0, 10, 11, 19, 155, 160, 201])('after=%s continues with the next event', async (after) => {
    expect(await idsOf(`?after=${String(after)}`, 3)).toEqual(next3(Math.floor(after / 10) * 10 + 10));
  });

  it('a Last-Event-ID between two events continues with the next one', async () => {
    expect(await idsOf('', 3, { 'last-event-id': '155' })).toEqual(next3(160));
  });

  it('a place after the end waits for what is recorded after it', async () => {
    const head = await world.store.head();
    const reading = idsOf(`?after=${String(head + 15)}`, 1);
    await new Promise((resolve) => setTimeout(resolve, 50));
    await api.pending({ toolName: 'late' });
    expect(await reading).toEqual([head + 20]);
  });

  it.each([0, 10, 15, 155, 160])('the export after %s begins with the next event', async (after) => {
    const path = `/v1/audit/events?after=${String(after)}&limit=3`;
    const { body } = await api.send<string>('GET', path, { as: 'auditor' });
    const lines = body.trim().split('\n');
    const positions = lines.map((line) => (JSON.parse(line) as { readonly position: number }).position);
    expect(positions).toEqual(next3(Math.floor(after / 10) * 10 + 10));
  });

  it('the oversight report and every metric are there', async () => {
    expect((await api.send('GET', '/v1/oversight', { as: 'auditor' })).status).toBe(200);
    const metrics = await world.ports.metrics.registry.metrics();
    expect(metrics).toContain('countersign_pending_approvals_older{than="10m"} 0');
  });
});
