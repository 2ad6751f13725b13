import { afterEach, describe, expect, it } from '@jest/globals';
import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { closeStatelessWires, openStatelessWire } from '../testing/stateless-wire.js';
import { until } from '../testing/until.js';
import { objectOf } from '../wire.js';

afterEach(closeStatelessWires);

const passed = { 'io.modelcontextprotocol/ui': { a: 1 }, 'io.modelcontextprotocol/skills': {} };
const all = { ...passed, 'com.example/batch': {}, 'io.modelcontextprotocol/tool-approval': {} };

/** A stateless server that declares the extensions, and has a method of one that calls a tool. */
function server({ method }: JSONRPCRequest): object {
  const fresh = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  if (method === 'server/discover')
    return { ...fresh, supportedVersions: ['2026-07-28'], capabilities: { tools: {}, extensions: all } };
  if (method === 'skills/list') return { ...fresh, skills: [{ name: 'one' }] };
  if (method === 'tools/list') return { ...fresh, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] };
  if (method === 'tools/call') return { resultType: 'com.example/many', results: [] };
  return { code: -32601, message: 'no' };
}

const open = () => openStatelessWire(server, { gate: 'none' });

describe('an extension', () => {
  it('is passed on in both directions when none of its messages calls a tool', async () => {
    const { ask, heard } = await open();
    const { result } = await ask('server/discover', {}, { extensions: all });
    expect(objectOf(objectOf(result)['capabilities'])['extensions']).toEqual({
      ...passed,
      'io.modelcontextprotocol/tasks': {},
    });
    const listed = await ask('skills/list', {}, { extensions: all });
    expect(listed).toMatchObject({ result: { resultType: 'complete', skills: [{ name: 'one' }] } });
    const declared = heard.find(({ method }) => method === 'skills/list')?.params?._meta ?? {};
    expect(objectOf(declared)['io.modelcontextprotocol/clientCapabilities']).toEqual({ extensions: passed });
  });

  it('that the gate does not know is not declared to a client of sessions', async () => {
    const { toGate, received } = await open();
    const params = { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'spec', version: '1' } };
    await toGate({ jsonrpc: '2.0', id: 'begin', method: 'initialize', params });
    await until(() => received.length > 0);
    expect(received).toMatchObject([{ result: { capabilities: { tools: {}, extensions: passed } } }]);
    expect(JSON.stringify(received)).not.toMatch(/batch|tool-approval/);
  });

  it.each(['com.example/callTool', 'tools/callMany', 'tools/call/', 'TOOLS/CALL'])(
    'that the gate does not know has no method (%s), which could call a tool without the ledger',
    async (method) => {
      const { ask, heard, asked } = await open();
      const params = { name: 'pay', arguments: {} };
      expect(await ask(method, params, { extensions: all })).toMatchObject({ error: { code: -32601 } });
      expect([heard.map((request) => request.method).includes(method), asked]).toEqual([false, []]);
    },
  );

  it('that the gate does not know has no type of result: the client gets an error, and the ledger records it', async () => {
    const { ask, asked, countersign } = await open();
    const { error } = await ask('tools/call', { name: 'pay', arguments: {} }, { extensions: all });
    expect(error).toMatchObject({ code: -32603, message: expect.stringContaining('com.example/many') });
    expect(countersign.callOf(asked[0]!.toolCallId).state).toBe('failed');
  });
});
