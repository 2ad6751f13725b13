import { afterEach, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { closeHttpPlaces, openHttpPlace } from '../testing/http-place.js';
import { envelope } from '../testing/stateless-wire.js';
import { tasks } from '../testing/task-place.js';
import { until } from '../testing/until.js';
import { objectOf, type Wire } from '../wire.js';

afterEach(closeHttpPlaces);

type Members = Readonly<Record<string, unknown>>;
const idleMs = 1000;

/** A gate whose tool runs until the test ends it. */
async function open() {
  const { fetch: ledger } = createFakeCountersign();
  const seen = { runs: 0, ended: 0, endedMs: 0 };
  const paid = Promise.withResolvers<undefined>();
  const openServer = (): Wire => {
    const [wire, ofServer] = InMemoryTransport.createLinkedPair();
    const server = new McpServer({ name: 'bank', version: '1' });
    server.registerTool('pay', {}, async () => {
      seen.runs += 1;
      await paid.promise;
      return { content: [{ type: 'text', text: 'paid' }] };
    });
    server.server.onclose = () => {
      seen.ended += 1;
      seen.endedMs = performance.now();
    };
    void server.connect(ofServer);
    return wire;
  };
  const { url } = await openHttpPlace({ fetch: ledger, gate: 'none' }, { openServer, idleMs, sessionsMax: 1 });
  let id = 0;
  const post = async (method: string, params: Members, headers: Readonly<Record<string, string>> = {}) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: (id += 1), method, params }),
    });
    const text = await response.text();
    const { result } = JSON.parse(/\{.*\}/.exec(text)?.[0] ?? '{}') as { readonly result?: unknown };
    return { status: response.status, result: objectOf(result), session: response.headers.get('mcp-session-id') ?? '' };
  };
  /** The time of a connection without a request goes by while the tool runs. Then the tool ends, and the connection. */
  const end = async (): Promise<void> => {
    await until(() => seen.runs > 0);
    await new Promise((resolve) => setTimeout(resolve, 1.5 * idleMs));
    expect(seen.ended).toBe(0);
    const paidMs = performance.now();
    paid.resolve(undefined);
    await until(() => seen.ended === 1);
    expect(seen.endedMs - paidMs).toBeGreaterThanOrEqual(idleMs - 1);
  };
  return { post, end, seen };
}

it('a session without requests goes on while the tool of its task runs, and for its idle time after it', async () => {
  const { post, end, seen } = await open();
  const begin = {
    ...{ protocolVersion: '2025-11-25', capabilities: { tasks: {} } },
    clientInfo: { name: 'spec', version: '1' },
  };
  const headers = { 'mcp-session-id': (await post('initialize', begin)).session };
  const { result } = await post('tools/call', { name: 'pay', arguments: {}, task: {} }, headers);
  await until(() => seen.runs > 0);
  expect((await post('initialize', begin)).status).toBe(503);
  await end();
  const later = { 'mcp-session-id': (await post('initialize', begin)).session };
  const { taskId } = objectOf(result['task']);
  expect((await post('tasks/result', { taskId }, later)).result['content']).toEqual([{ type: 'text', text: 'paid' }]);
  expect(seen.runs).toBe(1);
});

it('the connection of stateless clients without requests goes on while the tool of a task runs, and for its idle time', async () => {
  const { post, end, seen } = await open();
  const ask = async (method: string, name: unknown, params: Members): Promise<Members> => {
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String(name) };
    return (await post(method, { ...params, _meta: envelope(tasks) }, headers)).result;
  };
  const { taskId } = await ask('tools/call', 'pay', { name: 'pay', arguments: {} });
  await end();
  expect(await ask('tasks/get', taskId, { taskId })).toMatchObject({
    ...{ status: 'completed', result: { content: [{ text: 'paid' }] } },
  });
  expect(seen.runs).toBe(1);
});
