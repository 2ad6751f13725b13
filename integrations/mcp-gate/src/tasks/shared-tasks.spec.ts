import { afterEach, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import { closeHttpPlaces, connectTo, openHttpPlace } from '../testing/http-place.js';
import { textOf } from '../testing/place.js';
import { until } from '../testing/until.js';
import type { Wire } from '../wire.js';

afterEach(closeHttpPlaces);

/** Two sessions of one gate. The tool of each server says which one runs it, and runs until it is told to stop. */
async function open() {
  const countersign = createFakeCountersign();
  const asked: string[] = [];
  let claims = 0;
  const record: typeof fetch = async (input, init) => {
    const { calls = [] } = (typeof init?.body === 'string' ? JSON.parse(init.body) : {}) as {
      calls?: { toolCallId: string }[];
    };
    asked.push(...calls.map(({ toolCallId }) => toolCallId));
    if (typeof input === 'string' && input.endsWith('/claim')) claims += 1;
    return countersign.fetch(input, init);
  };
  const events: string[] = [];
  let servers = 0;
  const openServer = (): Wire => {
    const number = String((servers += 1));
    const [wire, ofServer] = InMemoryTransport.createLinkedPair();
    const server = new McpServer({ name: 'bank', version: '1' });
    server.registerTool('pay', {}, async ({ signal }) => {
      events.push(`runs at ${number}`);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      events.push(`stops at ${number}`);
      return { content: [] };
    });
    server.registerTool('ping', {}, () => ({ content: [{ type: 'text', text: `pong of ${number}` }] }));
    void server.connect(ofServer);
    return wire;
  };
  const gate = await openHttpPlace({ fetch: record }, { openServer });
  const connect = async () => {
    const { client, transport } = await connectTo(gate, { tasks: {} });
    const begin = async (name: string) => {
      const params = { name, arguments: {}, task: {} };
      return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task.taskId;
    };
    const resultOf = async (taskId: string) =>
      textOf(await client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema));
    return { begin, resultOf, tasks: client.experimental.tasks, end: () => transport.terminateSession() };
  };
  const [owner, other] = [await connect(), await connect()];
  const approve = (): void => {
    countersign.approve(asked.at(-1) ?? '');
  };
  return { owner, other, approve, events, claims: () => claims };
}

it('a task that another session asks about runs at the server of its own session, which also stops it', async () => {
  const { owner, other, approve, events, claims } = await open();
  const taskId = await owner.begin('pay');
  expect(await other.tasks.getTask(taskId)).toMatchObject({ status: 'working' });
  const result = other.resultOf(taskId);
  const before = claims();
  approve();
  await until(() => events.length > 0);
  expect(await other.tasks.cancelTask(taskId)).toMatchObject({ status: 'cancelled' });
  expect(await result).toMatch(/was cancelled while its tool ran/);
  await until(() => events.length > 1);
  expect(events).toEqual(['runs at 1', 'stops at 1']);
  expect(claims() - before).toBe(1);
  expect(await owner.tasks.getTask(taskId)).toMatchObject({ status: 'cancelled' });
});

it('a task whose session has ended runs at the server of the session that asks about it', async () => {
  const { owner, other, approve } = await open();
  const taskId = await owner.begin('ping');
  await owner.end();
  expect(await other.tasks.getTask(taskId)).toMatchObject({ status: 'working' });
  approve();
  expect(await other.resultOf(taskId)).toBe('pong of 2');
});
