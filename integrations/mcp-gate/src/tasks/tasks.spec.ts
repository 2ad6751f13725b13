import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import {
  CallToolResultSchema,
  CreateTaskResultSchema,
  TaskStatusNotificationSchema,
  type Task,
} from '@modelcontextprotocol/sdk/types.js';
import { closeGates, openPlace, textOf, type Place } from '../testing/place.js';

afterEach(closeGates);

const open = (more: Parameters<typeof openPlace>[0] = {}, countersign = createFakeCountersign()) =>
  openPlace(more, { tasks: {} }, countersign);

async function begin({ client }: Place, amount: unknown = 5): Promise<Task> {
  const params = { name: 'refund', arguments: { amount }, task: { ttl: 60_000 } };
  return (await client.request({ method: 'tools/call', params }, CreateTaskResultSchema)).task;
}
const getOf = ({ client }: Place, { taskId }: Task) => client.experimental.tasks.getTask(taskId);
const resultOf = ({ client }: Place, { taskId }: Task) =>
  client.experimental.tasks.getTaskResult(taskId, CallToolResultSchema);

describe('a task of the gate', () => {
  it('is offered to a client that declares the capability, for each tool that may need a person', async () => {
    const { client } = await open();
    const all = { list: {}, cancel: {}, requests: { tools: { call: {} } } };
    expect(client.getServerCapabilities()?.tasks).toEqual(all);
    const { tools } = await client.listTools();
    expect(tools.map(({ name, execution }) => [name, execution?.taskSupport])).toEqual([
      ['refund', 'optional'],
      ['balance', 'forbidden'],
    ]);
  });

  it.each([null, [], 'yes', 7])('is not made for a member `task` that is no object (%p)', async (task) => {
    const { client } = await open();
    const params = { name: 'refund', arguments: { amount: 5 }, task };
    expect(await client.request({ method: 'tools/call', params }, CallToolResultSchema)).toMatchObject({
      content: [{ text: expect.stringMatching(/^pending/) }],
    });
  });

  it('is not offered to other clients, whose member `task` is ignored', async () => {
    const place = await openPlace();
    expect(place.client.getServerCapabilities()).not.toHaveProperty('tasks');
    expect(await place.refund(5, { task: {} })).toMatchObject({
      content: [{ text: expect.stringMatching(/^pending/) }],
    });
  });

  it("does not begin while the resolver's token may not claim", async () => {
    const place = await open();
    place.countersign.setMayClaim(false);
    await expect(begin(place)).rejects.toThrow(/a resolver in COUNTERSIGN_RESOLVER_TOKEN/);
    expect(place.asked).toEqual([]);
  });

  it('works while people decide, and its result is that of the tool', async () => {
    const place = await open();
    const task = await begin(place);
    expect(task).toMatchObject({
      ...{ status: 'working', ttl: null, pollInterval: expect.any(Number) },
      statusMessage: expect.stringMatching(/^Approval apr_.* waits for a person.*\/approvals\/apr_/),
    });
    expect(await getOf(place, task)).toMatchObject({ status: 'working' });
    expect(place.ran).toEqual([]);
    const result = resultOf(place, task);
    place.countersign.approve(place.asked[0]!.toolCallId);
    const related = { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } };
    const refunded = { content: [{ type: 'text', text: 'refunded 5' }], _meta: { trace: 'x', ...related } };
    expect(await result).toEqual(refunded);
    expect(await resultOf(place, task)).toEqual(refunded);
    expect(await getOf(place, task)).toMatchObject({ status: 'completed' });
    expect(place.ran).toEqual([5]);
  });

  it('is another call each time, also with equal arguments', async () => {
    const place = await open();
    const [one, other] = [await begin(place), await begin(place)];
    expect(one.taskId).not.toBe(other.taskId);
    expect((await place.client.experimental.tasks.listTasks()).tasks.map(({ taskId }) => taskId)).toEqual(
      expect.arrayContaining([one.taskId, other.taskId]),
    );
    place.countersign.approve(place.asked[0]!.toolCallId);
    expect(textOf(await resultOf(place, one))).toBe('refunded 5');
    expect(await getOf(place, other)).toMatchObject({ status: 'working' });
  });

  const ends: readonly [string, string, RegExp, (countersign: Place['countersign'], id: string) => void][] = [
    ['denied', 'failed', /denied by me.*not today/, (ledger, id) => ledger.deny(id, { reason: 'not today' })],
    ['expired', 'failed', /no person answered in time/, (ledger, id) => ledger.expire(id)],
    ['of unknown outcome', 'failed', /outcome is not known/, (ledger, id) => ledger.loseWorker(id)],
    [
      'cancelled in the ledger',
      'cancelled',
      /changed our minds/,
      (ledger, id) => ledger.cancel(id, 'changed our minds'),
    ],
  ];
  it.each(ends)('whose call is %s has the status %s and says why', async (_, status, why, decide) => {
    const place = await open();
    const task = await begin(place);
    decide(place.countersign, place.asked[0]!.toolCallId);
    expect(await getOf(place, task)).toMatchObject({ status, statusMessage: expect.stringMatching(why) });
    const result = await resultOf(place, task);
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toMatch(why);
    expect(place.ran).toEqual([]);
  });

  it('whose tool fails has failed, and has its result as the server gave it', async () => {
    const place = await open({ gate: 'none' });
    const task = await begin(place, 13);
    expect(await resultOf(place, task)).toMatchObject({ isError: true, content: [{ type: 'text', text: 'no luck' }] });
    expect(await getOf(place, task)).toMatchObject({ status: 'failed', statusMessage: 'no luck' });
  });

  it('tells the client when its status changes', async () => {
    const place = await open();
    const completed = Promise.withResolvers<unknown>();
    place.client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => {
      if (params.status === 'completed') completed.resolve(params);
    });
    const { taskId } = await begin(place);
    place.countersign.approve(place.asked[0]!.toolCallId);
    expect(await completed.promise).toMatchObject({ taskId, ttl: null });
  });

  it('is cancelled in the ledger when the client cancels it', async () => {
    const place = await open();
    const task = await begin(place);
    expect(await place.client.experimental.tasks.cancelTask(task.taskId)).toMatchObject({ status: 'cancelled' });
    expect(place.countersign.callOf(place.asked[0]!.toolCallId).state).toBe('cancelled');
    await expect(place.client.experimental.tasks.cancelTask(task.taskId)).rejects.toMatchObject({ code: -32602 });
    expect(textOf(await resultOf(place, task))).toMatch(/cancelled before it ran/);
  });

  it('stays cancelled when the client cancels it while its tool runs, and the server is told to stop', async () => {
    const place = await open({ gate: 'none' });
    const [running, told] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()];
    place.server.registerTool('hang', {}, async ({ signal }) => {
      running.resolve(undefined);
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      told.resolve(undefined);
      return { content: [] };
    });
    const params = { name: 'hang', arguments: {}, task: {} };
    const { task } = await place.client.request({ method: 'tools/call', params }, CreateTaskResultSchema);
    await running.promise;
    expect(await place.client.experimental.tasks.cancelTask(task.taskId)).toMatchObject({ status: 'cancelled' });
    await told.promise;
    expect(textOf(await resultOf(place, task))).toMatch(/may or may not have taken effect/);
    expect(await getOf(place, task)).toMatchObject({ status: 'cancelled' });
  });

  it('has no status from the server, and the server never learns its id', async () => {
    const place = await open();
    const statuses: Task[] = [];
    const heard = Promise.withResolvers<undefined>();
    place.client.setNotificationHandler(TaskStatusNotificationSchema, ({ params }) => {
      statuses.push(params);
      if (params.taskId === 'of-the-server') heard.resolve(undefined);
    });
    const task = await begin(place);
    const toServer: unknown[] = [];
    place.server.server.fallbackNotificationHandler = async ({ params }) => void toServer.push(params?.['_meta']);
    const _meta = { 'io.modelcontextprotocol/related-task': { taskId: task.taskId } };
    await place.client.notification({ method: 'notifications/custom' as never, params: { _meta } });
    for (const taskId of [task.taskId, 'of-the-server']) {
      const params = { ...task, taskId, status: 'completed' as const };
      await place.server.server.notification({ method: 'notifications/tasks/status', params });
    }
    await heard.promise;
    expect(statuses.map(({ taskId }) => taskId)).toEqual(['of-the-server']);
    expect(toServer).toEqual([{ 'io.modelcontextprotocol/related-task': { taskId: '' } }]);
  });

  it('is refused with an error when the arguments are wrong or Countersign is away', async () => {
    const place = await open({ attempts: 1 });
    await expect(begin(place, 'much')).rejects.toMatchObject({
      code: -32602,
      message: expect.stringMatching(/amount/),
    });
    place.countersign.setAway(true);
    await expect(begin(place)).rejects.toMatchObject({
      code: -32603,
      message: expect.stringMatching(/Start Countersign/),
    });
    expect(place.ran).toEqual([]);
  });

  it('is refused when 64 of the connection are not finished, also when many begin at once', async () => {
    const place = await open();
    const begun = await Promise.allSettled(Array.from({ length: 66 }, () => begin(place)));
    const refused = begun.filter(({ status }) => status === 'rejected');
    expect(refused).toMatchObject(
      [1, 2].map(() => ({
        reason: { message: expect.stringMatching(/has 64 tasks .* Wait for one to finish, or cancel one/) },
      })),
    );
    await place.client.experimental.tasks.cancelTask((begun[0] as PromiseFulfilledResult<Task>).value.taskId);
    await resultOf(place, (begun[0] as PromiseFulfilledResult<Task>).value);
    expect(await begin(place)).toMatchObject({ status: 'working' });
  });

  it('survives the gate: a new one finds it by its id, and runs the tool after the approval', async () => {
    const countersign = createFakeCountersign();
    const before = await open({}, countersign);
    const task = await begin(before);
    await closeGates();
    const after = await open({ runId: 'another-run' }, countersign);
    expect(await getOf(after, task)).toMatchObject({ status: 'working' });
    expect((await after.client.experimental.tasks.listTasks()).tasks).toMatchObject([{ taskId: task.taskId }]);
    countersign.approve(before.asked[0]!.toolCallId);
    expect(textOf(await resultOf(after, task))).toBe('refunded 5');
    expect([before.ran, after.ran]).toEqual([[], [5]]);
  });

  it('is no task for a client that knows only the call, or for a gate with another token', async () => {
    const countersign = createFakeCountersign();
    const owner = await open({}, countersign);
    const task = await begin(owner);
    const { callId } = countersign.callOf(owner.asked[0]!.toolCallId);
    const other = await open({ runId: 'other', token: 'other' }, countersign);
    const guesses = [task.taskId, callId, `${callId}.`, `${callId}.${'A'.repeat(43)}`];
    for (const taskId of guesses) {
      for (const place of taskId === task.taskId ? [other] : [owner, other]) {
        const { tasks } = place.client.experimental;
        await expect(tasks.getTask(taskId)).rejects.toMatchObject({ code: -32602 });
        await expect(resultOf(place, { ...task, taskId })).rejects.toMatchObject({ code: -32602 });
        await expect(tasks.cancelTask(taskId)).rejects.toMatchObject({ code: -32602 });
      }
    }
    expect((await other.client.experimental.tasks.listTasks()).tasks).toEqual([]);
    expect(countersign.callOf(owner.asked[0]!.toolCallId).state).toBe('awaiting_approval');
  });

  it('has a new id in the list of a gate that continues the run with another token', async () => {
    const countersign = createFakeCountersign();
    const before = await open({}, countersign);
    const task = await begin(before);
    await closeGates();
    const after = await open({ token: 'another', continuesRun: true }, countersign);
    await expect(getOf(after, task)).rejects.toMatchObject({ code: -32602 });
    const [listed = task] = (await after.client.experimental.tasks.listTasks()).tasks;
    expect(await getOf(after, listed)).toMatchObject({ status: 'working' });
    countersign.approve(before.asked[0]!.toolCallId);
    expect(textOf(await resultOf(after, listed))).toBe('refunded 5');
  });

  it('does not end when the client stops waiting for its result', async () => {
    const place = await open();
    const task = await begin(place);
    const stop = new AbortController();
    const { tasks } = place.client.experimental;
    const stopped = tasks.getTaskResult(task.taskId, CallToolResultSchema, { signal: stop.signal });
    stop.abort('enough');
    await expect(stopped).rejects.toThrow(/enough/);
    place.countersign.approve(place.asked[0]!.toolCallId);
    expect(textOf(await resultOf(place, task))).toBe('refunded 5');
  });

  it('is not taken for a plain call with equal arguments after a restart', async () => {
    const countersign = createFakeCountersign();
    const before = await open({ continuesRun: true }, countersign);
    await begin(before);
    await closeGates();
    const after = await open({ continuesRun: true }, countersign);
    expect(textOf(await after.refund(5))).toMatch(/^pending/);
    expect(after.asked.at(-1)?.toolCallId).not.toBe(before.asked[0]!.toolCallId);
  });
});
