import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage, JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import type { GateOptions } from '../calls/gate-options.js';
import { openGate, type Gate } from '../gate.js';
import { clientOfAnyVersion } from '../stateless/any-version-client.js';
import { objectOf } from '../wire.js';
import { until } from './until.js';

const gates: Gate[] = [];

/** For `afterEach`. */
export async function closeStatelessWires(): Promise<void> {
  await Promise.all(gates.splice(0).map((gate) => gate.close()));
}

/** The members of `_meta` of a stateless request. */
export function envelope(capabilities: object = {}, version = '2026-07-28'): Record<string, unknown> {
  return {
    'io.modelcontextprotocol/protocolVersion': version,
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    'io.modelcontextprotocol/clientInfo': { name: 'spec', version: '1' },
  };
}

type Members = Readonly<Record<string, unknown>>;

/** A client that writes its messages itself, and a gate before a server in memory. */
export interface StatelessWire {
  /** Makes a request, and returns its last message. */
  readonly ask: (method: string, params?: Members, capabilities?: object) => Promise<Members>;
  readonly send: (message: JSONRPCMessage) => Promise<void>;
  /** All messages to the client. */
  readonly received: JSONRPCMessage[];
  /** All messages to the server. */
  readonly heard: JSONRPCRequest[];
  readonly toGate: (message: JSONRPCMessage) => Promise<void>;
  readonly countersign: FakeCountersign;
  readonly asked: { readonly toolCallId: string; readonly [member: string]: unknown }[];
}

/** @param answer the result of the server for a request; an error where it is one; nothing where it is undefined. */
export async function openStatelessWire(
  answer: (request: JSONRPCRequest) => object | undefined,
  more: Partial<GateOptions> = {},
  countersign = createFakeCountersign(),
): Promise<StatelessWire> {
  const [client, gateToClient] = InMemoryTransport.createLinkedPair();
  const [gateToServer, server] = InMemoryTransport.createLinkedPair();
  const heard: JSONRPCRequest[] = [];
  const received: JSONRPCMessage[] = [];
  const asked: StatelessWire['asked'] = [];
  server.onmessage = (message) => {
    heard.push(message as JSONRPCRequest);
    if (!('method' in message) || !('id' in message)) return;
    const given = answer(message);
    if (given === undefined) return;
    const reply = 'code' in given ? { error: given } : { result: given };
    void server.send({ jsonrpc: '2.0', id: message.id, ...reply } as JSONRPCMessage);
  };
  client.onmessage = (message) => received.push(message);
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as { calls?: typeof asked };
    asked.push(...calls);
    return countersign.fetch(input, init);
  };
  const { wire, deliveries } = clientOfAnyVersion(gateToClient);
  const options: GateOptions = {
    ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run', endpoint: 'bank' },
    ...{ continuesRun: false, gate: 'writes', holdMs: 0, fetch: record },
    ungated: { globs: [], readOnly: false },
    ...more,
  };
  gates.push(await openGate(wire, gateToServer, options, deliveries));
  await Promise.all([server.start(), client.start()]);
  let id = 0;
  const replyTo = (to: number): JSONRPCMessage | undefined =>
    received.find((message) => 'id' in message && message.id === to && !('method' in message));
  const ask: StatelessWire['ask'] = async (method, params = {}, capabilities = {}) => {
    const mine = (id += 1);
    const meta = { ...envelope(capabilities), ...objectOf(params['_meta']) };
    await client.send({ jsonrpc: '2.0', id: mine, method, params: { ...params, _meta: meta } });
    await until(() => replyTo(mine) !== undefined);
    return replyTo(mine) as unknown as Members;
  };
  return {
    ask,
    send: (message) => server.send(message),
    received,
    heard,
    toGate: (message) => client.send(message),
    countersign,
    asked,
  };
}

/** A server of sessions, such as one of version 2025-11-25, with the tools `pay` and `read`. */
export function sessionServer(ran: unknown[], more: (request: JSONRPCRequest) => object | undefined = () => undefined) {
  return (request: JSONRPCRequest): object | undefined => {
    const { method, params } = request;
    const given = more(request);
    if (given !== undefined) return given;
    if (method === 'initialize') {
      const capabilities = {
        tools: { listChanged: true },
        resources: { subscribe: true },
        tasks: { list: {} },
        logging: {},
      };
      return { protocolVersion: '2025-11-25', capabilities, serverInfo: { name: 'bank', version: '1' } };
    }
    if (method === 'tools/list') {
      const inputSchema = { type: 'object' };
      const read = {
        name: 'read',
        inputSchema,
        annotations: { readOnlyHint: true },
        execution: { taskSupport: 'optional' },
      };
      return { tools: [{ name: 'pay', inputSchema }, read] };
    }
    if (method !== 'tools/call') return {};
    ran.push(params?.['arguments']);
    return { content: [{ type: 'text', text: 'done' }] };
  };
}
