import { afterEach, describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { closeGates, openPlace as open, textOf } from '../testing/place.js';
import { closeStatelessWires } from '../testing/stateless-wire.js';
import { refusable } from '../testing/refusable.js';
import { openTaskPlace } from '../testing/task-place.js';
import { until } from '../testing/until.js';

afterEach(closeGates);
afterEach(closeStatelessWires);

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

describe('a gate that continues a run which has calls for another server', () => {
  const given = { _meta: { 'claudecode/toolUseId': 'toolu_1' } };

  it('asks about an equal call again, and does not run the approved one', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, {}, countersign);
    await before.refund(5);
    countersign.approve(before.asked[0]!.toolCallId);
    const other = await open({ continuesRun: true, endpoint: 'other' }, {}, countersign);
    expect(textOf(await other.refund(5))).toMatch(/^pending/);
    expect(other.asked[0]!.toolCallId).not.toBe(before.asked[0]!.toolCallId);
    expect(textOf(await before.refund(5))).toBe('refunded 5');
    expect([before.ran, other.ran]).toEqual([[5], []]);
  });

  it.each(['writes', 'none'] as const)('refuses the id of such a call: %s', async (gate) => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true, gate }, {}, countersign);
    await before.refund(5, given);
    if (gate === 'writes') countersign.approve('toolu_1');
    const other = await open({ continuesRun: true, gate, endpoint: 'other' }, {}, countersign);
    const result = await other.refund(5, given);
    expect(textOf(result)).toMatch(/did not run: .*toolu_1.*another MCP server/);
    expect([result['isError'], other.asked, other.ran]).toEqual([true, [], []]);
  });
});

it('a call whose id Countersign refused does not keep equal calls from running', async () => {
  const { refund, asked, ran } = await open({ gate: 'none' });
  const named = (id: string) => ({ _meta: { 'claudecode/toolUseId': id } });
  await refund(5, named('toolu_1'));
  expect(textOf(await refund(6, named('toolu_1')))).toMatch(/tool-call-mismatch/);
  expect(textOf(await refund(6, named('toolu_2')))).toBe('refunded 6');
  expect(asked.at(-1)!.toolCallId).toBe('toolu_2');
  expect(ran).toEqual([5, 6]);
});

describe('a call that another gate runs', () => {
  it('is waited for no longer than the hold, and its result is given when it is called again', async () => {
    const { refund, countersign, asked, ran } = await open({ holdMs: 0 });
    await refund(5);
    const { callId, toolCallId } = countersign.callOf(asked[0]!.toolCallId);
    countersign.approve(toolCallId);
    await claim(countersign, callId);
    for (let time = 0; time < 2; time += 1) {
      const waiting = await refund(5);
      expect(textOf(waiting)).toMatch(/^executing: .*another gate.*Call it again with the same arguments/);
      expect(waiting).toMatchObject({ isError: true, _meta: { 'countersign/call': { status: 'executing' } } });
    }
    await report(countersign, callId, { paid: true });
    expect(textOf(await refund(5))).toBe('{"paid":true}');
    expect(ran).toEqual([]);
  });

  it('is another matter than one that this gate runs, which is waited for to its end', async () => {
    const { client, server } = await open({ holdMs: 0, gate: 'none' });
    server.registerTool('slow', {}, async () => {
      await new Promise((resolve) => setTimeout(resolve, 1_500));
      return { content: [{ type: 'text', text: 'done' }] };
    });
    expect(textOf(await client.callTool({ name: 'slow' }))).toBe('done');
  });
});

describe('arguments that cannot be recorded', () => {
  const cases: readonly (readonly [string, string, RegExp])[] = [
    ['half of a character', '{"amount":5,"note":"\\ud800"}', /lone surrogate/],
    ['a member __proto__', '{"__proto__":{"path":"/etc"},"amount":5}', /__proto__/],
    ['a deep member __proto__', '{"amount":5,"a":[{"__proto__":1}]}', /__proto__/],
    ['a number that is too large', '{"amount":1e20}', /9007199254740991/],
  ];
  it.each(cases)('are the fault of the client: %s', async (_, args, why) => {
    const { client, asked, ran } = await open({ gate: 'none' });
    const result = await client.callTool({ name: 'refund', arguments: JSON.parse(args) as Record<string, unknown> });
    expect(textOf(result)).toMatch(why);
    expect(textOf(result)).toMatch(/did not run: .* Correct the call, and make it again\.$/);
    expect([asked, ran]).toEqual([[], []]);
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

type Countersign = ReturnType<typeof createFakeCountersign>;

/** Another worker runs the call, and reports this output. */
async function settle(countersign: Countersign, callId: string, output: unknown): Promise<void> {
  await claim(countersign, callId);
  await report(countersign, callId, output);
}

const claim = (countersign: Countersign, callId: string) =>
  post(countersign, callId, 'claim', { resolverId: 'another worker' });

const report = (countersign: Countersign, callId: string, output: unknown) =>
  post(countersign, callId, 'outcome', { attempt: 1, status: 'succeeded', output });

function post({ fetch }: Countersign, callId: string, path: string, body: object): Promise<Response> {
  return fetch(`http://fake.test/v1/tool-calls/${callId}/${path}`, { method: 'POST', body: JSON.stringify(body) });
}

it('never says of a tool that runs that it did not run, also when Countersign refuses the token meanwhile', async () => {
  const { fetch, asked, countersign, refuse } = refusable();
  const { ask, held } = await openTaskPlace({ countersign, fetch, holds: true, holdMs: 500 });
  const called = ask('tools/call', { name: 'pay', arguments: {} }, {});
  await until(() => asked.length > 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  countersign.approve(asked[0]!);
  await held();
  await refuse();
  const { content, _meta } = await called;
  expect(JSON.stringify(content)).toContain('It may or may not have taken effect');
  expect(_meta).toMatchObject({ 'countersign/call': { status: 'unknown' } });
});
