import { afterEach, describe, expect, it } from '@jest/globals';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { closeStatelessWires } from '../testing/stateless-wire.js';
import { refusable } from '../testing/refusable.js';
import { openTaskPlace as open, tasks } from '../testing/task-place.js';
import { until } from '../testing/until.js';

afterEach(closeStatelessWires);

const notFound = { code: -32602, message: 'Task not found' };

describe('a call of a stateless client that takes tasks', () => {
  it('is a task while people decide, and its result is that of the tool', async () => {
    const { ask, call, get, reaches, approve, ran } = await open();
    expect(await ask('server/discover', {})).toMatchObject({ capabilities: tasks });
    const created = await call(5);
    expect(created).toMatchObject({
      ...{ resultType: 'task', taskId: expect.any(String), status: 'working', ttlMs: null },
      ...{ pollIntervalMs: expect.any(Number), createdAt: expect.any(String), lastUpdatedAt: expect.any(String) },
      statusMessage: expect.stringMatching(/^Approval apr_.* waits for a person/),
    });
    const { taskId } = created;
    expect(await get(taskId)).toMatchObject({ resultType: 'complete', taskId, status: 'working' });
    expect(ran).toEqual([]);
    approve();
    const result = { content: [{ type: 'text', text: 'done' }] };
    expect(await reaches(taskId, 'completed')).toMatchObject({
      resultType: 'complete',
      taskId,
      status: 'completed',
      result,
    });
    expect(await get(taskId)).toMatchObject({ status: 'completed', result });
    expect(ran).toEqual([{ amount: 5 }]);
  });

  it('is no task where no person is asked, and where the client does not say in this request that it takes tasks', async () => {
    const { ask } = await open();
    expect(await ask('tools/call', { name: 'read', arguments: {} })).toMatchObject({
      ...{ resultType: 'complete', content: [{ text: 'done' }] },
    });
    const pending = await ask('tools/call', { name: 'pay', arguments: {} }, {});
    expect(pending).toMatchObject({ resultType: 'complete', content: [{ text: expect.stringMatching(/^pending/) }] });
  });

  it('is a task when its tool runs for more than a second, and runs on', async () => {
    const { call, held, send, reaches } = await open({ holds: true, gate: 'none' });
    const { taskId, statusMessage } = await call(5);
    expect(statusMessage).toBe('pay runs.');
    await send({ jsonrpc: '2.0', id: (await held()).id, result: { content: [], isError: true } });
    expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [], isError: true } });
  });

  it('is a task also when Countersign is away then: a call whose tool runs is never one that did not run', async () => {
    const countersign = createFakeCountersign();
    let isAway = false;
    const failing: typeof fetch = async (input, init) => {
      if (isAway) throw new TypeError('fetch failed');
      return countersign.fetch(input, init);
    };
    const { call, held, send, reaches } = await open({ countersign, fetch: failing, holds: true, gate: 'none' });
    const called = call(5);
    const { id } = await held();
    isAway = true;
    const { resultType, taskId, status } = await called;
    expect([resultType, status]).toEqual(['task', 'working']);
    isAway = false;
    await send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'paid' }] } });
    expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'paid' }] } });
  });

  it('has its result also when Countersign refuses the token for a moment while the tool runs', async () => {
    const { fetch, asked, countersign, refuse, accept } = refusable();
    const { call, held, send, reaches } = await open({ countersign, fetch, holds: true });
    const { taskId } = await call(5);
    await new Promise((resolve) => setTimeout(resolve, 50));
    countersign.approve(asked[0]!);
    const { id } = await held();
    await refuse();
    await new Promise((resolve) => setTimeout(resolve, 50));
    accept();
    await send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'paid' }] } });
    await until(() => countersign.callOf(asked[0]!).state !== 'executing');
    expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'paid' }] } });
    expect(countersign.callOf(asked[0]!).state).toBe('succeeded');
  });

  it('has failed when the server replies with an error of JSON-RPC', async () => {
    const { call, held, send, reaches, approve } = await open({ holds: true });
    const { taskId } = await call(5);
    approve();
    await send({ jsonrpc: '2.0', id: (await held()).id, error: { code: -32000, message: 'no luck' } });
    const failed = await reaches(taskId, 'failed');
    expect(failed).toMatchObject({ error: { code: -32000, message: 'no luck' }, statusMessage: 'no luck' });
    expect(failed).not.toHaveProperty('result');
  });

  it('says in its result which arguments ran after an edit', async () => {
    const { call, reaches, countersign, asked, ran } = await open();
    const { taskId } = await call(5);
    countersign.edit(asked[0]!.toolCallId, { amount: 3 });
    const { result } = await reaches(taskId, 'completed');
    expect(result).toMatchObject({ _meta: { 'countersign/call': { edited: true, arguments: { amount: 3 } } } });
    expect(ran).toEqual([{ amount: 3 }]);
  });

  it('is the same task when it is made again, until the task has ended', async () => {
    const { call, reaches, approve, asked, ran } = await open();
    const { taskId } = await call(5);
    expect(await call(5)).toMatchObject({ resultType: 'task', taskId });
    expect((await call(6))['taskId']).not.toBe(taskId);
    approve();
    await reaches(taskId, 'completed');
    const { taskId: next } = await call(5);
    expect([next === taskId, new Set(asked.map(({ toolCallId }) => toolCallId)).size]).toEqual([false, 3]);
    expect(ran).toEqual([{ amount: 5 }]);
  });

  it.each([
    ['denied', (ledger: FakeCountersign, id: string) => ledger.deny(id, { reason: 'not today' }), /not today/],
    ['expired', (ledger: FakeCountersign, id: string) => ledger.expire(id), /no person answered in time/],
    ['of unknown outcome', (ledger: FakeCountersign, id: string) => ledger.loseWorker(id), /outcome is not known/],
  ])('that is %s is a completed task whose result says so', async (_, decide, text) => {
    const { call, reaches, countersign, asked, ran } = await open();
    const { taskId } = await call(5);
    decide(countersign, asked[0]!.toolCallId);
    expect(await reaches(taskId, 'completed')).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringMatching(text) }] },
    });
    expect(ran).toEqual([]);
  });
});

