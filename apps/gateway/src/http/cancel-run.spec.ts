import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import type { ToolCallView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
let keys = 0;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

interface Cancelled {
  readonly cancelled: readonly string[];
  readonly notCancelled: readonly { readonly callId: string; readonly code: string }[];
}

const newKey = () => ({ 'idempotency-key': `cancel-run-${(keys += 1)}` });
const cancel = (runId: string, as: string, headers: Record<string, string> = {}) =>
  api.send<Cancelled>('POST', `/v1/runs/${runId}/cancel`, { as, body: { reason: 'stop' }, headers });
const stateOf = async (callId: string) => (await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`)).body.state;
const recordedOf = async (runId: string) =>
  readable(await world.store.readAll(0, 10_000))
    .filter(({ type, metadata }) => type === 'RunCancelled' && metadata.runId === runId)
    .map(({ data }) => data);

async function request(runId: string, toolCallId: string, as = 'agent', more = {}): Promise<string> {
  const calls = [{ toolCallId, toolName: 't', arguments: {}, ...more }];
  const { body } = await api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', { as, body: { runId, calls } });
  return body.calls[0]?.callId ?? '';
}

const forbidden = (callId: string) => ({ callId, code: 'forbidden', detail: expect.any(String) });

describe('a run of another principal', () => {
  it('is not recorded as cancelled, and the answer names its open calls as forbidden', async () => {
    const calls = [await request('of-agent', 'a'), await request('of-agent', 'b')];
    for (let times = 0; times < 3; times += 1)
      expect(await cancel('of-agent', 'agent2')).toMatchObject({
        status: 200,
        body: { runId: 'of-agent', cancelled: [], notCancelled: calls.map(forbidden) },
      });
    expect(await recordedOf('of-agent')).toEqual([]);
    expect(await Promise.all(calls.map(stateOf))).toEqual(['allowed', 'allowed']);
  });

  it('that has ended is not recorded as cancelled either', async () => {
    await api.send('POST', `/v1/tool-calls/${await request('ended', 'a')}/cancel`, { body: { reason: 'x' } });
    expect((await cancel('ended', 'agent2')).body).toEqual({ runId: 'ended', cancelled: [], notCancelled: [] });
    expect(await recordedOf('ended')).toEqual([]);
  });

  it('is cancelled by an admin, with every open call in the list', async () => {
    const calls = [await request('of-two', 'a'), await request('of-two', 'b', 'agent2')];
    expect((await cancel('of-two', 'admin')).body).toEqual({ runId: 'of-two', cancelled: calls, notCancelled: [] });
    expect(await recordedOf('of-two')).toMatchObject([{ callIds: calls, cancelledBy: 'admin' }]);
  });
});

describe('a run that two principals share', () => {
  it('loses the calls of the one who cancels it, and the list names those alone', async () => {
    const [theirs, own] = [await request('shared', 'a'), await request('shared', 'b', 'agent2')];
    const headers = newKey();
    const expected = { runId: 'shared', cancelled: [own], notCancelled: [forbidden(theirs)] };
    expect((await cancel('shared', 'agent2', headers)).body).toEqual(expected);
    expect((await cancel('shared', 'agent2', headers)).body).toEqual(expected);
    expect(await recordedOf('shared')).toMatchObject([{ callIds: [own], cancelledBy: 'agent-2' }]);
    expect([await stateOf(theirs), await stateOf(own)]).toEqual(['allowed', 'cancelled']);
  });

  it('keeps what one of them requests after its cancellation, also when that had no open call', async () => {
    await request('late', 'a');
    const first = await request('late', 'b', 'agent2');
    await api.send('POST', `/v1/tool-calls/${first}/cancel`, { as: 'agent2', body: { reason: 'x' } });
    const headers = newKey();
    await cancel('late', 'agent2', headers);
    const later = await request('late', 'c', 'agent2');
    expect((await cancel('late', 'agent2', headers)).body.cancelled).toEqual([]);
    expect(await stateOf(later)).toBe('allowed');
    expect(await recordedOf('late')).toMatchObject([{ callIds: [] }]);
  });
});
