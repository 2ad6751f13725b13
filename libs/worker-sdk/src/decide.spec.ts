import { afterEach, describe, expect, it } from '@jest/globals';
import type { JsonObject } from '@countersign/contracts';
import { z } from 'zod';
import { createClient } from './ledger/client.js';
import { createFakeCountersign, type FakeCountersign } from './testing.js';
import { gateTool } from './tools/gate-tool.js';
import type { ApprovalContext, Decide } from './tools/tool-definition.js';
import type { Worker } from './worker-options.js';
import { createWorker } from './worker.js';

type Place = { readonly city: string };

const inputSchema = z.strictObject({ city: z.string() });
const decide: Decide<Place> = ({ city }) => {
  if (city === 'New York') return { deny: 'no travel to New York' };
  return city === 'Boston' ? 'ask' : 'allow';
};

const ran: string[] = [];
const travel = gateTool({ name: 'travel', inputSchema, decide, execute: ({ city }) => ran.push(city) });
const form = gateTool({ name: 'form', inputSchema, decide, clientExecuted: true });

const workers: Worker[] = [];
const stops: AbortController[] = [];

function workerOf(countersign: FakeCountersign): Worker {
  const options = { url: 'http://fake.test', token: 't', agentId: 'a', random: () => 0, fetch: countersign.fetch };
  const worker = createWorker({ ...options, tools: [travel, form] });
  workers.push(worker);
  return worker;
}

afterEach(async () => {
  for (const stop of stops.splice(0)) stop.abort(new Error('the test is over'));
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
  ran.length = 0;
});

const callTo = (city: string, toolCallId = city, toolName = 'travel') => ({
  toolCallId,
  toolName,
  arguments: { city },
});
const step = (...toolCalls: readonly ReturnType<typeof callTo>[]) => ({ runId: 'r', toolCalls });

/** A process with the token of the agent, and without the code of the tool. */
async function requestElsewhere(countersign: FakeCountersign, ...calls: readonly ReturnType<typeof callTo>[]) {
  const client = createClient({ url: 'http://fake.test', token: 't', fetch: countersign.fetch });
  const { toolSchema } = travel;
  const withTool = calls.map((call) => ({
    ...call,
    toolSchema,
    clientExecuted: call.toolName === 'form',
    idempotent: false,
  }));
  return { client, views: await client.requestToolCalls({ runId: 'r', agentId: 'a', calls: withTool }) };
}

describe('`decide` of a tool', () => {
  const context: ApprovalContext = {
    ...{ runId: 'r', agentId: 'a', toolCallId: 'c', messages: [], batch: [] },
    context: undefined,
  };
  const judged = async (code: object, args: JsonObject = { city: 'Rome' }) => {
    const definition = { name: 't', inputSchema, execute: () => 'done', ...code } as Parameters<typeof gateTool>[0];
    const checked = await gateTool(definition).check(args);
    return checked.valid ? checked.judge(context) : checked;
  };

  it('allows, asks, or denies with a reason', async () => {
    expect(await judged({ decide })).toEqual({ needsApproval: false });
    expect(await judged({ decide }, { city: 'Boston' })).toEqual({ needsApproval: true });
    expect(await judged({ decide }, { city: 'New York' })).toEqual({
      needsApproval: false,
      deny: 'no travel to New York',
    });
  });

  it('counts together with `needsApproval`, and the stricter of both wins', async () => {
    expect(await judged({ decide: () => 'allow', needsApproval: true })).toEqual({ needsApproval: true });
    expect(await judged({ decide: () => 'ask', needsApproval: false })).toEqual({ needsApproval: true });
    expect(await judged({ decide: () => ({ deny: 'no' }), needsApproval: true })).toMatchObject({ deny: 'no' });
  });

  it('has a reason for each denial, of a length that the ledger takes', async () => {
    expect(await judged({ decide: () => ({ deny: ' ' }) })).toMatchObject({ deny: 'the code of t denies it' });
    const { deny = '' } = (await judged({ decide: () => ({ deny: 'x'.repeat(9000) }) })) as { deny?: string };
    expect(deny).toHaveLength(8002);
  });

  it.each([
    ['throws', () => Promise.reject(new Error('offline')), /`decide` of t failed \(offline\), so a person must agree/],
    ['returns true', () => true, /neither allow, nor ask, nor a denial/],
    ['returns nothing', () => undefined, /neither allow, nor ask, nor a denial/],
    ['denies without words', () => ({ deny: true }), /neither allow, nor ask, nor a denial/],
  ])('asks a person when it %s', async (_, broken, reason) => {
    expect(await judged({ decide: broken })).toEqual({
      needsApproval: true,
      reason: expect.stringMatching(reason) as unknown,
    });
  });

  it('is a function', () => {
    expect(() => gateTool({ name: 't', inputSchema, decide: 'ask' as never, execute: () => 'done' })).toThrow(
      'tool t: `decide` must be a function',
    );
  });
});

