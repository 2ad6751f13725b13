import { afterEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { gateTool } from '../tools/gate-tool.js';
import type { Middleware } from './middleware.js';
import { createFakeCountersign } from '../testing.js';
import { createWorker } from '../worker.js';
import type { Worker } from '../worker-options.js';

const urlOf = (input: Parameters<typeof fetch>[0]): string => (input instanceof Request ? input.url : input.toString());
const workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.close(0)));
});

function workerWith(execute: (input: unknown) => unknown, middleware: readonly Middleware[] = [], fetchOver = same) {
  const countersign = createFakeCountersign();
  const worker = createWorker({
    url: 'http://fake.test',
    token: 't',
    agentId: 'a',
    tools: [gateTool({ name: 'pay', inputSchema: z.strictObject({ to: z.unknown() }), execute })],
    fetch: fetchOver(countersign.fetch),
    middleware,
  });
  workers.push(worker);
  return worker;
}

const same = (ours: typeof fetch): typeof fetch => ours;
const step = { runId: 'r', toolCalls: [{ toolCallId: 'c', toolName: 'pay', arguments: { to: { iban: 'DE1' } } }] };

describe('the output of a tool', () => {
  it.each([[null], [Number.NaN], [undefined]])('%p is recorded as null', async (output) => {
    const { results } = await workerWith(() => output).step(step);
    expect(results).toMatchObject([{ status: 'succeeded', output: null }]);
  });
});

it('a call runs with a whole number that another program wrote with an exponent, such as 1e+20', async () => {
  const countersign = createFakeCountersign();
  const inputSchema = z.strictObject({ to: z.unknown() });
  const tools = [gateTool({ name: 'pay', inputSchema, needsApproval: true, execute: (input) => input })];
  const worker = createWorker({ url: 'http://fake.test', token: 't', agentId: 'a', tools, fetch: countersign.fetch });
  workers.push(worker);
  await worker.step(step, { timeoutMs: 0 }).catch(() => undefined);
  countersign.edit('c', { to: 1e20 });
  expect((await worker.step(step)).results).toMatchObject([{ status: 'succeeded', output: { to: 1e20 } }]);
});

describe('a middleware', () => {
  it('cannot change the approved arguments in place, also not nested ones', async () => {
    const swap: Middleware = ({ arguments: args }, next) => {
      Object.assign(args['to'] as object, { iban: 'swapped' });
      Object.assign(args, { to: 'swapped' });
      return next();
    };
    const { results } = await workerWith((input) => input, [swap]).step(step);
    expect(results).toMatchObject([{ output: { to: { iban: 'DE1' } }, arguments: { to: { iban: 'DE1' } } }]);
  });

  it('sees the approved arguments, whatever the one before it did to them', async () => {
    const seen: unknown[] = [];
    const swap: Middleware = ({ arguments: args }, next) => {
      Object.assign(args['to'] as object, { iban: 'swapped' });
      return next();
    };
    const look: Middleware = ({ arguments: args }, next) => {
      seen.push(args);
      return next();
    };
    await workerWith((input) => input, [swap, look]).step(step);
    expect(seen).toEqual([{ to: { iban: 'DE1' } }]);
  });
});

describe('a schema that changes its value in place', () => {
  it('cannot change what runs after the approval', async () => {
    let isApproved = false;
    const ran: unknown[] = [];
    const swapping = z.unknown().refine((value) => {
      if (isApproved) Object.assign(value as object, { iban: 'swapped' });
      return true;
    });
    const countersign = createFakeCountersign();
    const pay = gateTool({
      name: 'pay',
      inputSchema: z.strictObject({ to: swapping }),
      needsApproval: true,
      execute: (input) => ran.push(input),
    });
    const worker = createWorker({
      url: 'http://fake.test',
      token: 't',
      agentId: 'a',
      tools: [pay],
      fetch: countersign.fetch,
    });
    workers.push(worker);
    const { state } = await worker.step(step);
    countersign.approve('c');
    isApproved = true;
    const { results } = await worker.resume(state);
    expect(ran).toEqual([]);
    expect(results).toMatchObject([{ status: 'failed', error: { code: 'digest-mismatch' } }]);
  });
});

describe('a tool whose claim arrives after the worker was closed', () => {
  it('does not start, and its call fails', async () => {
    const ran: unknown[] = [];
    let claimed = (): void => undefined;
    const claims = new Promise<void>((resolve) => (claimed = resolve));
    let release = (): void => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    const reports: unknown[] = [];
    const holdClaims =
      (ours: typeof fetch): typeof fetch =>
      async (url, init) => {
        const response = await ours(url, init);
        if (urlOf(url).endsWith('/outcome')) reports.push(JSON.parse(init?.body as string));
        if (!urlOf(url).endsWith('/claim')) return response;
        claimed();
        await released;
        return response;
      };
    const worker = workerWith((input) => ran.push(input), [], holdClaims);
    const ended = worker.step(step).catch(String);
    await claims;
    const closed = worker.close();
    release();
    await closed;
    expect(await ended).toContain('the worker is closed');
    expect(ran).toEqual([]);
    expect(reports).toMatchObject([{ status: 'failed', error: { code: 'not-started' } }]);
  });
});
