// The schema of a tool changes, by a deploy, between the request of a call and its repetition.
import type { JsonObject } from '@countersign/contracts';
import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from './gate-tool.js';
import type { Step } from '../state.js';
import { createFakeCountersign } from '../testing.js';
import type { GateTool, ToolGating } from './tool-definition.js';
import type { Worker } from '../worker-options.js';
import { createWorker } from '../worker.js';

const ran: unknown[] = [];
const workers: Worker[] = [];
const before: z.ZodObject = z.object({ a: z.number() });
const changes: [string, z.ZodObject][] = [
  ['a default is added', z.object({ a: z.number(), b: z.number().default(7) })],
  ['a required member is added', z.object({ a: z.number(), b: z.number() })],
  ['a type changes', z.object({ a: z.string() })],
];

afterEach(async () => {
  ran.length = 0;
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

const pay = (inputSchema: z.ZodObject, labels?: Readonly<Record<string, string>>): GateTool =>
  gateTool({
    ...{ name: 'pay', inputSchema, ...(labels && { labels }) },
    needsApproval: true,
    execute: (input) => {
      ran.push(input);
      return 'paid';
    },
  });
const stepOf = (args: JsonObject, more: Partial<Step> = {}): Step => ({
  runId: 'r',
  toolCalls: [{ toolCallId: '1', toolName: 'pay', arguments: args }],
  ...more,
});

function setUp() {
  const countersign = createFakeCountersign();
  const workerOf = (...tools: GateTool[]): Worker => {
    const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch: countersign.fetch });
    workers.push(worker);
    return worker;
  };
  return { countersign, workerOf };
}

type MailSettings = Pick<ToolGating<unknown>, 'labels' | 'decide'>;

const mail = (settings: MailSettings): GateTool =>
  gateTool({
    ...{ name: 'mail', inputSchema: before, needsApproval: true, ...settings },
    execute: (input) => {
      ran.push(input);
      return 'sent';
    },
  });

/** A call that was asked for with one schema, and the worker after the deploy of another. */
async function asked(after: z.ZodObject, args: JsonObject = { a: 1 }, schema = before, more: Partial<Step> = {}) {
  const { countersign, workerOf } = setUp();
  const first = workerOf(pay(schema));
  await first.step(stepOf(args, more));
  return { countersign, first, second: workerOf(pay(after)) };
}

describe.each(changes)('when %s', (_, after) => {
  it('a call that has run returns its result', async () => {
    const { countersign, first, second } = await asked(after);
    countersign.approve('1');
    await first.step(stepOf({ a: 1 }));
    expect((await second.step(stepOf({ a: 1 }))).results).toMatchObject([{ status: 'succeeded', output: 'paid' }]);
    expect((await second.call({ runId: 'r', ...stepOf({ a: 1 }).toolCalls[0]! })).result?.status).toBe('succeeded');
    expect(ran).toEqual([{ a: 1 }]);
  });

  it('a denial and a cancellation count', async () => {
    for (const end of ['denied', 'cancelled'] as const) {
      const { countersign, second } = await asked(after);
      if (end === 'denied') countersign.deny('1', { reason: 'no' });
      else countersign.cancel('1', 'no');
      expect((await second.step(stepOf({ a: 1 }))).results).toMatchObject([{ status: end, reason: 'no' }]);
    }
  });

  it('a call that waits for people waits on, and fails after its approval', async () => {
    const { countersign, second } = await asked(after);
    const { pendingApprovals, state } = await second.step(stepOf({ a: 1 }));
    expect(pendingApprovals).toMatchObject([{ toolCallId: '1', arguments: { a: 1 } }]);
    countersign.approve('1');
    const failed = [{ status: 'failed', error: { code: 'tool-schema-changed' } }];
    expect((await second.resume(state)).results).toMatchObject(failed);
    expect((await second.step(stepOf({ a: 1 }))).results).toMatchObject(failed);
    expect(ran).toEqual([]);
  });

  it('a call of an all-or-nothing batch waits on', async () => {
    const batch = { batchId: 'b', batchMode: 'all-or-nothing' } as const;
    const { second } = await asked(after, { a: 1 }, before, batch);
    expect((await second.step(stepOf({ a: 1 }, batch))).hasPendingApprovals).toBe(true);
  });

  it('a call with other arguments is not the recorded one', async () => {
    const { countersign, first, second } = await asked(after);
    countersign.approve('1');
    await first.step(stepOf({ a: 1 }));
    const other = await second.step(stepOf({ a: 2 })).catch((error: unknown) => error);
    const refusal = { code: 'tool-call-mismatch' };
    const invalid = { results: [{ callId: null, error: { code: 'invalid-arguments' } }] };
    expect(other).toMatchObject(other instanceof Error ? refusal : invalid);
  });
});

