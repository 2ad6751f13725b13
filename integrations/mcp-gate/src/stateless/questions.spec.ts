import { afterEach, describe, expect, it } from '@jest/globals';
import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { acceptedContent, inputRequired, McpServer, type McpServerFactory } from '@modelcontextprotocol/server';
import { z } from 'zod';
import { closeStatelessWires, openStatelessWire, sessionServer } from '../testing/stateless-wire.js';
import { closeVersionPlaces, openVersionPlace } from '../testing/version-place.js';
import { until } from '../testing/until.js';

afterEach(closeStatelessWires);
afterEach(closeVersionPlaces);

const requestedSchema = {
  type: 'object' as const,
  properties: { sure: { type: 'boolean' as const } },
  required: ['sure'],
};

/** A bank that asks before a transfer. */
const askingBank =
  (ran: unknown[]): McpServerFactory =>
  () => {
    const server = new McpServer({ name: 'bank', version: '1' });
    server.registerTool(
      'transfer',
      { inputSchema: z.object({ amount: z.number() }) },
      async ({ amount }, { mcpReq }) => {
        const answer = acceptedContent<{ sure: boolean }>(mcpReq.inputResponses, 'sure');
        if (answer === undefined) {
          return inputRequired({
            inputRequests: { sure: inputRequired.elicit({ message: 'Sure?', requestedSchema }) },
            requestState: 'kept',
          });
        }
        ran.push([amount, answer.sure, mcpReq.requestState()]);
        return { content: [{ type: 'text', text: 'transferred' }] };
      },
    );
    return server;
  };

/** A server without sessions that wants one answer. */
const askingServer = (request: JSONRPCRequest) => askingFor('sure', request);

function askingFor(key: string, { method, params }: JSONRPCRequest): object {
  const fresh = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  if (method === 'server/discover') return { ...fresh, supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
  if (method === 'tools/list') return { ...fresh, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] };
  if (method !== 'tools/call') return { code: -32601, message: 'no' };
  if (params?.['inputResponses'] !== undefined) return { ...fresh, content: [{ type: 'text', text: 'paid' }] };
  const sure = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema } };
  return { resultType: 'input_required', inputRequests: Object.fromEntries([[key, sure]]) };
}

const pinned = { versionNegotiation: { mode: { pin: '2026-07-28' } } } as const;
const forms = { capabilities: { elicitation: { form: {} } } };

describe('a server that asks in the middle of a call', () => {
  it.each([
    ['a stateless client', { ...pinned, ...forms }],
    ['a client of sessions', forms],
  ] as const)('gets the answer of %s, in one run', async (_, options) => {
    const { client, ran, countersign, asked } = await openVersionPlace(
      { gate: 'none' },
      options,
      'stateless',
      askingBank,
    );
    const shown: unknown[] = [];
    client.setRequestHandler('elicitation/create', ({ params }) => {
      shown.push(params.message);
      return { action: 'accept', content: { sure: true } };
    });
    expect(await client.callTool({ name: 'transfer', arguments: { amount: 5 } })).toMatchObject({
      content: [{ text: 'transferred' }],
    });
    expect(ran).toEqual([[5, true, 'kept']]);
    expect(shown).toEqual(['Sure?']);
    expect(countersign.callOf(asked[0]!.toolCallId).state).toBe('succeeded');
    expect(asked).toHaveLength(1);
  });

  it('gets an answer that the client gives in its first request, and asks again for one that is none', async () => {
    const capabilities = { elicitation: { form: {} } };
    const { ask, heard } = await openStatelessWire(askingServer, { gate: 'none' });
    const call = { name: 'pay', arguments: {} };
    const early = { inputResponses: { sure: { action: 'accept' }, other: {} } };
    expect(await ask('tools/call', { ...call, ...early }, capabilities)).toMatchObject({
      result: { content: [{ text: 'paid' }] },
    });
    expect(heard.at(-1)?.params).toMatchObject({ inputResponses: { sure: { action: 'accept' } } });
    expect(await ask('tools/call', { ...call, inputResponses: { sure: 5 } }, capabilities)).toMatchObject({
      result: { resultType: 'input_required', inputRequests: { sure: { method: 'elicitation/create' } } },
    });
  });

  it.each(['__proto__', 'constructor'])('gets no answer that the client has not given: the key %s', async (key) => {
    const { ask, heard } = await openStatelessWire((request) => askingFor(key, request), { gate: 'none' });
    const { result } = await ask('tools/call', { name: 'pay', arguments: {} }, { elicitation: { form: {} } });
    expect(result).toMatchObject({ resultType: 'input_required' });
    expect(heard.filter(({ params }) => params?.['inputResponses'] !== undefined)).toEqual([]);
  });

  it('does not run when the client cannot be asked', async () => {
    const { client, ran, countersign, asked } = await openVersionPlace(
      { gate: 'none' },
      pinned,
      'stateless',
      askingBank,
    );
    await expect(client.callTool({ name: 'transfer', arguments: { amount: 5 } })).rejects.toThrow();
    expect(ran).toEqual([]);
    expect(countersign.callOf(asked[0]!.toolCallId).state).toBe('failed');
  });
});

