import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { Client, InMemoryTransport, type ClientOptions } from '@modelcontextprotocol/client';
import { McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import type { GateOptions } from '../calls/gate-options.js';
import { openGate, type Gate } from '../gate.js';
import { clientOfAnyVersion } from '../stateless/any-version-client.js';

const gates: Gate[] = [];
const clients: Client[] = [];

/** For `afterEach`. */
export async function closeVersionPlaces(): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.close()));
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
}

/** A bank's server of the SDK 2. It asks the client before a transfer, in the way of the version that is spoken. */
export function bankOf(ran: unknown[]): McpServerFactory {
  return () => {
    const server = new McpServer({ name: 'bank', version: '1' });
    server.registerTool('refund', { inputSchema: z.object({ amount: z.number() }) }, ({ amount }) => {
      ran.push(amount);
      return { content: [{ type: 'text', text: `refunded ${String(amount)}` }] };
    });
    server.registerTool('rates', { annotations: { readOnlyHint: true }, outputSchema: z.array(z.number()) }, () => {
      ran.push('rates');
      return { content: [], structuredContent: [1, 2] };
    });
    return server;
  };
}

/** The versions that a server speaks. */
export type ServerForm = 'stateless' | 'both';

/** A client and a server of the SDK 2 with a gate between them, before a Countersign in memory. */
export async function openVersionPlace(
  more: Partial<GateOptions> = {},
  client: ClientOptions = {},
  form: ServerForm = 'stateless',
  factory: (ran: unknown[]) => McpServerFactory = bankOf,
): Promise<{
  readonly client: Client;
  readonly ran: unknown[];
  readonly countersign: FakeCountersign;
  readonly asked: { readonly toolCallId: string }[];
  readonly onWire: unknown[];
}> {
  const ran: unknown[] = [];
  const asked: { readonly toolCallId: string }[] = [];
  const onWire: unknown[] = [];
  const countersign = createFakeCountersign();
  const [clientSide, gateToClient] = InMemoryTransport.createLinkedPair();
  const [gateToServer, serverSide] = InMemoryTransport.createLinkedPair();
  serveStdio(factory(ran), { transport: serverSide, ...(form === 'stateless' ? { legacy: 'reject' } : {}) });
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as { calls?: typeof asked };
    asked.push(...calls);
    return countersign.fetch(input, init);
  };
  const toServer = gateToServer.send.bind(gateToServer);
  gateToServer.send = async (message, options) => {
    onWire.push(message);
    await toServer(message, options);
  };
  const { wire, deliveries } = clientOfAnyVersion(gateToClient);
  const options: GateOptions = {
    ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run', endpoint: 'bank' },
    ...{ continuesRun: false, gate: 'writes', holdMs: 0, fetch: record },
    ungated: { globs: [], readOnly: false },
    ...more,
  };
  gates.push(await openGate(wire, gateToServer, options, deliveries));
  const one = new Client({ name: 'spec', version: '1' }, client);
  clients.push(one);
  await one.connect(clientSide);
  return { client: one, ran, countersign, asked, onWire };
}
