import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  isJSONRPCRequest,
  type Task,
} from '@modelcontextprotocol/sdk/types.js';
import { closeGates, openPlace, textOf, type Place } from '../testing/place.js';

afterEach(closeGates);

const open = (more: Parameters<typeof openPlace>[0] = {}, countersign = createFakeCountersign()) =>
  openPlace(more, { tasks: {} }, countersign);

async function begin({ client }: Place, name: string, args: object = {}): Promise<Task> {
  const params = { name, arguments: args, task: {} };
  return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task;
}
const getOf = ({ client }: Place, { taskId }: Task) => client.experimental.tasks.getTask(taskId);
const resultOf = ({ client }: Place, { taskId }: Task) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

/** A tool that runs until it is let go. */
function addSlowTool({ server }: Place) {
  const [running, letGo] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
  server.registerTool('slow', {}, async () => {
    running.resolve(undefined);
    await letGo.promise;
    return { content: [{ type: 'text', text: 'done' }] };
  });
  return { running: running.promise, letGo: () => letGo.resolve(undefined) };
}

describe('the cancellation of a task whose tool runs at another gate', () => {
  it('is refused, because this gate cannot tell the server to stop', async () => {
    const countersign = createFakeCountersign();
    const owner = await open({ gate: 'none' }, countersign);
    const { running, letGo } = addSlowTool(owner);
    const task = await begin(owner, 'slow');
    await running;
    const other = await open({ gate: 'none', runId: 'another-run' }, countersign);
    expect(await getOf(other, task)).toMatchObject({ status: 'working' });
    await expect(other.client.experimental.tasks.cancelTask(task.taskId)).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/runs at another gate/),
    });
    letGo();
    expect(textOf(await resultOf(owner, task))).toBe('done');
    expect(await getOf(other, task)).toMatchObject({ status: 'completed' });
    expect(textOf(await resultOf(other, task))).toBe('done');
  });
});

/** Answers in place of the server: its tool is a task, and it never says how the task is. */
function makeSilent({ server }: Place) {
  const { transport } = server.server;
  if (transport === undefined) throw new Error('the server is not connected');
  const { onmessage } = transport;
  const asked: string[] = [];
  const now = new Date().toISOString();
  const times = { ttl: null, createdAt: now, lastUpdatedAt: now };
  const results: Readonly<Record<string, Record<string, unknown>>> = {
    'tools/list': {
      tools: [{ name: 'research', inputSchema: { type: 'object' }, execution: { taskSupport: 'required' } }],
    },
    'tools/call': { task: { taskId: 'of-the-server', status: 'working', ...times } },
  };
  const running = Promise.withResolvers<undefined>();
  transport.onmessage = (message, extra) => {
    if (!isJSONRPCRequest(message)) return onmessage?.(message, extra);
    const { id, method } = message;
    asked.push(method);
    if (method === 'tasks/result') running.resolve(undefined);
    const result = results[method];
    if (result !== undefined) void transport.send({ jsonrpc: '2.0', id, result });
  };
  return { asked, running: running.promise };
}

it('a server that never says how its task is keeps no client waiting, and is not asked twice at once', async () => {
  const place = await open({ gate: 'none' });
  const { asked, running } = makeSilent(place);
  const task = await begin(place, 'research');
  await running;
  expect(await getOf(place, task)).toMatchObject({ status: 'working' });
  expect(await getOf(place, task)).toMatchObject({ status: 'working' });
  expect(asked.filter((method) => method === 'tasks/get')).toHaveLength(1);
});