const question = {
  ...{ jsonrpc: '2.0' as const, id: 'q1', method: 'elicitation/create' },
  params: { mode: 'form', message: 'Sure?', requestedSchema },
};

/** A server of sessions whose tool waits for the answer to its question. */
async function openAsking() {
  let calling: JSONRPCRequest | undefined;
  const server = sessionServer([]);
  const wire = await openStatelessWire(
    (request) => {
      if (request.method !== 'tools/call') return server(request);
      calling = request;
      return undefined;
    },
    { gate: 'none' },
  );
  const call = (more: object = {}, args: object = { amount: 5 }) =>
    wire.ask('tools/call', { name: 'pay', arguments: args, ...more }, { elicitation: { form: {} } });
  const begun = async (): Promise<void> => {
    await until(() => calling !== undefined);
    await wire.send(question);
  };
  const end = () =>
    wire.send({
      jsonrpc: '2.0',
      id: calling?.id ?? 0,
      result: { content: [{ type: 'text', text: 'paid' }] },
    });
  return { ...wire, call, begun, end };
}

describe('a server of sessions that asks a stateless client', () => {
  it('gets the answer of the next round, and its tool runs once', async () => {
    const { call, begun, end, heard } = await openAsking();
    const [first] = await Promise.all([call(), begun()]);
    const { requestState } = first['result'] as { requestState: string };
    expect(first).toMatchObject({
      result: {
        resultType: 'input_required',
        inputRequests: { 'server-1': { method: 'elicitation/create', params: { message: 'Sure?' } } },
      },
    });
    const answer = { action: 'accept', content: { sure: true } };
    const second = call({ requestState, inputResponses: { 'server-1': answer } });
    await until(() => heard.some((message) => 'id' in message && message.id === 'q1'));
    expect(heard.at(-1)).toEqual({ jsonrpc: '2.0', id: 'q1', result: answer });
    await end();
    expect(await second).toMatchObject({ result: { resultType: 'complete', content: [{ text: 'paid' }] } });
    expect(heard.filter(({ method }) => method === 'tools/call')).toHaveLength(1);
  });

  it('is asked again for an answer that is missing', async () => {
    const { call, begun } = await openAsking();
    const [first] = await Promise.all([call(), begun()]);
    const { requestState } = first['result'] as { requestState: string };
    expect(await call({ requestState })).toMatchObject({
      result: { resultType: 'input_required', inputRequests: { 'server-1': {} } },
    });
  });

  it.each([
    ['with other arguments', { amount: 6 }, (state: string) => state],
    ['a second time', { amount: 5 }, (state: string) => state],
    ['that it invented', { amount: 5 }, () => 'round.1'],
  ])('gets nothing from a client that uses a state %s', async (name, args, changed) => {
    const { call, begun, heard } = await openAsking();
    const [first] = await Promise.all([call(), begun()]);
    const { requestState } = first['result'] as { requestState: string };
    if (name === 'a second time') await call({ requestState });
    const before = heard.length;
    expect(
      await call({ requestState: changed(requestState), inputResponses: { 'server-1': { action: 'accept' } } }, args),
    ).toMatchObject({
      error: { code: -32602 },
    });
    expect(heard).toHaveLength(before);
  });
});