describe('a recorded call', () => {
  it('is found by the arguments of the model although the schema before has filled in a default', async () => {
    const withDefault = z.object({ a: z.number(), b: z.object({ c: z.number().default(7) }) });
    const { second } = await asked(before, { a: 1, b: {} }, withDefault);
    expect((await second.step(stepOf({ a: 1, b: {} }))).pendingApprovals).toMatchObject([
      { arguments: { a: 1, b: { c: 7 } } },
    ]);
    const strict = z.strictObject({ a: z.number(), b: z.strictObject({ c: z.number() }) });
    const { second: third } = await asked(strict, { a: 1, b: {} }, withDefault);
    expect((await third.step(stepOf({ a: 1, b: {} }))).hasPendingApprovals).toBe(true);
  });

  it('is found although a framework has removed what was null', async () => {
    const optional = z.object({ a: z.number().optional() });
    const { countersign, second } = await asked(optional, {}, optional);
    expect((await second.step(stepOf({ a: null }))).hasPendingApprovals).toBe(true);
    countersign.approve('1');
    expect((await second.step(stepOf({ a: null }))).results).toMatchObject([{ status: 'succeeded' }]);
    expect(ran).toEqual([{}]);
  });

  it('is found by `rawArguments` when a framework has filled in the default already', async () => {
    const { second } = await asked(z.object({ a: z.number(), b: z.number().default(7) }));
    const call = { runId: 'r', toolCallId: '1', toolName: 'pay', arguments: { a: 1, b: 7 } };
    await expect(second.call(call)).rejects.toMatchObject({ code: 'tool-call-mismatch' });
    expect((await second.call({ ...call, rawArguments: { a: 1 } })).approval).not.toBeNull();
  });

  it('is not that of another agent', async () => {
    const { countersign } = await asked(before);
    const tools = [pay(z.object({ a: z.string() }))];
    const other = createWorker({ url: 'http://fake.test', token: 't', agentId: 'b', tools, fetch: countersign.fetch });
    workers.push(other);
    expect((await other.step(stepOf({ a: 1 }))).results).toMatchObject([{ error: { code: 'invalid-arguments' } }]);
  });

  it('is not given to the client when the schema refuses its arguments now', async () => {
    const form = (inputSchema: z.ZodObject) =>
      gateTool({ name: 'pay', inputSchema, needsApproval: true, clientExecuted: true });
    const { countersign, workerOf } = setUp();
    await workerOf(form(before)).step(stepOf({ a: 1 }));
    countersign.approve('1');
    const outcome = await workerOf(form(z.object({ a: z.string() }))).step(stepOf({ a: 1 }));
    expect(outcome.clientCalls).toEqual([]);
    expect(outcome.results).toMatchObject([{ status: 'failed', error: { code: 'tool-schema-changed' } }]);
  });
});

