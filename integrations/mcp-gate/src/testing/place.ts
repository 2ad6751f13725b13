import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import type { ClientCapabilities } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { openGate, type Gate } from '../gate.js';
import type { GateOptions } from '../calls/gate-options.js';

const gates: Gate[] = [];

/** For `afterEach`. */
export async function closeGates(): Promise<void> {
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
}

/** A client, a gate and a bank's server in one process, before a Countersign in memory. */
export interface Place {
  readonly client: Client;
  readonly server: McpServer;
  readonly countersign: FakeCountersign;
  readonly ran: unknown[];
  readonly refund: (amount: number, more?: object) => Promise<Record<string, unknown>>;
  /** The bodies that the gate sent to the ledger. */
  readonly asked: { readonly toolCallId: string; readonly [member: string]: unknown }[];
}

export async function openPlace(
  more: Partial<GateOptions> = {},
  capabilities: ClientCapabilities = {},
  countersign = createFakeCountersign(),
  serverName = 'bank',
): Promise<Place> {
  const ran: unknown[] = [];
  const asked: Place['asked'] = [];
  const server = new McpServer({ name: serverName, version: '1' });
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
      ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run', endpoint: 'bank' },
      ...{ continuesRun: false, gate: 'writes', holdMs: 0, fetch: record },
      ungated: { globs: [], readOnly: false },
      ...more,
    }),
  );
  const client = new Client({ name: 'spec', version: '1' }, { capabilities });
  await client.connect(clientSide);
  const refund = (amount: number, params: object = {}) =>
    client.callTool({ name: 'refund', arguments: { amount }, ...params });
  return { client, server, countersign, ran, refund, asked };
}

/** The texts of a result, as the model reads them. */
export const textOf = (result: Record<string, unknown>): string =>
  (result['content'] as { readonly text: string }[]).map(({ text }) => text).join('\n');