describe('a step with a call that the code denies', () => {
  it('records the denial, asks no person, runs the other calls, and tells the model the reason', async () => {
    const countersign = createFakeCountersign();
    const outcome = await workerOf(countersign).step(step(callTo('New York'), callTo('Rome')));
    const [denied, other] = outcome.results;
    expect(denied).toMatchObject({ status: 'blocked', reason: 'no travel to New York', decidedBy: [] });
    expect(denied?.message).toBe('The call was denied and did not run: no travel to New York');
    expect([outcome.stopReason, other?.status, ran]).toEqual([null, 'succeeded', ['Rome']]);
    expect(countersign.callOf('New York')).toMatchObject({ state: 'blocked', approval: null });
  });

  it('asks no person about an all-or-nothing step, and runs none of its calls', async () => {
    const countersign = createFakeCountersign();
    const calls = step(callTo('Boston'), callTo('New York'), callTo('Rome'));
    const outcome = await workerOf(countersign).step({ ...calls, batchMode: 'all-or-nothing' });
    expect(outcome.results.map(({ status }) => status)).toEqual(['blocked', 'blocked', 'blocked']);
    expect(countersign.callOf('Boston').approval).toBeNull();
    expect(outcome.results[0]?.reason).toBe('Another call of the same all-or-nothing step was denied in code');
    expect(ran).toEqual([]);
  });

  it('gives the same result in another process, and when the step is repeated', async () => {
    const countersign = createFakeCountersign();
    const { state, results } = await workerOf(countersign).step(step(callTo('New York')));
    expect((await workerOf(countersign).resume(state)).results).toEqual(results);
    expect((await workerOf(countersign).restore('r')).results).toEqual(results);
    expect((await workerOf(countersign).step(step(callTo('New York')))).results).toEqual(results);
  });

  it('ends a call that another process requested without asking the code', async () => {
    const countersign = createFakeCountersign();
    await requestElsewhere(countersign, callTo('New York'));
    const { results } = await workerOf(countersign).step(step(callTo('New York')));
    expect(results).toMatchObject([{ status: 'cancelled', reason: 'no travel to New York' }]);
    expect(ran).toEqual([]);
  });
});

describe('arguments that an approver put in place of others', () => {
  it('are denied in code like those of the model, and the call is cancelled', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    const { state } = await worker.step(step(callTo('Boston'), callTo('Boston', 'form', 'form')));
    for (const id of ['Boston', 'form']) countersign.edit(id, { city: 'New York' });
    const outcome = await worker.resume(state);
    expect(outcome.results).toMatchObject([
      { status: 'cancelled', reason: 'no travel to New York' },
      { status: 'cancelled', reason: 'no travel to New York' },
    ]);
    expect([outcome.clientCalls, ran]).toEqual([[], []]);
  });

  it('run as they were approved, also when the code changes what it judges', async () => {
    const countersign = createFakeCountersign();
    const changes: Decide<Place> = (place) => {
      Object.assign(place, { city: 'New York' });
      return 'ask';
    };
    const tool = gateTool({ name: 'travel', inputSchema, decide: changes, execute: ({ city }) => ran.push(city) });
    const options = { url: 'http://fake.test', token: 't', agentId: 'a', random: () => 0, fetch: countersign.fetch };
    const worker = createWorker({ ...options, tools: [tool] });
    workers.push(worker);
    const { state } = await worker.step(step(callTo('Boston')));
    expect(countersign.callOf('Boston').arguments).toEqual({ city: 'Boston' });
    countersign.edit('Boston', { city: 'Paris' });
    await worker.resume(state);
    expect(ran).toEqual(['Paris']);
  });

  it('fail after the claim where their batch has begun', async () => {
    const countersign = createFakeCountersign();
    const worker = workerOf(countersign);
    const batch = { ...step(callTo('Boston', 'a'), callTo('Boston', 'b')), batchMode: 'all-or-nothing' } as const;
    const { state } = await worker.ask(batch);
    countersign.edit('b', { city: 'New York' });
    countersign.approve('a');
    const client = createClient({ url: 'http://fake.test', token: 't', fetch: countersign.fetch });
    await client.claim(countersign.callOf('a').callId, { resolverId: 'elsewhere' });
    await worker.resume(state);
    const error = { code: 'denied-in-code', message: 'It did not run: no travel to New York' };
    expect(countersign.callOf('b')).toMatchObject({ state: 'failed', error });
    expect(ran).toEqual([]);
  });
});

