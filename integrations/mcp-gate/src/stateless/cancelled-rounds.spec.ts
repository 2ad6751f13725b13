import { afterEach, expect, it } from '@jest/globals';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { closeStatelessWires, openStatelessWire } from '../testing/stateless-wire.js';
import { until } from '../testing/until.js';

afterEach(closeStatelessWires);

const sure = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: { type: 'object' } } };
const initialize: JSONRPCMessage = {
  ...{ jsonrpc: '2.0', id: 100, method: 'initialize' },
  params: {
    protocolVersion: '2025-11-25',
    capabilities: { elicitation: { form: {} } },
    clientInfo: { name: 'spec', version: '1' },
  },
};

/** A session before a stateless server whose tool `pay` and whose prompt need another round. */
async function open(inputRequests: object) {
  const place = await openStatelessWire(
    ({ method }) => {
      const fresh = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
      if (method === 'server/discover') {
        return { ...fresh, supportedVersions: ['2026-07-28'], capabilities: { tools: {}, prompts: {} } };
      }
      if (method === 'tools/list') return { ...fresh, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] };
      if (method === 'initialize') return { code: -32601, message: 'no' };
      return { resultType: 'input_required', requestState: 'of-server', inputRequests };
    },
    { gate: 'none' },
  );
  const { toGate, received, heard } = place;
  await toGate(initialize);
  await until(() => received.length > 0);
  const rounds = (of: string) => heard.filter(({ method }) => method === of);
  return { ...place, rounds };
}

it.each(['tools/call', 'prompts/get'])(
  'a request %s that is cancelled while its server wants to handle it later has no other round',
  async (method) => {
    const { toGate, rounds } = await open({});
    await toGate({ jsonrpc: '2.0', id: 7, method, params: { name: 'pay', arguments: {} } });
    await until(() => rounds(method).length === 1);
    await toGate({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(rounds(method)).toHaveLength(1);
  },
);

it.each(['tools/call', 'prompts/get'])(
  'a request %s that is cancelled while its server asks has no other round, also after an answer',
  async (method) => {
    const { toGate, rounds, received } = await open({ sure });
    await toGate({ jsonrpc: '2.0', id: 7, method, params: { name: 'pay', arguments: {} } });
    const question = () => received.find((message) => 'method' in message && message.method === sure.method);
    await until(() => question() !== undefined);
    await toGate({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } });
    const told = () =>
      received.filter((message) => 'method' in message && message.method === 'notifications/cancelled');
    const { id } = question() as { id: string };
    await toGate({ jsonrpc: '2.0', id, result: { action: 'accept', content: {} } });
    await until(() => told().length > 0);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(rounds(method)).toHaveLength(1);
    expect(told()).toMatchObject([{ params: { requestId: id } }]);
  },
);
