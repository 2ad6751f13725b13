import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { McpServer as SessionServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod';
import type { GateOptions } from '../calls/gate-options.js';
import { openGate, type Gate } from '../gate.js';
import { clientOfAnyVersion } from '../stateless/any-version-client.js';
import { bankOf } from './version-place.js';

const gates: Gate[] = [];

/** For `afterEach`. */
export async function closeRawPlaces(): Promise<void> {
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
}

/** The servers of the two SDKs, by the versions that they speak. */
export const serverForms = ['sessions', 'stateless', 'both'] as const;

/** A client that writes its messages itself, on one connection to a gate before a server of an SDK. */
export interface RawPlace {
  readonly send: (message: object) => void;
  /** All messages to the client, in order. */
  readonly received: JSONRPCMessage[];
  /** The amounts of the tool `refund` that ran. */
  readonly ran: unknown[];
  readonly countersign: FakeCountersign;
  /** The calls that the gate has asked for. */
  readonly asked: { readonly toolCallId: string; readonly labels?: Readonly<Record<string, string>> }[];
  /** Requests of the client, and replies to it, in their order. */
  readonly onWire: { readonly isReply: boolean; readonly message: Readonly<Record<string, unknown>> }[];
}

export async function openRawPlace(
  form: (typeof serverForms)[number],
  more: Partial<GateOptions> = {},
  bank = bankOf,
): Promise<RawPlace> {
  const ran: unknown[] = [];
  const received: JSONRPCMessage[] = [];
  const asked: RawPlace['asked'] = [];
  const onWire: RawPlace['onWire'] = [];
  const countersign = createFakeCountersign();
  const [client, gateToClient] = InMemoryTransport.createLinkedPair();
  const [gateToServer, serverSide] = InMemoryTransport.createLinkedPair();
  if (form === 'sessions') await sessionBank(ran).connect(serverSide);
  else serveStdio(bank(ran), { transport: serverSide, ...(form === 'stateless' ? { legacy: 'reject' } : {}) });
  client.onmessage = (message) => {
    received.push(message);
    if (!('method' in message)) onWire.push({ isReply: true, message: { ...message } });
  };
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as { calls?: typeof asked };
    asked.push(...calls);
    return countersign.fetch(input, init);
  };
  const { wire, deliveries } = clientOfAnyVersion(gateToClient);
  const options: GateOptions = {
    ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run', endpoint: 'bank' },
    ...{ continuesRun: false, gate: 'none', holdMs: 0, fetch: record },
    ungated: { globs: [], readOnly: false },
    ...more,
  };
  gates.push(await openGate(wire, gateToServer, options, deliveries));
  await client.start();
  const send: RawPlace['send'] = (message) => {
    onWire.push({ isReply: false, message: { ...message } });
    void client.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage);
  };
  return { send, received, ran, countersign, asked, onWire };
}

function sessionBank(ran: unknown[]): SessionServer {
  const server = new SessionServer({ name: 'bank', version: '1' });
  server.registerTool('refund', { inputSchema: { amount: z.number() } }, ({ amount }) => {
    ran.push(amount);
    return { content: [{ type: 'text', text: `refunded ${String(amount)}` }] };
  });
  return server;
}
