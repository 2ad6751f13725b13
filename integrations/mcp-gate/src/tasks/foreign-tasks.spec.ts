import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { CallToolResultSchema, CreateTaskResultSchema } from '@modelcontextprotocol/sdk/types.js';
import type { GateOptions } from '../calls/gate-options.js';
import { closeGates, openPlace, textOf, type Place } from '../testing/place.js';

afterEach(closeGates);

async function begin({ client }: Place): Promise<string> {
  const params = { name: 'refund', arguments: { amount: 5 }, task: {} };
  return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task.taskId;
}
const resultOf = ({ client }: Place, taskId: string) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

const others: readonly (readonly [string, Partial<GateOptions>, string])[] = [
  ['before a server with another command or address', { endpoint: 'other' }, 'bank'],
  ['before a server with another name', {}, 'production'],
  ['for another agent', { agentId: 'other' }, 'bank'],
];

describe.each(others)('a gate with the same token and run %s', (_, more, serverName) => {
  const open = async () => {
    const countersign = createFakeCountersign();
    const owner = await openPlace({}, { tasks: {} }, countersign);
    const taskId = await begin(owner);
    const other = await openPlace({ continuesRun: true, ...more }, { tasks: {} }, countersign, serverName);
    const approve = (): void => countersign.approve(owner.asked[0]!.toolCallId);
    return { owner, other, taskId, approve };
  };

  it('does not know the task, and never runs it', async () => {
    const { owner, other, taskId, approve } = await open();
    const { tasks } = other.client.experimental;
    await expect(tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
    await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
    approve();
    await expect(resultOf(other, taskId)).rejects.toMatchObject({ code: -32602 });
    expect(textOf(await resultOf(owner, taskId))).toBe('refunded 5');
    await expect(resultOf(other, taskId)).rejects.toMatchObject({ code: -32602 });
    expect([owner.ran, other.ran]).toEqual([[5], []]);
  });

  it('does not list the task', async () => {
    const { owner, other, taskId } = await open();
    expect((await owner.client.experimental.tasks.listTasks()).tasks).toMatchObject([{ taskId }]);
    expect((await other.client.experimental.tasks.listTasks()).tasks).toEqual([]);
  });
});

it('a task that needed no approval survives the gate, at its own server alone', async () => {
  const countersign = createFakeCountersign();
  const before = await openPlace({ gate: 'none' }, { tasks: {} }, countersign);
  const taskId = await begin(before);
  await resultOf(before, taskId);
  await closeGates();
  const [same, other] = [
    await openPlace({ gate: 'none', runId: '2' }, { tasks: {} }, countersign),
    await openPlace({ gate: 'none', runId: '3', endpoint: 'other' }, { tasks: {} }, countersign),
  ];
  expect(textOf(await resultOf(same, taskId))).toBe('refunded 5');
  await expect(resultOf(other, taskId)).rejects.toMatchObject({ code: -32602 });
});
