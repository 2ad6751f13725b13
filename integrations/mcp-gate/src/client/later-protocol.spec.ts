import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it } from '@jest/globals';
import { openGate, type Gate } from '../gate.js';
import { until } from '../testing/until.js';

let gate: Gate;
afterEach(() => gate.close());

const later = { 'io.modelcontextprotocol/protocolVersion': '2026-07-28' };
const initialize = {
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'spec', version: '1' } },
};

/** A gate before a server that answers each request, and hears all that reaches it. */
async function open(ungated: readonly string[] = []) {
  const [client, gateToClient] = InMemoryTransport.createLinkedPair();
  const [gateToServer, server] = InMemoryTransport.createLinkedPair();
  const heard: JSONRPCMessage[] = [];
  const replies: JSONRPCMessage[] = [];
  server.onmessage = (message) => {
    heard.push(message);
    if ('id' in message) void server.send({ jsonrpc: '2.0', id: message.id ?? 0, result: { tools: [] } });
  };
  client.onmessage = (message) => replies.push(message);
  gate = await openGate(gateToClient, gateToServer, {
    ...{ url: 'http://fake.test', token: 't', resolverToken: 't', agentId: 'mcp', runId: 'run', endpoint: 'bank' },
    ...{ continuesRun: false, gate: 'none', holdMs: 0, fetch: createFakeCountersign().fetch },
    ungated: { globs: ungated, readOnly: false },
  });
  await Promise.all([server.start(), client.start()]);
  let id = 0;
  const ask = async (method: string, params: Record<string, unknown>): Promise<JSONRPCMessage> => {
    id += 1;
    await client.send({ jsonrpc: '2.0', id, method, params });
    const replyTo = (): JSONRPCMessage | undefined => replies.find((reply) => 'id' in reply && reply.id === id);
    await until(() => replyTo() !== undefined);
    return replyTo() as JSONRPCMessage;
  };
  return { ask, heard };
}

describe('a client of a later version of MCP', () => {
  it('hears that the gate knows no server/discover, so that it begins with initialize', async () => {
    const { ask, heard } = await open();
    expect(await ask('server/discover', { _meta: later })).toMatchObject({
      error: { code: -32601, message: expect.stringContaining('MCP up to 2025-11-25: begin with "initialize"') },
    });
    expect(heard).toEqual([]);
  });

  it.each([
    ['tools/call', { name: 'pay', arguments: {} }, []],
    ['tools/call', { name: 'pay', arguments: {} }, ['pay']],
    ['tools/list', {}, []],
  ])('is refused before it has begun, and no tool runs: %s', async (method, params, ungated) => {
    const { ask, heard } = await open(ungated);
    expect(await ask(method, { ...params, _meta: later })).toMatchObject({
      error: { code: -32022, data: { requested: '2026-07-28', supported: expect.arrayContaining(['2025-11-25']) } },
    });
    expect(heard).toEqual([]);
  });

  it('is served after it has begun', async () => {
    const { ask, heard } = await open();
    await ask(initialize.method, initialize.params);
    expect(await ask('tools/list', { _meta: later })).toMatchObject({ result: { tools: [] } });
    expect(heard).toHaveLength(2);
  });
});
