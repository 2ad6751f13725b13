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
  const countersign = createFakeCountersign();
  const asked: string[] = [];
  const seen = { runs: 0, ended: 0 };
  const paid = Promise.withResolvers<undefined>();
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as {
      calls?: { toolCallId: string }[];
    };
    asked.push(...calls.map(({ toolCallId }) => toolCallId));
    return countersign.fetch(input, init);
  };
  const openServer = (): Wire => {
    const [wire, ofServer] = InMemoryTransport.createLinkedPair();
    const server = new McpServer({ name: 'bank', version: '1' });
    server.registerTool('pay', {}, async () => {
      seen.runs += 1;
      await paid.promise;
      return { content: [{ type: 'text', text: 'paid' }] };
    });
    server.server.onclose = () => (seen.ended += 1);
    void server.connect(ofServer);
    return wire;
  };
  const { url } = await openHttpPlace({ fetch: record }, { openServer, idleMs, sessionsMax: 1 });
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
  const runs = async (): Promise<void> => {
    countersign.approve(asked[0]!);
    await until(() => seen.runs > 0);
  };
  return { post, runs, seen, pay: () => paid.resolve(undefined) };
}

it('a session without requests goes on while the tool of its task runs, and gives its place to no other', async () => {
  const { post, runs, seen, pay } = await open();
  const begin = {
    ...{ protocolVersion: '2025-11-25', capabilities: { tasks: {} } },
    clientInfo: { name: 'spec', version: '1' },
  };
  const { session } = await post('initialize', begin);
  const headers = { 'mcp-session-id': session };
  const { result } = await post('tools/call', { name: 'pay', arguments: {}, task: {} }, headers);
  await runs();
  expect((await post('initialize', begin)).status).toBe(503);
  await new Promise((resolve) => setTimeout(resolve, 3 * idleMs));
  const { taskId } = objectOf(result['task']);
  const asked = post('tasks/result', { taskId }, headers);
  pay();
  expect((await asked).result['content']).toEqual([{ type: 'text', text: 'paid' }]);
  await until(() => seen.ended === 1);
});

it('the connection of stateless clients without requests goes on while the tool of a task runs', async () => {
  const { post, runs, seen, pay } = await open();
  const ask = async (method: string, name: unknown, params: Members): Promise<Members> => {
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': String(name) };
    return (await post(method, { ...params, _meta: envelope(tasks) }, headers)).result;
  };
  const { taskId } = await ask('tools/call', 'pay', { name: 'pay', arguments: {} });
  await runs();
  await new Promise((resolve) => setTimeout(resolve, 3 * idleMs));
  let task = await ask('tasks/get', taskId, { taskId });
  expect(task['status']).toBe('working');
  pay();
  while (task['status'] === 'working') task = await ask('tasks/get', taskId, { taskId });
  expect(task).toMatchObject({ status: 'completed', result: { content: [{ text: 'paid' }] } });
  expect(seen.runs).toBe(1);
  await until(() => seen.ended === 1);
});
