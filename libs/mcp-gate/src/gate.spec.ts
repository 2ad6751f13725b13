import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { ListRootsRequestSchema, type ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { openGate, type Gate } from './gate.js';
import type { GateOptions } from './gated-calls.js';

const gates: Gate[] = [];
afterEach(async () => {
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
});

interface Place {
  readonly client: Client;
  readonly server: McpServer;
  readonly countersign: FakeCountersign;
  readonly ran: unknown[];
  readonly refund: (amount: number, more?: object) => Promise<Record<string, unknown>>;
  /** The bodies that the gate sent to the ledger. */
  readonly asked: { readonly toolCallId: string; readonly [member: string]: unknown }[];
}

async function open(
  more: Partial<GateOptions> = {},
  capabilities: ClientCapabilities = {},
  countersign = createFakeCountersign(),
): Promise<Place> {
  const ran: unknown[] = [];
  const asked: Place['asked'] = [];
  const server = new McpServer({ name: 'bank', version: '1' });
  server.registerTool(
    'refund',
    { inputSchema: { amount: z.number() }, annotations: { destructiveHint: true } },
    async ({ amount }, { sendNotification, _meta }) => {
      ran.push(amount);
      if (amount === 13) throw new Error('no luck');
      if (_meta?.progressToken !== undefined) {
        const params = { progressToken: _meta.progressToken, progress: 1, message: 'half way' };
        await sendNotification({ method: 'notifications/progress', params });
      }
      return { content: [{ type: 'text', text: `refunded ${amount}` }], _meta: { trace: 'x' } };
    },
  );
  server.registerTool(
    'balance',
    { annotations: { readOnlyHint: true }, outputSchema: { euros: z.number() } },
    async () => {
      ran.push('balance');
      return { content: [], structuredContent: { euros: 7 } };
    },
  );
  server.registerResource('note', 'note://1', {}, async () => ({ contents: [{ uri: 'note://1', text: 'hi' }] }));
  const [clientSide, gateToClient] = InMemoryTransport.createLinkedPair();
  const [gateToServer, serverSide] = InMemoryTransport.createLinkedPair();
  await server.connect(serverSide);
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as { calls?: Place['asked'] };
    asked.push(...calls);
    return countersign.fetch(input, init);
  };
  gates.push(
    await openGate(gateToClient, gateToServer, {
      ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run' },
      ...{ continuesRun: false, gate: 'writes', holdMs: 0, fetch: record },
      ...more,
    }),
  );
  const client = new Client({ name: 'spec', version: '1' }, { capabilities });
  await client.connect(clientSide);
  const refund = (amount: number, params: object = {}) =>
    client.callTool({ name: 'refund', arguments: { amount }, ...params });
  return { client, server, countersign, ran, refund, asked };
}

const textOf = (result: Record<string, unknown>): string =>
  (result['content'] as { readonly text: string }[]).map(({ text }) => text).join('\n');

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
    expect(asked[0]).toMatchObject({ labels: { mcpServer: 'bank' }, hints: { destructiveHint: true } });
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
    const result = client.callTool({ name: 'refund', arguments: { amount: 5 } }, undefined, {
      onprogress: ({ message = '' }) => {
        told.push(message);
        if (message.startsWith('waiting')) countersign.approve(asked[0]!.toolCallId);
      },
    });
    expect(textOf(await result)).toBe('refunded 5');
    expect(told).toEqual([expect.stringMatching(/^waiting for a person: approval apr_/), 'half way']);
  });

  it('sends a client that opens addresses to the card', async () => {
    const { refund } = await open({}, { elicitation: { url: {} } });
    await expect(refund(5)).rejects.toMatchObject({
      code: -32042,
      data: { elicitations: [{ mode: 'url', url: expect.stringMatching(/^http:\/\/fake\.test\/approvals\/apr_/) }] },
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

  it('passes on the error of the tool', async () => {
    const { refund, ran } = await open({ gate: 'none' });
    expect(await refund(13)).toMatchObject({ isError: true, content: [{ text: 'no luck' }] });
    expect(ran).toEqual([13]);
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

  it('takes a call up that an earlier process of the same run recorded', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, {}, countersign);
    await before.refund(5);
    countersign.approve(before.asked[0]!.toolCallId);
    const after = await open({ continuesRun: true }, {}, countersign);
    expect(textOf(await after.refund(5))).toBe('refunded 5');
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