describe('a call that was approved for one folder', () => {
  const inFolder = (schema: z.ZodObject, cwd: string) => pay(schema, { cwd });

  it.each([
    ['in a request with the same id', before, { requestId: 'once' }],
    ['with another schema too', z.object({ a: z.number(), b: z.number().default(7) }), {}],
  ])('is not the same in another one, %s', async (_, schema, more) => {
    const { countersign, workerOf } = setUp();
    await workerOf(inFolder(before, '/staging')).step(stepOf({ a: 1 }, more));
    countersign.approve('1');
    const elsewhere = workerOf(inFolder(schema, '/production'));
    await expect(elsewhere.step(stepOf({ a: 1 }, more))).rejects.toMatchObject({ code: 'tool-call-mismatch' });
    expect(ran).toEqual([]);
  });

  it('fails after its approval when the schema refuses its arguments now', async () => {
    const { countersign, workerOf } = setUp();
    await workerOf(inFolder(before, '/staging')).step(stepOf({ a: 1 }));
    countersign.approve('1');
    const later = workerOf(inFolder(z.object({ a: z.string() }), '/staging'));
    expect((await later.step(stepOf({ a: 1 }))).results).toMatchObject([{ error: { code: 'tool-schema-changed' } }]);
  });

  it('is the same when the request with its id comes again with another label that is no place', async () => {
    const { countersign, workerOf } = setUp();
    const again = stepOf({ a: 1 }, { requestId: 'once' });
    await workerOf(inFolder(before, '/staging')).step(again);
    countersign.approve('1');
    const later = workerOf(pay(before, { cwd: '/staging', team: 'ops' }));
    expect((await later.step(again)).results).toMatchObject([{ status: 'succeeded' }]);
  });
});

describe('a call beside another one whose tool has another schema now', () => {
  const both: Step = {
    runId: 'r',
    toolCalls: [
      { toolCallId: '1', toolName: 'pay', arguments: { a: 1 } },
      { toolCallId: '2', toolName: 'mail', arguments: { a: 2 } },
    ],
  };
  const after = z.object({ a: z.number(), b: z.number().default(7) });

  it('runs when nothing else of it has changed', async () => {
    const { countersign, workerOf } = setUp();
    await workerOf(pay(before), mail({})).step(both);
    countersign.approve('1');
    countersign.approve('2');
    const { results } = await workerOf(pay(after), mail({})).step(both);
    expect(results).toMatchObject([{ error: { code: 'tool-schema-changed' } }, { status: 'succeeded' }]);
  });

  it('does not run when it is for another folder', async () => {
    const { countersign, workerOf } = setUp();
    await workerOf(pay(before), mail({ labels: { cwd: '/staging' } })).step(both);
    countersign.approve('1');
    countersign.approve('2');
    const later = workerOf(pay(after), mail({ labels: { cwd: '/production' } }));
    await expect(later.step(both)).rejects.toMatchObject({ code: 'tool-call-mismatch' });
    expect(ran).toEqual([]);
  });

  it('does not run when the code denies it now', async () => {
    const { countersign, workerOf } = setUp();
    await workerOf(pay(before), mail({})).step(both);
    countersign.approve('1');
    countersign.approve('2');
    const { results } = await workerOf(pay(after), mail({ decide: () => ({ deny: 'not today' }) })).step(both);
    expect(results).toMatchObject([{ error: { code: 'tool-schema-changed' } }, { status: 'cancelled' }]);
    expect(ran).toEqual([]);
  });

  it.each<[string, MailSettings]>([
    ['is for another folder', { labels: { cwd: '/production' } }],
    ['is denied by the code', { decide: () => ({ deny: 'not today' }) }],
  ])('does not run in an all-or-nothing batch when it %s', async (_, changed) => {
    const { countersign, workerOf } = setUp();
    const batch: Step = { ...both, batchId: 'b', batchMode: 'all-or-nothing' };
    await workerOf(pay(before), mail({ labels: { cwd: '/staging' } })).step(batch);
    countersign.approve('1');
    countersign.approve('2');
    const later = workerOf(pay(after), mail({ labels: { cwd: '/staging' }, ...changed }));
    await expect(later.step(batch)).rejects.toMatchObject({ code: 'tool-call-mismatch' });
    expect(ran).toEqual([]);
  });
});
