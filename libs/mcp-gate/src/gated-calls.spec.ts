import { afterEach, describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { closeGates, openPlace as open, textOf } from './testing/place.js';

afterEach(closeGates);

describe('two equal calls that arrive together', () => {
  it('are two calls, and each needs an approval', async () => {
    const { refund, countersign, asked, ran } = await open();
    const both = await Promise.all([refund(5), refund(5)]);
    expect(both.map(textOf)).toEqual([expect.stringMatching(/^pending/), expect.stringMatching(/^pending/)]);
    const ids = new Set(asked.map(({ toolCallId }) => toolCallId));
    expect(ids.size).toBe(2);
    for (const id of ids) countersign.approve(id);
    await Promise.all([refund(5), refund(5)]);
    expect(ran).toEqual([5, 5]);
  });

  it('keep the ids that the client gave them', async () => {
    const { refund, asked } = await open();
    const given = ['toolu_1', 'toolu_2'];
    await Promise.all(given.map((id) => refund(5, { _meta: { 'claudecode/toolUseId': id } })));
    expect(asked.map(({ toolCallId }) => toolCallId)).toEqual(given);
  });
});

describe('a gate that continues a run', () => {
  it('gives the result of the latest of equal calls once more, and not those of earlier ones', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true, gate: 'none' }, {}, countersign);
    await before.refund(5);
    await before.refund(5);
    const after = await open({ continuesRun: true, gate: 'none' }, {}, timed(countersign));
    await after.refund(5);
    expect(after.ran).toEqual([]);
    await after.refund(5);
    expect(after.ran).toEqual([5]);
  });

  it('takes the calls up also when they are too large for one response', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, {}, countersign);
    await before.refund(5);
    countersign.approve(before.asked[0]!.toolCallId);
    const detail = 'the calls of the run run have more than 8388608 bytes together';
    const problem = { type: 'about:blank', title: 't', status: 413, code: 'payload-too-large', detail };
    const fetch: typeof globalThis.fetch = async (input, init) =>
      pathOf(input).startsWith('/v1/runs/') ? Response.json(problem, { status: 413 }) : countersign.fetch(input, init);
    const after = await open({ continuesRun: true }, {}, { ...countersign, fetch });
    expect(textOf(await after.refund(5))).toBe('refunded 5');
  });
});

const pathOf = (input: string | URL | Request): string =>
  new URL(input instanceof Request ? input.url : input).pathname;

/** The calls begin and end one after the other, a second each. */
function timed(countersign: ReturnType<typeof createFakeCountersign>): typeof countersign {
  const at = (second: number): string => new Date(second * 1_000).toISOString();
  const times = (call: ToolCallView, index: number): ToolCallView => ({
    ...call,
    ...{ requestedAt: at(2 * index), settledAt: at(2 * index + 1) },
  });
  return {
    ...countersign,
    fetch: async (input, init) => {
      const response = await countersign.fetch(input, init);
      if (init?.method !== 'GET' || !/^\/v1\/(tool-calls|runs\/run)$/.test(pathOf(input))) return response;
      const page = (await response.json()) as { readonly calls: ToolCallView[] };
      return Response.json({ ...page, calls: page.calls.map(times) });
    },
  };
}

describe('a result that only the ledger has', () => {
  it.each([
    [{ unrecorded: 'The tool succeeded; its output was refused: too large' }, /^The tool succeeded; .*too large$/],
    [{ paid: true }, /^\{"paid":true\}$/],
    [{}, /^\{\}$/],
    [{ content: 'paid' }, /^\{"content":"paid"\}$/],
    ['seen at the bank', /^seen at the bank$/],
  ])('reaches the model: %j', async (output, text) => {
    const { refund, countersign, asked } = await open();
    await refund(5);
    const { callId, toolCallId } = countersign.callOf(asked[0]!.toolCallId);
    countersign.approve(toolCallId);
    await settle(countersign, callId, output);
    const result = await refund(5);
    expect(textOf(result)).toMatch(text);
    expect(result['isError']).not.toBe(true);
  });

  it.each([
    [{ unrecorded: 'too large' }, { isError: true }],
    [{ euros: 7 }, { structuredContent: { euros: 7 } }],
    [{ content: [], structuredContent: { euros: 8 } }, { structuredContent: { euros: 8 } }],
    ['seven', { isError: true }],
  ])('is one for the schema of the output, or an error: %j', async (output, expected) => {
    const { client, countersign, asked } = await open({ gate: 'all' });
    await client.listTools();
    await client.callTool({ name: 'balance' });
    const { callId, toolCallId } = countersign.callOf(asked[0]!.toolCallId);
    countersign.approve(toolCallId);
    await settle(countersign, callId, output);
    expect(await client.callTool({ name: 'balance' })).toMatchObject(expected);
  });
});

/** Another worker runs the call, and reports this output. */
async function settle({ fetch }: ReturnType<typeof createFakeCountersign>, callId: string, output: unknown) {
  const post = (path: string, body: object) =>
    fetch(`http://fake.test/v1/tool-calls/${callId}/${path}`, { method: 'POST', body: JSON.stringify(body) });
  await post('claim', {});
  await post('outcome', { attempt: 1, status: 'succeeded', output });
}