describe('`decide` that never ends', () => {
  const never: Decide<Place> = () => new Promise(() => undefined);
  const hangs = gateTool({ name: 'travel', inputSchema, decide: never, execute: ({ city }) => ran.push(city) });
  const hangingForm = gateTool({ name: 'form', inputSchema, decide: never, clientExecuted: true });
  const hangingOf = (countersign: FakeCountersign) => {
    const options = { url: 'http://fake.test', token: 't', agentId: 'a', random: () => 0, fetch: countersign.fetch };
    const worker = createWorker({ ...options, tools: [hangs, hangingForm] });
    workers.push(worker);
    return worker;
  };

  it('lets a step end when it is aborted, and nothing is requested', async () => {
    const countersign = createFakeCountersign();
    const stop = new AbortController();
    const stepping = hangingOf(countersign).step(step(callTo('Rome')), { signal: stop.signal });
    stop.abort(new Error('the user left'));
    await expect(stepping).rejects.toThrow('the user left');
    expect(() => countersign.callOf('Rome')).toThrow();
  });

  it.each(['travel', 'form'])('lets a restored run with a call of %s end when it is aborted', async (toolName) => {
    const countersign = createFakeCountersign();
    await requestElsewhere(countersign, callTo('Rome', 'Rome', toolName));
    const stop = new AbortController();
    const restoring = hangingOf(countersign).restore('r', { signal: stop.signal });
    setTimeout(() => stop.abort(new Error('the user left')), 50);
    await expect(restoring).rejects.toThrow('the user left');
    expect(countersign.callOf('Rome').state).toBe('allowed');
  });

  it('lets a worker close, and its call is left to others', async () => {
    const countersign = createFakeCountersign();
    const { client, views } = await requestElsewhere(countersign, callTo('Rome'));
    for (const { callId } of views) await client.requestApproval(callId, {});
    countersign.approve('Rome');
    let judged = 0;
    const counts: Decide<Place> = (place, context) => {
      judged += 1;
      return never(place, context);
    };
    const tool = gateTool({ name: 'travel', inputSchema, decide: counts, execute: ({ city }) => ran.push(city) });
    const options = { url: 'http://fake.test', token: 't', agentId: 'a', random: () => 0, fetch: countersign.fetch };
    const worker = createWorker({ ...options, tools: [tool] });
    const stop = new AbortController();
    stops.push(stop);
    void worker.serve({ signal: stop.signal });
    while (judged === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await worker.close(0);
    expect([countersign.callOf('Rome').state, ran]).toEqual(['approved', []]);
  });
});

describe('a call that another process requested', () => {
  it('is judged by the code of the worker that serves, also when a person has approved it', async () => {
    const countersign = createFakeCountersign();
    const { client, views } = await requestElsewhere(countersign, callTo('New York'), callTo('Rome'));
    for (const { callId } of views) await client.requestApproval(callId, {});
    for (const id of ['New York', 'Rome']) countersign.approve(id);
    const stop = new AbortController();
    stops.push(stop);
    void workerOf(countersign).serve({ signal: stop.signal });
    const isOpen = () => ['New York', 'Rome'].some((id) => countersign.callOf(id).settledAt === null);
    while (isOpen()) await new Promise((resolve) => setTimeout(resolve, 2));
    const error = { code: 'cancelled', message: 'no travel to New York' };
    expect(countersign.callOf('New York')).toMatchObject({ state: 'cancelled', error });
    expect(ran).toEqual(['Rome']);
  });

  it('is judged when a run is restored, and the client gets none that is denied', async () => {
    const countersign = createFakeCountersign();
    const cities = ['New York', 'Boston', 'Rome'];
    const calls = cities.flatMap((city) => [callTo(city, city), callTo(city, `form ${city}`, 'form')]);
    await requestElsewhere(countersign, ...calls);
    const outcome = await workerOf(countersign).restore('r');
    expect(outcome.clientCalls.map(({ toolCallId }) => toolCallId)).toEqual(['form Rome']);
    expect(outcome.pendingApprovals.map(({ toolCallId }) => toolCallId)).toEqual(['Boston', 'form Boston']);
    const denied = outcome.results.filter(({ status }) => status === 'cancelled');
    expect(denied.map(({ toolCallId }) => toolCallId)).toEqual(['New York', 'form New York']);
    expect(ran).toEqual(['Rome']);
  });
});
