import { afterEach, describe, expect, it } from '@jest/globals';
import type { JSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import { createFakeCountersign } from '@countersign/worker-sdk/testing';
import { closeStatelessWires } from '../testing/stateless-wire.js';
import { openTaskPlace, tasks, type TaskPlaceOptions } from '../testing/task-place.js';
import { until } from '../testing/until.js';
import { objectOf } from '../wire.js';

afterEach(closeStatelessWires);

type Members = Readonly<Record<string, unknown>>;
const name = 'io.modelcontextprotocol/tasks';

/**
 * A gate before a stateless server that makes a task of each call of `pay`.
 *
 * @param created the members of the result that makes the task, where they are not those of the task.
 */
async function open(more: TaskPlaceOptions = {}, created: Members = {}) {
  const fresh = { resultType: 'complete', ttlMs: 0, cacheScope: 'private' };
  let task: Members = { taskId: 'of-server', status: 'working', pollIntervalMs: 50 };
  let refusal: object | undefined;
  const answers = ({ method, params }: JSONRPCRequest): object => {
    if (method === 'server/discover')
      return { ...fresh, supportedVersions: ['2026-07-28'], capabilities: { tools: {}, ...tasks } };
    if (method === 'tools/list') return { ...fresh, tools: [{ name: 'pay', inputSchema: { type: 'object' } }] };
    if (method === 'tasks/get') return refusal ?? { ...task, resultType: 'complete' };
    if (method.startsWith('tasks/')) return { resultType: 'complete' };
    if (method !== 'tools/call') return { code: -32601, message: 'no' };
    const { extensions } = objectOf(objectOf(params?._meta)['io.modelcontextprotocol/clientCapabilities']);
    if (name in objectOf(extensions)) return { ...task, ...created, resultType: 'task' };
    return { code: -32021, message: 'missing', data: { requiredCapabilities: tasks } };
  };
  const place = await openTaskPlace({ answers, ...more });
  const calls = () => place.heard.filter(({ method }) => method === 'tools/call');
  return {
    ...place,
    calls,
    tell: (state: Members): void => {
      task = { ...task, ...state };
    },
    refuse: (error: object): void => {
      refusal = error;
    },
    isCalled: () => until(() => calls().length > 0),
  };
}

const done = { status: 'completed', result: { content: [{ type: 'text', text: 'paid' }] } };

describe('a task of a stateless server', () => {
  it('runs after the approval, once, and its end is the end of the task of the gate', async () => {
    const { call, get, reaches, approve, calls, isCalled, tell, countersign, asked } = await open();
    const { taskId } = await call(5);
    expect(calls()).toEqual([]);
    approve();
    await isCalled();
    expect(await get(taskId)).toMatchObject({ taskId, status: 'working' });
    expect(countersign.callOf(asked[0]!.toolCallId).state).toBe('executing');
    tell(done);
    expect(await reaches(taskId, 'completed')).toMatchObject({ taskId, ...done });
    expect(countersign.callOf(asked[0]!.toolCallId)).toMatchObject({ state: 'succeeded', output: done.result });
    expect(calls()).toHaveLength(1);
  });

  it('is a task of the gate at once where no person is asked, with an id of the gate', async () => {
    const { call, ask, get, reaches, tell } = await open({ gate: 'none', holdMs: 60_000 });
    const { resultType, taskId } = await call(5);
    expect([resultType, taskId === 'of-server']).toEqual(['task', false]);
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await ask(method, { taskId: 'of-server', inputResponses: {} })).toMatchObject({ code: -32602 });
    expect(await get(taskId)).toMatchObject({ status: 'working' });
    tell({ status: 'failed', error: { code: -32000, message: 'no luck' } });
    expect(await reaches(taskId, 'failed')).toMatchObject({ error: { code: -32000, message: 'no luck' } });
  });

  it('asks the client once for each key, one answer at a time', async () => {
    const { ask, heard, reaches, get, tell } = await open({ gate: 'none' });
    const capabilities = { ...tasks, elicitation: { form: {} } };
    const { taskId } = await ask('tools/call', { name: 'pay', arguments: {} }, capabilities);
    const question = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } };
    tell({ status: 'input_required', inputRequests: { one: question, other: question } });
    expect((await reaches(taskId, 'input_required'))['inputRequests']).toEqual({ one: question, other: question });
    const answer = { action: 'accept', content: {} };
    await ask('tasks/update', { taskId, inputResponses: { one: answer } });
    const updates = () => heard.filter(({ method }) => method === 'tasks/update').map(({ params }) => params);
    await until(() => updates().length > 0);
    expect(updates()).toMatchObject([{ taskId: 'of-server', inputResponses: { one: answer } }]);
    expect((await get(taskId))['inputRequests']).toEqual({ other: question });
    tell(done);
    await reaches(taskId, 'completed');
  });

  it('is cancelled at the server with the task of the gate', async () => {
    const { call, ask, heard, reaches, tell } = await open({ gate: 'none' });
    const { taskId } = await call(5);
    await ask('tasks/cancel', { taskId });
    await until(() => heard.some(({ method }) => method === 'tasks/cancel'));
    expect(heard.find(({ method }) => method === 'tasks/cancel')?.params).toMatchObject({ taskId: 'of-server' });
    tell({ status: 'cancelled' });
    expect(await reaches(taskId, 'cancelled')).toMatchObject({ status: 'cancelled' });
    expect(heard.filter(({ method }) => method === 'notifications/cancelled')).toEqual([]);
  });

  it.each(['completed', 'failed', 'input_required'])(
    'that the server makes in the state %s has its end from the task: the result that makes it has none',
    async (status) => {
      const { call, reaches, tell, countersign, asked } = await open(
        { gate: 'none' },
        { status, result: undefined, pollIntervalMs: 60_000 },
      );
      tell(done);
      const reply = await call(5);
      const ended = reply['resultType'] === 'task' ? await reaches(reply['taskId'], 'completed') : { result: reply };
      expect(ended['result']).toMatchObject(done.result);
      expect(countersign.callOf(asked[0]!.toolCallId)).toMatchObject({ state: 'succeeded', output: done.result });
    },
  );

  it('has no end in what the server says about another task', async () => {
    const { call, get, heard, tell, reaches } = await open({ gate: 'none' });
    const { taskId } = await call(5);
    tell({ ...done, taskId: 'of-another-call' });
    const polls = () => heard.filter(({ method }) => method === 'tasks/get').length;
    const before = polls();
    await until(() => polls() > before + 2);
    expect(await get(taskId)).toMatchObject({ status: 'working' });
    tell({ taskId: 'of-server' });
    expect(await reaches(taskId, 'completed')).toMatchObject(done);
  });

  it('is not polled any more after the call has failed for a question that the client cannot answer', async () => {
    const { call, heard, reaches, tell } = await open({ gate: 'none' });
    const { taskId } = await call(5);
    const question = { method: 'elicitation/create', params: { message: 'Sure?', requestedSchema: {} } };
    tell({ status: 'input_required', inputRequests: { one: question } });
    await reaches(taskId, 'failed');
    await new Promise((resolve) => setTimeout(resolve, 60));
    const before = heard.length;
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(heard.slice(before).map(({ method }) => method)).toEqual([]);
  });

  it('that the server does not know any more has an unknown outcome, and does not run again', async () => {
    const { call, get, approve, calls, isCalled, refuse, reaches, countersign, asked } = await open();
    const { taskId } = await call(5);
    approve();
    await isCalled();
    refuse({ code: -32602, message: 'Task not found' });
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(await get(taskId)).toMatchObject({ status: 'working' });
    countersign.loseWorker(asked[0]!.toolCallId);
    expect(await reaches(taskId, 'completed')).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('outcome is not known') }] },
    });
    expect(calls()).toHaveLength(1);
  });

  it('keeps its claim while it runs', async () => {
    const countersign = createFakeCountersign();
    let renewals = 0;
    const fetch: typeof countersign.fetch = async (input, init) => {
      if (typeof input === 'string' && input.endsWith('/claim/renew')) renewals += 1;
      return countersign.fetch(input, init);
    };
    const { call, tell, reaches } = await open({ gate: 'none', leaseMs: 1_000, fetch });
    const { taskId } = await call(5);
    await until(() => renewals > 1);
    tell(done);
    await reaches(taskId, 'completed');
  });

  it('is not made for a client that takes none, which gets the error of the server', async () => {
    const { ask, calls } = await open({ gate: 'none' });
    const reply = await ask('tools/call', { name: 'pay', arguments: {} }, {});
    expect(reply).toMatchObject({ code: -32021, data: { requiredCapabilities: tasks } });
    expect(calls()).toHaveLength(1);
  });

  it('is followed to its end for an ungated tool', async () => {
    const { ask, tell } = await open({ ungated: { globs: ['pay'], readOnly: false } });
    tell(done);
    expect(await ask('tools/call', { name: 'pay', arguments: {} })).toMatchObject({
      ...{ resultType: 'complete', ...done.result },
    });
  });

  it.each([
    ['gated', []],
    ['ungated', ['pay']],
  ])('is followed to its end for a client of sessions, %s', async (_, globs) => {
    const { toGate, received, tell } = await open({ gate: 'none', ungated: { globs, readOnly: false } });
    tell(done);
    const replyTo = async (id: number, method: string, params: object): Promise<unknown> => {
      await toGate({ jsonrpc: '2.0', id, method, params: { ...params } });
      await until(() => received.some((message) => 'id' in message && message.id === id));
      return received.find((message) => 'id' in message && message.id === id);
    };
    const clientInfo = { name: 'spec', version: '1' };
    await replyTo(1, 'initialize', { protocolVersion: '2025-11-25', capabilities: {}, clientInfo });
    expect(await replyTo(2, 'tools/call', { name: 'pay', arguments: {} })).toMatchObject({ result: done.result });
  });
});
