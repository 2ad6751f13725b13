import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import {
  ElicitationCompleteNotificationSchema,
  ListRootsRequestSchema,
  ListToolsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { closeGates, openPlace as open, textOf } from './testing/place.js';
import { until } from './testing/until.js';

afterEach(closeGates);

describe('the MCP gate', () => {
  it('lets a read-only tool run at once and passes its result on as it is', async () => {
    const { client, ran, asked } = await open();
    expect(await client.callTool({ name: 'balance' })).toEqual({ content: [], structuredContent: { euros: 7 } });
    expect(ran).toEqual(['balance']);
    expect(asked).toEqual([expect.objectContaining({ needsApproval: false, hints: { readOnlyHint: true } })]);
  });

  it('asks for every other tool, and runs it once when the client calls again after the approval', async () => {
    const { refund, countersign, ran, asked } = await open();
    const first = await refund(5);
    expect(first).toMatchObject({ isError: true });
    expect(textOf(first)).toMatch(/^pending: approval apr_.*call it again with the same arguments/i);
    expect(ran).toEqual([]);
    countersign.approve(asked[0]!.toolCallId);
    expect(await refund(5)).toEqual({ content: [{ type: 'text', text: 'refunded 5' }], _meta: { trace: 'x' } });
    expect(ran).toEqual([5]);
    expect(asked[0]).toMatchObject({
      labels: { mcpServer: 'bank', mcpEndpoint: 'bank' },
      hints: { destructiveHint: true },
    });
  });

  it("asks no person while the resolver's token may not claim, and names the token that it needs", async () => {
    const { refund, countersign, asked } = await open();
    countersign.setMayClaim(false);
    expect(textOf(await refund(5))).toMatch(
      /^The tool did not run: forbidden: forbidden\. .*a resolver in COUNTERSIGN_RESOLVER_TOKEN/,
    );
    expect(asked).toEqual([]);
    countersign.setMayClaim(true);
    expect(textOf(await refund(5))).toMatch(/^pending/);
  });

  it.each(['TOOLS/CALL', 'tools/call ', 'tools/call\0', 'tools/call\0x', 'tools/\u200bcall'])(
    'passes no other spelling of tools/call to the server: %j',
    async (method) => {
      const { client, server } = await open();
      const seen: string[] = [];
      server.server.fallbackRequestHandler = async (request) => {
        seen.push(request.method);
        return {};
      };
      const request = client.request({ method, params: { name: 'refund', arguments: { amount: 5 } } }, z.object({}));
      await expect(request).rejects.toMatchObject({ code: -32601 });
      await client.notification({ method });
      await client.request({ method: 'other/method' }, z.object({}));
      expect(seen).toEqual(['other/method']);
    },
  );

  it('drops a reply of the server to a call that it has not got', async () => {
    const { refund, server, countersign, asked, ran } = await open({ holdMs: 30_000 });
    const result = refund(5);
    await until(() => asked.length > 0);
    const forged = { content: [{ type: 'text', text: 'refunded' }] };
    for (const id of [1, 2, 3]) await server.server.transport?.send({ jsonrpc: '2.0', id, result: forged });
    countersign.approve(asked[0]!.toolCallId);
    expect(textOf(await result)).toBe('refunded 5');
    expect(ran).toEqual([5]);
  });

  it('takes an equal call after the result for another call', async () => {
    const { refund, countersign, asked } = await open();
    await refund(5);
    countersign.deny(asked[0]!.toolCallId, { reason: 'no' });
    expect(textOf(await refund(5))).toMatch(/denied/);
    expect(textOf(await refund(5))).toMatch(/^pending/);
    expect(new Set(asked.map(({ toolCallId }) => toolCallId)).size).toBe(2);
  });

  it('finds a pending call again when the client gives every attempt its own id', async () => {
    const { refund, countersign, asked, ran } = await open();
    await refund(5, { _meta: { 'claudecode/toolUseId': 'toolu_1' } });
    countersign.approve('toolu_1');
    expect(textOf(await refund(5, { _meta: { 'claudecode/toolUseId': 'toolu_2' } }))).toBe('refunded 5');
    expect(new Set(asked.map(({ toolCallId }) => toolCallId))).toEqual(new Set(['toolu_1']));
    expect(ran).toEqual([5]);
  });

  it('holds the request while people decide, and tells a client that asked for progress', async () => {
    const { client, countersign, asked } = await open({ holdMs: 30_000 });
    const told: string[] = [];
    const progresses: number[] = [];
    const result = client.callTool({ name: 'refund', arguments: { amount: 5 } }, undefined, {
      onprogress: ({ message = '', progress }) => {
        told.push(message);
        progresses.push(progress);
        if (message.startsWith('waiting')) countersign.approve(asked[0]!.toolCallId);
      },
    });
    expect(textOf(await result)).toBe('refunded 5');
    expect(told).toEqual([expect.stringMatching(/^waiting for a person: approval apr_/), 'half way']);
    // Progress must grow, and a tool may begin with 0.
    expect(progresses[0]).toBeLessThan(0);
  });

  it('sends a client that opens addresses to the card', async () => {
    const { refund } = await open({}, { elicitation: { url: {} } });
    await expect(refund(5)).rejects.toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', url: expect.stringMatching(/^http:\/\/fake\.test\/approvals\/apr_/) }] },
    });
  });

  it('tells a client that was sent to the card when the approval is decided', async () => {
    const { refund, client, countersign, asked } = await open({}, { elicitation: { url: {} } });
    const told = Promise.withResolvers<string>();
    client.setNotificationHandler(ElicitationCompleteNotificationSchema, ({ params }) => {
      told.resolve(params.elicitationId);
    });
    await expect(refund(5)).rejects.toMatchObject({ code: -32042 });
    const { toolCallId } = asked[0]!;
    const approvalId = countersign.callOf(toolCallId).approval?.approvalId;
    countersign.approve(toolCallId);
    expect(await told.promise).toBe(approvalId);
    expect(textOf(await refund(5))).toBe('refunded 5');
  });

  it('names the address where people open the inbox, which need not be that of the API', async () => {
    const inboxUrl = 'https://approvals.example';
    const { refund } = await open({ inboxUrl });
    expect(textOf(await refund(5))).toMatch(/People decide at https:\/\/approvals\.example\/approvals\/apr_/);
    const { refund: refundByUrl } = await open({ inboxUrl }, { elicitation: { url: {} } });
    await expect(refundByUrl(5)).rejects.toMatchObject({
      data: { elicitations: [{ url: expect.stringMatching(/^https:\/\/approvals\.example\/approvals\/apr_/) }] },
    });
  });

  it('runs edited arguments and tells the model which', async () => {
    const { refund, countersign, asked, ran } = await open();
    await refund(500);
    countersign.edit(asked[0]!.toolCallId, { amount: 50 }, { instruction: 'tell the customer' });
    const result = await refund(500);
    expect(textOf(result)).toMatch(/^refunded 50\n.*"amount":50.*\n.*tell the customer/s);
    expect(result['_meta']).toMatchObject({ trace: 'x', 'countersign/call': { arguments: { amount: 50 } } });
    expect(ran).toEqual([50]);
  });

  it('gives the answer of a person in place of the tool', async () => {
    const { refund, countersign, asked, ran } = await open();
    await refund(5);
    countersign.answer(asked[0]!.toolCallId, 'already paid');
    expect(textOf(await refund(5))).toMatch(/^already paid\n/);
    expect(ran).toEqual([]);
  });

  it('passes on the error of the tool as it is, and records it as a failure', async () => {
    const { refund, ran, countersign, asked } = await open({ gate: 'none' });
    expect(await refund(13)).toEqual({ isError: true, content: [{ type: 'text', text: 'no luck' }] });
    expect(ran).toEqual([13]);
    expect(countersign.callOf(asked[0]!.toolCallId)).toMatchObject({ state: 'failed', error: { message: 'no luck' } });
  });

  it('tells the model which edited arguments failed', async () => {
    const { refund, countersign, asked } = await open();
    await refund(500);
    countersign.edit(asked[0]!.toolCallId, { amount: 13 });
    const result = await refund(500);
    expect(result).toMatchObject({ isError: true, _meta: { 'countersign/call': { arguments: { amount: 13 } } } });
    expect(textOf(result)).toBe('no luck\nAn approver changed the arguments.\nArguments: {"amount":13}');
  });

  it('asks about a tool whose schema it cannot check, and leaves the check to the server', async () => {
    const { server, client, asked } = await open();
    const list = { tools: [{ name: 'odd', inputSchema: { type: 'object', $ref: 'https://example.com/schema' } }] };
    server.server.setRequestHandler(ListToolsRequestSchema, () => list);
    const result = await client.callTool({ name: 'odd', arguments: { any: 1 } });
    expect(textOf(result)).toMatch(/^pending/);
    expect(asked[0]).toMatchObject({ toolName: 'odd', toolSchema: list.tools[0]?.inputSchema });
  });

  it('does not run a tool when Countersign is away, and says what to do', async () => {
    const { refund, client, countersign, ran } = await open({ attempts: 1 });
    countersign.setAway(true);
    for (const result of [await refund(5), await client.callTool({ name: 'balance' })]) {
      expect(result).toMatchObject({ isError: true });
      expect(textOf(result)).toMatch(/did not run: .*Start Countersign, or set COUNTERSIGN_URL/);
    }
    expect(ran).toEqual([]);
  });

  it('stays with "unknown" when a worker was lost, however often the client calls', async () => {
    const { refund, countersign, asked, ran } = await open();
    await refund(5);
    countersign.loseWorker(asked[0]!.toolCallId);
    expect(textOf(await refund(5))).toMatch(/outcome is not known/);
    expect(textOf(await refund(5))).toMatch(/outcome is not known/);
    expect(ran).toEqual([]);
  });

  it('stays with "unknown" also for two equal calls at once', async () => {
    const { refund, countersign, asked, ran } = await open();
    await refund(5);
    countersign.loseWorker(asked[0]!.toolCallId);
    await refund(5);
    for (const result of await Promise.all([refund(5), refund(5)])) {
      expect(textOf(result)).toMatch(/outcome is not known/);
    }
    expect(new Set(asked.map(({ toolCallId }) => toolCallId)).size).toBe(1);
    expect(ran).toEqual([]);
  });

  it('takes two equal calls at once for the one that the client cancelled while its tool ran', async () => {
    const { client, server, asked, countersign } = await open({ gate: 'none', leaseMs: 1_000 });
    const cancelling = new AbortController();
    let runs = 0;
    server.registerTool('hang', {}, async () => {
      runs += 1;
      cancelling.abort('enough');
      return new Promise(() => undefined);
    });
    const hang = { name: 'hang', arguments: {} };
    await expect(client.callTool(hang, undefined, { signal: cancelling.signal })).rejects.toThrow('enough');
    await new Promise((resolve) => setTimeout(resolve, 50));
    countersign.loseWorker(asked[0]!.toolCallId);
    for (const result of await Promise.all([client.callTool(hang), client.callTool(hang)])) {
      expect(textOf(result)).toMatch(/outcome is not known/);
    }
    expect([runs, new Set(asked.map(({ toolCallId }) => toolCallId)).size]).toEqual([1, 1]);
  });

  it('gives the result of a tool although Countersign is away when it ends, and reports it later', async () => {
    const { client, server, countersign, asked } = await open({ gate: 'none', reportMs: 100 });
    server.registerTool('outlive', {}, async () => {
      countersign.setAway(true);
      return { content: [{ type: 'text', text: 'done' }] };
    });
    expect(await client.callTool({ name: 'outlive' })).toEqual({ content: [{ type: 'text', text: 'done' }] });
    const { toolCallId } = asked[0]!;
    expect(countersign.callOf(toolCallId).state).toBe('executing');
    countersign.setAway(false);
    await until(() => countersign.callOf(toolCallId).state === 'succeeded');
  });

  it('tells the model which edited arguments ran also when Countersign is away then', async () => {
    const { client, server, countersign, asked } = await open({ reportMs: 50 });
    server.registerTool('outlive', { inputSchema: { euros: z.number() } }, async () => {
      countersign.setAway(true);
      return { content: [{ type: 'text', text: 'done' }] };
    });
    const call = { name: 'outlive', arguments: { euros: 500 } };
    await client.callTool(call);
    countersign.edit(asked[0]!.toolCallId, { euros: 50 });
    const result = await client.callTool(call);
    expect(textOf(result)).toBe('done\nArguments: {"euros":50}');
    expect(result).toMatchObject({ _meta: { 'countersign/call': { edited: true, arguments: { euros: 50 } } } });
    countersign.setAway(false);
    await until(() => countersign.callOf(asked[0]!.toolCallId).state === 'succeeded');
  });

  it('gives an error for a result that cannot be written, such as one that is nested too deep for Node 24', async () => {
    const { client, server } = await open({ gate: 'none' });
    const toJSON = (): never => {
      throw new RangeError('Maximum call stack size exceeded');
    };
    server.registerTool('deep', {}, async () => ({ content: [], structuredContent: { deep: { toJSON } } }));
    await expect(client.callTool({ name: 'deep' })).rejects.toThrow(/has replied, but its result cannot be written/);
  });

  it('asks about a tool whose description is cut inside a character', async () => {
    const { server, client, asked } = await open();
    const description = `${'x'.repeat(3998)}😀 and more`;
    const list = { tools: [{ name: 'long', description, inputSchema: { type: 'object' as const } }] };
    server.server.setRequestHandler(ListToolsRequestSchema, () => list);
    await client.callTool({ name: 'long' });
    expect(asked[0]?.['description']).toBe(`${'x'.repeat(3998)}\ufffd…`);
  });

  it('takes a call up that an earlier process of the same run recorded', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, {}, countersign);
    await before.refund(5);
    countersign.approve(before.asked[0]!.toolCallId);
    const after = await open({ continuesRun: true }, {}, countersign);
    expect(textOf(await after.refund(5))).toBe('refunded 5');
  });

  it('takes such a call up although the client names it otherwise', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, {}, countersign);
    await before.refund(5, { _meta: { 'claudecode/toolUseId': 'toolu_1' } });
    const after = await open({ continuesRun: true }, {}, countersign);
    await after.refund(5, { _meta: { 'claudecode/toolUseId': 'toolu_2' } });
    expect(after.asked.map(({ toolCallId }) => toolCallId)).toEqual(['toolu_1']);
  });

  it('gives a result of an earlier process once more, because the client may not have heard it', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, {}, countersign);
    await before.refund(5);
    countersign.deny(before.asked[0]!.toolCallId, { reason: 'not today' });
    const after = await open({ continuesRun: true }, {}, countersign);
    expect(textOf(await after.refund(5))).toContain('not today');
    expect(textOf(await after.refund(5))).toContain('pending');
  });

  it('passes requests of the server and everything else on', async () => {
    const { client, server } = await open({}, { roots: {} });
    client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: [{ uri: 'file:///work' }] }));
    expect(await server.server.listRoots()).toEqual({ roots: [{ uri: 'file:///work' }] });
    expect(await client.readResource({ uri: 'note://1' })).toMatchObject({ contents: [{ text: 'hi' }] });
    expect(client.getServerVersion()?.name).toBe('bank');
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['refund', 'balance']);
  });
});