describe('the end of a task', () => {
  it('is a result as of the call itself: a client reads its type and its content', async () => {
    const answers = ({ method }: { readonly method: string }) =>
      method === 'tools/call' ? { isError: true } : undefined;
    const { call, reaches, approve } = await open({ answers });
    const { taskId } = await call(5);
    approve();
    const { result } = await reaches(taskId, 'completed');
    expect(result).toEqual({ resultType: 'complete', isError: true, content: [], _meta: {} });
  });

  it('has no code of an error that only the gate gives', async () => {
    const answers = ({ method }: { readonly method: string }) =>
      method === 'tools/call' ? { code: -32022, message: 'Unsupported protocol version' } : undefined;
    const { call, reaches, approve } = await open({ answers });
    const { taskId } = await call(5);
    approve();
    expect(await reaches(taskId, 'failed')).toMatchObject({
      error: { code: -32603, message: 'The MCP server replied with the error -32022: Unsupported protocol version' },
    });
  });
});

describe('a request about a task', () => {
  it.each(['tasks/get', 'tasks/update', 'tasks/cancel'])(
    '%s finds only tasks of this token, agent and server',
    async (method) => {
      const countersign = createFakeCountersign();
      const place = await open({ countersign });
      const { taskId } = await place.call(5);
      const { callId } = countersign.callOf(place.asked[0]!.toolCallId);
      const about = (id: unknown) => ({ taskId: id, inputResponses: {} });
      const forged = String(taskId).replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'));
      // The same bytes in another spelling of base64url.
      const respelled = String(taskId).replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1));
      for (const id of [callId, forged, respelled, 'nonsense'])
        expect(await place.ask(method, about(id))).toEqual(notFound);
      for (const other of [{ token: 'other' }, { agentId: 'other' }, { endpoint: 'other' }]) {
        const gate = await open({ countersign, ...other });
        expect(await gate.ask(method, about(taskId))).toEqual(notFound);
      }
      expect(countersign.callOf(place.asked[0]!.toolCallId).state).toBe('awaiting_approval');
    },
  );

  it('is refused without the extension, and says which one is missing', async () => {
    const { call, ask } = await open();
    const { taskId } = await call(5);
    const missing = { code: -32021, data: { requiredCapabilities: tasks } };
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect(await ask(method, { taskId, inputResponses: {} }, {})).toMatchObject(missing);
    expect(await ask('subscriptions/listen', { notifications: { taskIds: [taskId] } }, {})).toMatchObject(missing);
  });

  it.each(['tasks/result', 'tasks/list'])('%s is no method of the extension', async (method) => {
    const { ask } = await open();
    expect(await ask(method, { taskId: 'x' })).toMatchObject({ code: -32601 });
  });

  it('cancels a task that waits, so that its tool never runs', async () => {
    const { call, ask, reaches, countersign, asked, ran } = await open();
    const { taskId } = await call(5);
    const acknowledged = await ask('tasks/cancel', { taskId });
    expect(acknowledged).toEqual({ resultType: 'complete', _meta: expect.anything() });
    expect(await reaches(taskId, 'cancelled')).not.toHaveProperty('result');
    expect(() => {
      countersign.approve(asked[0]!.toolCallId);
    }).toThrow();
    expect(await ask('tasks/cancel', { taskId })).toEqual(acknowledged);
    expect(ran).toEqual([]);
  });

  it('tells the server of a tool that runs to stop', async () => {
    const { call, ask, held, heard, send, get, reaches, approve } = await open({ holds: true });
    const { taskId } = await call(5);
    approve();
    const { id } = await held();
    await ask('tasks/cancel', { taskId });
    await until(() => heard.some(({ method }) => method === 'notifications/cancelled'));
    expect(await get(taskId)).toMatchObject({ status: 'working' });
    await send({ jsonrpc: '2.0', id, error: { code: -32000, message: 'stopped' } });
    expect(await reaches(taskId, 'cancelled')).toMatchObject({
      statusMessage: expect.stringContaining('while its tool ran'),
    });
  });

  it('has the result of a tool that did not stop', async () => {
    const { call, ask, held, send, reaches, approve } = await open({ holds: true });
    const { taskId } = await call(5);
    approve();
    const { id } = await held();
    await ask('tasks/cancel', { taskId });
    await send({ jsonrpc: '2.0', id, result: { content: [{ type: 'text', text: 'paid' }] } });
    expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'paid' }] } });
  });

  it('runs the tool of a task of an earlier gate once, also when two gates are asked about it', async () => {
    const countersign = createFakeCountersign();
    const first = await open({ countersign });
    const { taskId } = await first.call(5);
    await closeStatelessWires();
    const gates = [await open({ countersign, runId: 'b' }), await open({ countersign, runId: 'c' })];
    for (const { get } of gates) expect(await get(taskId)).toMatchObject({ status: 'working' });
    countersign.approve(first.asked[0]!.toolCallId);
    for (const { reaches } of gates)
      expect(await reaches(taskId, 'completed')).toMatchObject({ result: { content: [{ text: 'done' }] } });
    expect(gates.flatMap(({ ran }) => ran)).toEqual([{ amount: 5 }]);
    expect(first.ran).toEqual([]);
  });
});

