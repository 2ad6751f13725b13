import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventView, ToolCallView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

interface Audited {
  readonly events: readonly EventView[];
  readonly toolCall: ToolCallView | null;
}

let world: World;
let api: Api;
let callId = '';
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
  const approval = await api.pending({ arguments: { password: 'hunter2' } });
  callId = approval.callId;
  const later = () => new Promise((resolve) => setTimeout(resolve, 5));
  await later();
  await api.send('POST', `/v1/approvals/${approval.approvalId}/responses`, {
    as: 'ann',
    body: { decision: { type: 'approve' } },
  });
  await later();
  await api.send('POST', `/v1/tool-calls/${callId}/claim`, { as: 'worker', body: { resolverId: 'w' } });
});
afterAll(() => world.close());

const audit = (query = '') =>
  api.send<Audited>('GET', `/v1/audit/tool-calls/${callId}/events${query}`, { as: 'auditor' });

describe('the audit of a call', () => {
  it('shows its stream with revisions, and the call as it stands', async () => {
    const { status, body } = await audit();
    expect(status).toBe(200);
    expect(body.events.map(({ type, revision }) => [revision, type])).toEqual([
      [0, 'ToolCallRequested'],
      [1, 'ApprovalRequested'],
      [2, 'ApprovalResponded'],
      [3, 'ExecutionClaimed'],
    ]);
    expect(body.events[0]?.data).toMatchObject({
      arguments: { password: expect.stringMatching(/^\[masked/) },
      salt: null,
    });
    const { events, toolCall } = (await audit('?values=clear')).body;
    expect(events[0]?.data).toMatchObject({ arguments: { password: 'hunter2' }, salt: expect.any(String) });
    expect(toolCall?.arguments).toEqual({ password: 'hunter2' });
    const now = (await api.send<ToolCallView>('GET', `/v1/tool-calls/${callId}`, { as: 'auditor' })).body;
    // A past moment has no caller who could decide.
    const { mayDecide, ...approval } = now.approval ?? {};
    expect(mayDecide).toMatchObject({ now: false });
    expect(body.toolCall).toEqual({ ...now, approval });
  });

  it('names in every event the tool, the agent and the call as the agent knows it', async () => {
    const { events, toolCall } = (await audit()).body;
    const { toolCallId, toolName, agentId } = toolCall ?? {};
    const named = { toolCallId, toolName, agentId };
    expect(events).toEqual(events.map(() => expect.objectContaining(named)));
    expect(named).toEqual({ toolCallId: expect.any(String), toolName: 'delete_file', agentId: expect.any(String) });
  });

  it('shows the call as it stood at every moment of its life', async () => {
    const { events } = (await audit()).body;
    const states = ['awaiting_approval', 'awaiting_approval', 'approved', 'executing'];
    for (const [index, event] of events.entries()) {
      const { body } = await audit(`?asOf=${event.recordedAt}`);
      const upTo = events.filter(({ recordedAt }) => recordedAt <= event.recordedAt).length;
      expect(body.events).toHaveLength(upTo);
      expect(body.toolCall?.state).toBe(states[Math.max(index, upTo - 1)]);
    }
  });

  it('takes a moment in any zone', async () => {
    const { events } = (await audit()).body;
    const at = Date.parse(events[2]?.recordedAt ?? '');
    const inTokyo = `${new Date(at + 9 * 3_600_000).toISOString().slice(0, -1)}+09:00`;
    expect((await audit(`?asOf=${encodeURIComponent(inTokyo)}`)).body.toolCall?.state).toBe('approved');
  });

  it('before its beginning shows nothing of it', async () => {
    expect((await audit('?asOf=2020-01-01T00:00:00Z')).body).toEqual({ callId, events: [], toolCall: null });
  });
});

describe('the export of the log', () => {
  const exported = async (query = '') => {
    const { body, headers } = await api.send<string>('GET', `/v1/audit/events${query}`, { as: 'auditor' });
    expect(headers.get('content-type')).toBe('application/x-ndjson');
    return body
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as EventView);
  };

  it('has every event of the tenant, one a line, in order', async () => {
    for (let n = 0; n < 150; n += 1) await api.request();
    const all = await world.store.readAll(0, 10_000);
    expect((await exported()).map(({ eventId }) => eventId)).toEqual(all.map(({ eventId }) => eventId));
  });

  it('starts after a position and stops after so many', async () => {
    expect((await exported('?after=2&limit=3')).map(({ position }) => position)).toEqual([3, 4, 5]);
    expect(await exported(`?after=${String(await world.store.head())}`)).toEqual([]);
  });

  it('broken off by its reader breaks nothing', async () => {
    const leaving = new AbortController();
    const headers = { authorization: 'Bearer auditor-token' };
    const response = await fetch(`${world.url}/v1/audit/events`, { headers, signal: leaving.signal });
    leaving.abort();
    await response.text().catch(() => undefined);
    expect((await exported('?limit=1')).length).toBe(1);
    expect(world.log.entries.filter(({ level }) => level === 'error')).toEqual([]);
  });
});
