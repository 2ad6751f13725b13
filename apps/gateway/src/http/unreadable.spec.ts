import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApprovalView, NewEvent, ToolCallView } from '@countersign/contracts';
import { toolCallStream } from '@countersign/contracts';
import { sampleEvent } from '@countersign/event-store/testing';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openStream } from '../testing/event-stream.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let folder: string;
let world: World;
let api: Api;
let hurt: ToolCallView;
let other: ToolCallView;

/** A later version records an event of a new type, and this version starts again on the same log. */
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-unreadable-'));
  const before = await openWorld({ folder });
  hurt = await createApi(before).request({ needsApproval: true, toolCallId: 'a' });
  other = await createApi(before).request({ needsApproval: true, toolCallId: 'b' });
  const event = { ...sampleEvent(), type: 'ToolCallForgotten' as NewEvent['type'] };
  await before.store.append(toolCallStream(hurt.callId), hurt.revision, [event]);
  await before.close();
  rmSync(join(folder, 'read-model.db'), { force: true });
  world = await openWorld({ folder });
  api = createApi(world);
});
afterAll(async () => {
  await world.close();
  rmSync(folder, { recursive: true });
});

const approve = (call: ToolCallView) =>
  api.send('POST', `/v1/approvals/${call.approval?.approvalId ?? ''}/responses`, {
    as: 'bob',
    body: { decision: { type: 'approve' } },
  });

describe('an event that this version cannot read', () => {
  it('sets its call aside: the view shows the state before it, and every write is refused with the remedy', async () => {
    const { body } = await api.send<ToolCallView>('GET', `/v1/tool-calls/${hurt.callId}`);
    const unreadable = { type: 'ToolCallForgotten', revision: 2, why: expect.stringContaining('upgrade Countersign') };
    expect(body).toMatchObject({ state: 'awaiting_approval', unreadable });
    expect(await approve(hurt)).toMatchObject({
      status: 409,
      body: { code: 'unreadable', unreadable, detail: expect.stringContaining('upgrade Countersign') },
    });
    const cancel = await api.send('POST', `/v1/tool-calls/${hurt.callId}/cancel`, { body: { reason: 'x' } });
    expect(cancel).toMatchObject({ status: 409, body: { code: 'unreadable' } });
    const claimed = await api.send('POST', `/v1/tool-calls/${hurt.callId}/claim`, {
      as: 'worker',
      body: { resolverId: 'w' },
    });
    expect(claimed).toMatchObject({ status: 409, body: { code: 'unreadable' } });
  });

  it('may be decided by no person, and every card says why, to those who only look too', async () => {
    for (const as of ['bob', 'auditor']) {
      const { body } = await api.send<{ approvals: readonly ApprovalView[] }>('GET', '/v1/approvals?limit=10', { as });
      expect(body.approvals.find(({ callId }) => callId === hurt.callId)?.mayDecide).toEqual({
        ...{ now: false, why: 'unreadable' },
        detail: expect.stringMatching(/^toolCall-.* revision 2 .*upgrade Countersign/),
      });
    }
  });

  it('stops no other call', async () => {
    expect(await approve(other)).toMatchObject({ status: 200, body: { state: 'approved' } });
    expect(await api.request({ toolCallId: 'c' })).toMatchObject({ state: 'allowed' });
  });

  it('is listed for auditors and admins, counted in the metrics, and a note of a ready process', async () => {
    const { body } = await api.send('GET', '/v1/unreadable', { as: 'auditor' });
    expect(body).toMatchObject({
      streams: [{ stream: toolCallStream(hurt.callId), callId: hurt.callId, revision: 2, type: 'ToolCallForgotten' }],
    });
    expect(await (await fetch(`${world.url}/metrics`)).text()).toContain('countersign_unreadable_streams 1\n');
    const ready = await fetch(`${world.url}/readyz`);
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({
      checks: { 'unreadable-events': { status: 'ok', note: expect.stringContaining('1 stream is set aside') } },
    });
  });

  it('is streamed, of any type, to a reader of some types that also asks for what cannot be read', async () => {
    const typesOf = async (types: string, count: number): Promise<readonly (string | undefined)[]> => {
      const stream = await openStream(`${world.url}/v1/events?callId=${hurt.callId}&types=${types}`, 'bob');
      const messages = await stream.until(count);
      stream.close();
      return messages.map(({ event }) => event);
    };
    expect(await typesOf('ApprovalRequested,unreadable', 2)).toEqual(['ApprovalRequested', 'unreadable']);
    expect(await typesOf('ApprovalRequested', 1)).toEqual(['ApprovalRequested']);
  });

  it('is sent to readers of the log in its place, without data', async () => {
    const { body } = await api.send<string>('GET', '/v1/audit/events', { as: 'auditor' });
    const lines = body
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { type: string });
    expect(lines.find(({ type }) => type === 'ToolCallForgotten')).toMatchObject({
      callId: hurt.callId,
      data: null,
      unreadable: expect.stringContaining('unknown'),
    });
  });
});

describe('a call that cannot be read, of a queue', () => {
  it('keeps the turn, and those behind it say whom they wait for', async () => {
    const data = mkdtempSync(join(tmpdir(), 'countersign-held-'));
    const before = await openWorld({ folder: data });
    const calls = ['first', 'second'].map((toolCallId) => ({ toolCallId, toolName: 'get_file', arguments: {} }));
    const body = { runId: 'queue', batchMode: 'sequential', calls };
    type Calls = { readonly calls: readonly ToolCallView[] };
    const [first, second] = (await createApi(before).send<Calls>('POST', '/v1/tool-calls', { body })).body.calls;
    const event = { ...sampleEvent(), type: 'ToolCallForgotten' as NewEvent['type'] };
    await before.store.append(toolCallStream(first?.callId ?? ''), first?.revision ?? 0, [event]);
    await before.close();
    rmSync(join(data, 'read-model.db'), { force: true });
    const after = await openWorld({ folder: data });
    const read = async <T>(path: string) => (await createApi(after).send<T>('GET', path)).body;
    expect(await read(`/v1/tool-calls/${second?.callId ?? ''}`)).toMatchObject({
      ...{ state: 'awaiting_approval', waitsForTurn: true, heldBy: first?.callId },
    });
    expect((await read<Calls>('/v1/runs/queue')).calls.map((call) => call.heldBy)).toEqual([undefined, first?.callId]);
    const listed = (await read<Calls>('/v1/tool-calls?runId=queue')).calls;
    expect(listed.find(({ callId }) => callId === second?.callId)?.heldBy).toBe(first?.callId);
    await after.close();
    rmSync(data, { recursive: true });
  });
});