describe('a question of the server about a task', () => {
  const forms = { ...tasks, elicitation: { form: {} } };
  const question = { method: 'elicitation/create', params: { mode: 'form', message: 'Sure?', requestedSchema: {} } };

  it('is shown with the task, and gets the answer of tasks/update', async () => {
    const { ask, held, send, heard, reaches, approve } = await open({ holds: true });
    const { taskId } = await ask('tools/call', { name: 'pay', arguments: {} }, forms);
    approve();
    const { id } = await held();
    await send({ jsonrpc: '2.0', id: 'q', ...question });
    const { inputRequests } = await reaches(taskId, 'input_required');
    expect(inputRequests).toEqual({ 'server-1': question });
    const answers = { other: { action: 'decline' }, 'server-1': { action: 'accept', content: { sure: true } } };
    await ask('tasks/update', { taskId, inputResponses: answers });
    expect(await reaches(taskId, 'working')).not.toHaveProperty('inputRequests');
    expect(heard.at(-1)).toMatchObject({ id: 'q', result: { action: 'accept', content: { sure: true } } });
    await send({ jsonrpc: '2.0', id: 'q2', ...question });
    expect((await reaches(taskId, 'input_required'))['inputRequests']).toEqual({ 'server-2': question });
    await send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'q2' } });
    await reaches(taskId, 'working');
    await send({ jsonrpc: '2.0', id, result: { content: [] } });
    await reaches(taskId, 'completed');
  });

  it('that its client cannot answer is refused', async () => {
    const { call, held, send, heard, approve } = await open({ holds: true });
    await call(5);
    approve();
    await held();
    await send({ jsonrpc: '2.0', id: 'q', ...question });
    await until(() => heard.some((message) => message.id === 'q'));
    expect(heard.at(-1)).toMatchObject({ id: 'q', error: { code: -32601 } });
  });
});
