import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { CreateTaskResultSchema, ErrorCode, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { closeGates, openPlace, textOf } from '../testing/place.js';

afterEach(closeGates);

/** A ledger that cannot be reached: a gated call fails. */
function away() {
  const countersign = createFakeCountersign();
  countersign.setAway(true);
  return countersign;
}

const refunds = { globs: ['ref*'], readOnly: false };
const readOnly = { globs: [], readOnly: true };

describe('an ungated tool', () => {
  it('runs by its name without the ledger, also when it writes', async () => {
    const { refund, ran } = await openPlace({ ungated: refunds, gate: 'all' }, {}, away());
    expect(await refund(5)).toEqual({ content: [{ type: 'text', text: 'refunded 5' }], _meta: { trace: 'x' } });
    expect(await refund(5)).toMatchObject({ content: [{ text: 'refunded 5' }] });
    expect(ran).toEqual([5, 5]);
  });

  it('runs without the ledger when the server annotates it as read-only', async () => {
    const { client, ran } = await openPlace({ ungated: readOnly }, {}, away());
    expect(await client.callTool({ name: 'balance' })).toEqual({ content: [], structuredContent: { euros: 7 } });
    expect(ran).toEqual(['balance']);
  });

  it('sends its progress to the client', async () => {
    const { client } = await openPlace({ ungated: refunds }, {}, away());
    const told: unknown[] = [];
    const call = { name: 'refund', arguments: { amount: 5 } };
    await client.callTool(call, undefined, { onprogress: ({ message }) => told.push(message) });
    expect(told).toEqual(['half way']);
  });

  it('gets the cancellation of the client', async () => {
    const { client, server } = await openPlace({ ungated: { globs: ['wait'], readOnly: false } }, {}, away());
    const started = Promise.withResolvers<undefined>();
    const stopped = Promise.withResolvers<unknown>();
    server.registerTool('wait', {}, async ({ signal }) => {
      signal.addEventListener('abort', () => stopped.resolve(signal.reason));
      started.resolve(undefined);
      await stopped.promise;
      return { content: [] };
    });
    const cancelling = new AbortController();
    const call = client.callTool({ name: 'wait' }, undefined, { signal: cancelling.signal });
    await started.promise;
    cancelling.abort('enough');
    await expect(call).rejects.toThrow('enough');
    expect(await stopped.promise).toBe('enough');
  });

  it('does not start after the client has cancelled it while the gate looks it up', async () => {
    const { client, server, ran } = await openPlace({ ungated: readOnly }, {}, away());
    const lookedUp = Promise.withResolvers<undefined>();
    const listing = Promise.withResolvers<undefined>();
    const tools = [{ name: 'balance', inputSchema: { type: 'object' as const }, annotations: { readOnlyHint: true } }];
    server.server.setRequestHandler(ListToolsRequestSchema, async () => {
      lookedUp.resolve(undefined);
      await listing.promise;
      return { tools };
    });
    const cancelling = new AbortController();
    const call = client.callTool({ name: 'balance' }, undefined, { signal: cancelling.signal });
    await lookedUp.promise;
    cancelling.abort('enough');
    await expect(call).rejects.toThrow('enough');
    listing.resolve(undefined);
    await client.callTool({ name: 'balance' });
    expect(ran).toEqual(['balance']);
  });

  it('does not find an equal call that waited when it was gated', async () => {
    const countersign = createFakeCountersign();
    const before = await openPlace({ continuesRun: true }, {}, countersign);
    expect(textOf(await before.refund(5))).toMatch(/^pending/);
    const after = await openPlace({ continuesRun: true, ungated: refunds }, {}, countersign);
    expect(textOf(await after.refund(5))).toBe('refunded 5');
    expect(after.asked).toEqual([]);
    expect(countersign.callOf(before.asked[0]!.toolCallId).state).toBe('awaiting_approval');
  });

  it('is no task of the gate, and is not offered as one', async () => {
    const { client, ran } = await openPlace({ ungated: refunds }, { tasks: {} }, away());
    const { tools } = await client.listTools();
    expect(tools.map(({ name, execution }) => [name, execution?.taskSupport])).toContainEqual(['refund', 'forbidden']);
    const params = { name: 'refund', arguments: { amount: 5 }, task: {} };
    // The reply of the server, which has no tasks.
    const noTasks = 'Server does not support task creation';
    await expect(client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).rejects.toThrow(noTasks);
    expect(ran).toEqual([]);
  });
});

describe('a gated tool behind a gate with ungated tools', () => {
  it.each([
    ['whose name the globs do not match', { globs: ['fund', 'Refund', '?efun'], readOnly: false }],
    ['that is not annotated as read-only', readOnly],
  ])('waits for a person: one %s', async (_, ungated) => {
    const { refund, ran } = await openPlace({ ungated });
    expect(textOf(await refund(5))).toMatch(/^pending/);
    expect(ran).toEqual([]);
  });

  it('waits for a person when the server does not list it', async () => {
    const { client, asked } = await openPlace({ ungated: readOnly });
    expect(textOf(await client.callTool({ name: '__proto__' }))).toMatch(/^pending/);
    expect(asked).toEqual([expect.objectContaining({ toolName: '__proto__' })]);
  });

  it('does not run when the server does not list its tools', async () => {
    const { client, server, ran } = await openPlace({ ungated: readOnly });
    server.server.setRequestHandler(ListToolsRequestSchema, () => {
      throw Object.assign(new Error('out of order'), { code: ErrorCode.InternalError });
    });
    expect(textOf(await client.callTool({ name: 'balance' }))).toMatch(/did not run: .*out of order/);
    expect(ran).toEqual([]);
  });
});
