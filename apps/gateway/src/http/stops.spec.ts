import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { StopEffect } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

const reason = 'the agents pay twice';
const stop = async (body: Record<string, unknown> = {}, as = 'stopper'): Promise<string> =>
  (await api.send<StopEffect>('POST', '/v1/stops', { as, body: { ...body, reason } })).body.stop.stopId;
const lift = (stopId: string, as = 'admin') =>
  api.send<StopEffect>('POST', `/v1/stops/${stopId}/lift`, { as, body: { reason: 'mended' } });
const note = async (): Promise<unknown> => {
  const ready = await fetch(`${world.url}/readyz`);
  expect(ready.status).toBe(200);
  return ((await ready.json()) as { checks: { stops: unknown } }).checks.stops;
};

it('names the stops of the operator in /readyz, without who declared them and why', async () => {
  expect(await note()).toEqual({ status: 'ok' });
  const [own, foreign] = await Promise.all([stop({ toolName: 'pay*' }), stop({}, 'other')]);
  expect(await note()).toEqual({
    status: 'ok',
    note: expect.stringMatching(
      new RegExp(`^${own} stops the calls of the tool "pay\\*" since 2\\d{3}-\\S+Z\\. \`countersign status\` says who`),
    ),
  });
  expect(JSON.stringify(await note())).not.toMatch(new RegExp(`${reason}|stopper|${foreign}`));
  await Promise.all([lift(own), lift(foreign, 'other')]);
  expect(await note()).toEqual({ status: 'ok' });
});
