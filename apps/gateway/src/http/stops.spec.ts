import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { stopStream } from '@countersign/contracts';
import type { StopEffect, ToolCallView } from '@countersign/contracts';
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

it('names the calls of every tenant that may run once the operator lifts it, and of no tenant that it does not cover', async () => {
  const request = async (as: string, call: Record<string, string | boolean> = {}): Promise<string> => {
    const calls = [{ toolCallId: 'waits', toolName: 'pay', arguments: {}, ...call }];
    const { body } = await api.send<{ calls: readonly ToolCallView[] }>('POST', '/v1/tool-calls', {
      as,
      body: { runId: `held-${String(call['toolCallId'])}`, calls },
    });
    return body.calls[0]?.callId ?? '';
  };
  const [own, foreign] = await Promise.all([request('agent'), request('other')]);
  await request('other', { toolCallId: 'asks', needsApproval: true });
  const liftedBy = async (stopId: string) => {
    expect((await lift(stopId)).status).toBe(200);
    const events = await world.store.readStream(stopStream('default'));
    return readable(events)
      .map(({ data }) => data as Record<string, unknown>)
      .findLast((data) => data['stopId'] === stopId);
  };
  const otherTenants = [{ tenant: 'other', callIds: [foreign] }];
  const [all, ofOne] = await Promise.all([stop(), stop({ tenant: 'other' })]);
  expect(await liftedBy(ofOne)).toMatchObject({ callIds: [], otherTenants });
  expect(await liftedBy(all)).toMatchObject({ callIds: [own], otherTenants });
  const ofTool = await stop({ toolName: 'refund' });
  expect(await liftedBy(ofTool)).not.toHaveProperty('otherTenants');
});
