import { describe, expect, it, jest } from '@jest/globals';
import { actionDigest, type ClaimView, type JsonObject, type ToolCallView } from '@countersign/contracts';
import { z } from 'zod';
import type { Client } from '../ledger/client.js';
import { systemClock } from '@countersign/contracts/clock';
import { CountersignError } from '../errors.js';
import type { ExecutionPorts } from './execution-ports.js';
import { executeCall } from './execution.js';
import { gateTool } from '../tools/gate-tool.js';
import type { ExecutionContext, GateTool } from '../tools/tool-definition.js';
import { silentLog } from '../log.js';
import type { Middleware } from './middleware.js';

const refusal = (code: string, status = 409): CountersignError => new CountersignError({ code, status, message: code });

interface Setup {
  readonly execute?: (input: { readonly path: string }, context: ExecutionContext) => unknown;
  readonly claim?: (claim: ClaimView) => ClaimView;
  readonly client?: Partial<Client>;
  readonly call?: Partial<ToolCallView>;
  readonly argumentsHash?: string;
  readonly leaseMs?: number;
  readonly toolTimeoutMs?: number;
  readonly tool?: GateTool;
  readonly middleware?: readonly Middleware[];
  readonly ask?: ExecutionPorts['ask'];
}

function setUp(setup: Setup = {}) {
  const args: JsonObject = { path: '/x' };
  const ordinary = gateTool({
    name: 'delete_file',
    inputSchema: z.strictObject({ path: z.string().startsWith('/') }),
    execute: setup.execute ?? (({ path }) => ({ deleted: path })),
  });
  const tool = setup.tool ?? ordinary;
  const who = { agentId: 'a', runId: 'r', toolCallId: 'c' };
  const input = { tenant: 't', ...who, toolName: tool.name, toolSchemaHash: tool.toolSchemaHash, salt: 'ab' };
  const digest = actionDigest(input, args);
  const call = { callId: 'tc_1', ...who, toolName: tool.name, actionDigest: digest, approval: null, ...setup.call };
  const claimed = {
    attempt: 2,
    arguments: args,
    actionDigest: digest,
    digestInput: input,
    idempotencyKey: 'k',
    leaseUntil: '2030-01-01T00:00:00.000Z',
  };
  const reports: unknown[] = [];
  const claims: unknown[] = [];
  const client = {
    claim: async (...given: readonly unknown[]) => {
      claims.push(given);
      return setup.claim?.(claimed) ?? claimed;
    },
    renew: async () => null,
    reportOutcome: async (_: string, body: unknown) => {
      reports.push(body);
      return null;
    },
    ...setup.client,
  } as Client;
  const stopping = new AbortController();
  const stopped = new AbortController();
  const ports: ExecutionPorts = {
    requester: client,
    resolver: client,
    requests: {
      approval: () => Promise.reject(new Error('this test asks no person before a claim')),
      cancel: () => Promise.reject(new Error('this test cancels no call')),
    },
    clock: systemClock,
    log: silentLog,
    resolverId: 'w',
    leaseMs: setup.leaseMs ?? 60_000,
    toolTimeoutMs: setup.toolTimeoutMs ?? 600_000,
    middleware: setup.middleware ?? [],
    ask: setup.ask ?? (() => Promise.reject(new Error('this test asks no person'))),
    stopping: stopping.signal,
    stopped: stopped.signal,
  };
  const argumentsHash = setup.argumentsHash ?? null;
  const execute = () => executeCall(ports, { call: call as unknown as ToolCallView, tool, argumentsHash });
  return { execute, reports, claims, stopping, stopped, digestInput: input };
}

const pathSchema = z.strictObject({ path: z.string() });

describe('an execution', () => {
  it('claims, runs once, and reports under the attempt of the claim', async () => {
    const seen: ExecutionContext[] = [];
    const { execute, reports, claims } = setUp({ execute: (_, context) => void seen.push(context) });
    expect(await execute()).toBe('ran');
    expect(seen).toMatchObject([{ callId: 'tc_1', runId: 'r', attempt: 2, idempotencyKey: 'k', approval: null }]);
    expect(reports).toEqual([{ attempt: 2, status: 'succeeded', output: null }]);
    expect(claims).toMatchObject([['tc_1', { resolverId: 'w', leaseMs: 60_000 }, { attempts: Infinity }]]);
  });

  it('never claims twice under the same key: a second execution would get the claim of the first', async () => {
    const { execute, claims } = setUp();
    await execute();
    await execute();
    const keys = claims.map((given) => (given as [string, object, { idempotencyKey: string }])[2].idempotencyKey);
    expect(new Set(keys).size).toBe(2);
  });

  it.each(['already-claimed', 'already-settled', 'not-approved', 'approval-lapsed'])(
    'leaves a call that is %s',
    async (code) => {
      const execute = jest.fn();
      const setup = setUp({ execute, client: { claim: () => Promise.reject(refusal(code)) } });
      expect(await setup.execute()).toBe('not-claimable');
      expect(execute).not.toHaveBeenCalled();
    },
  );

  it('waits for its batch, and does not hide what is wrong with the worker itself', async () => {
    const claimRefused = (code: string) => setUp({ client: { claim: () => Promise.reject(refusal(code)) } }).execute();
    expect(await claimRefused('batch-incomplete')).toBe('batch-incomplete');
    await expect(claimRefused('forbidden')).rejects.toMatchObject({ code: 'forbidden' });
  });

  it.each<[string, Setup, string]>([
    [
      'arguments that were swapped',
      { claim: (claim) => ({ ...claim, arguments: { path: '/etc' } }) },
      'digest-mismatch',
    ],
    [
      'another call, whose digest is right in itself',
      {
        claim: (claim) => {
          const digestInput = { ...claim.digestInput, toolCallId: 'other' };
          return { ...claim, digestInput, actionDigest: actionDigest(digestInput, claim.arguments) };
        },
      },
      'digest-mismatch',
    ],
    ['what was not decided about', { call: { actionDigest: 'sha256:00' } }, 'digest-mismatch'],
    ['what was not asked for', { argumentsHash: 'sha256:00' }, 'digest-mismatch'],
    [
      'another version of the tool',
      { claim: (claim) => ({ ...claim, digestInput: { ...claim.digestInput, toolSchemaHash: 'sha256:00' } }) },
      'tool-schema-changed',
    ],
  ])('refuses to run %s', async (_, more, code) => {
    const execute = jest.fn();
    const setup = setUp({ ...more, execute });
    expect(await setup.execute()).toBe('ran');
    expect(execute).not.toHaveBeenCalled();
    expect(setup.reports).toEqual([
      expect.objectContaining({ status: 'failed', error: expect.objectContaining({ code }) }),
    ]);
  });

  it.each([
    ['/y', { status: 'succeeded', output: { deleted: '/y' } }],
    ['relative', { status: 'failed', error: { code: 'invalid-arguments', issues: [{ path: '/path' }] } }],
  ])('runs edited arguments only if they fit the tool itself: %s', async (path, report) => {
    const edited = actionDigest(setUp().digestInput, { path });
    const { execute, reports } = setUp({
      argumentsHash: 'sha256:of what the model asked for',
      call: { actionDigest: edited, originalArguments: { path: '/x' } },
      claim: (claim) => ({ ...claim, arguments: { path }, actionDigest: edited }),
    });
    await execute();
    expect(reports).toMatchObject([report]);
  });

  it('does not run arguments that have come to mean something else since they were approved', async () => {
    const target = { now: '/x' };
    const execute = jest.fn();
    const inputSchema = z.strictObject({ path: z.string().transform(() => target.now) });
    const tool = gateTool({ name: 'delete_file', inputSchema, execute });
    const setup = setUp({ tool });
    await setup.execute();
    target.now = '/etc/passwd';
    await setup.execute();
    expect(execute.mock.calls).toMatchObject([[{ path: '/x' }, {}]]);
    expect(setup.reports).toMatchObject([
      { status: 'succeeded' },
      { status: 'failed', error: { code: 'digest-mismatch' } },
    ]);
  });

  it('turns what the tool throws into a failure', async () => {
    const { execute, reports } = setUp({ execute: () => Promise.reject(new RangeError('too far')) });
    await execute();
    expect(reports).toEqual([
      { attempt: 2, status: 'failed', error: { code: 'tool-error', name: 'RangeError', message: 'too far' } },
    ]);
  });

  const hostile = new Error('hostile');
  Object.defineProperty(hostile, 'message', {
    get: () => {
      throw new Error('no');
    },
  });
  it.each([
    ['a plain object with a message', { code: 'E1', message: 'no funds' }, 'Error', 'no funds'],
    ['a message that is no text', Object.assign(new Error('x'), { message: { n: 1n } }), 'Error', 'Error'],
    ['a name that is no text', Object.assign(new Error('x'), { name: 5n }), 'Error', 'x'],
    ['a message that cannot be read', hostile, 'Error', 'Error'],
    ['half a character', new Error('\ud800'), 'Error', '\ufffd'],
    ['nothing', undefined, 'Error', 'thrown undefined'],
  ])('reports what a tool throws also when it is %s', async (_, thrown, name, message) => {
    const { execute, reports } = setUp({
      execute: () => {
        throw thrown as Error;
      },
    });
    await execute();
    expect(reports).toEqual([{ attempt: 2, status: 'failed', error: { code: 'tool-error', name, message } }]);
  });

  it.each([[new Error('no')], [new Map([[1, 2]])], [new Set([1])]])(
    'does not record %p as an empty object',
    async (output) => {
      const { execute, reports } = setUp({ execute: () => output });
      await execute();
      expect(reports).toMatchObject([{ status: 'succeeded', output: { unrecorded: expect.any(String) } }]);
    },
  );

  it('does not call a success a failure because its output is no JSON, or is refused', async () => {
    const circular: Record<string, unknown> = {};
    circular['self'] = circular;
    const first = setUp({ execute: () => circular });
    await first.execute();
    expect(first.reports).toMatchObject([{ status: 'succeeded', output: { unrecorded: expect.any(String) } }]);

    const reports: unknown[] = [];
    const tooLarge: Client['reportOutcome'] = async (_, body) => {
      reports.push(body);
      if (reports.length === 1) throw refusal('payload-too-large', 413);
      return null;
    };
    await setUp({ execute: () => 'huge', client: { reportOutcome: tooLarge } }).execute();
    expect(reports).toMatchObject([
      { output: 'huge' },
      { status: 'succeeded', output: { unrecorded: expect.any(String) } },
    ]);
  });

  it('accepts that another worker has settled the call', async () => {
    const setup = setUp({ client: { reportOutcome: () => Promise.reject(refusal('stale-claim')) } });
    expect(await setup.execute()).toBe('ran');
  });

  it('gives its tool the receipt of the claim, and after a renewal the next one', async () => {
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      return { attempt: 2, receipt: `renewed-${renewals}` };
    };
    const seen: unknown[] = [];
    const setup = setUp({
      leaseMs: 30,
      claim: (claim) => ({ ...claim, receipt: 'first' }),
      client: { renew },
      execute: async (_, { receipt }) => {
        seen.push(receipt());
        while (renewals < 2) await new Promise((resolve) => setTimeout(resolve, 5));
        seen.push(receipt());
      },
    });
    await setup.execute();
    expect(seen).toEqual(['first', expect.stringMatching(/^renewed-/)]);
  });

  it('renews its claim while the tool runs, and not afterwards', async () => {
    let runsOut = (): void => undefined;
    const renewed = new Promise<void>((resolve) => (runsOut = resolve));
    const renew = jest.fn(async () => {
      if (renew.mock.calls.length >= 3) runsOut();
      return null;
    });
    const setup = setUp({ leaseMs: 30, client: { renew }, execute: () => renewed });
    await setup.execute();
    const during = renew.mock.calls.length;
    expect(during).toBeGreaterThanOrEqual(3);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(renew.mock.calls).toHaveLength(during);
  });

  it.each([
    ['executing', true],
    ['cancelled', true],
    ['unknown', false],
    ['approved', false],
  ])('with a stale claim on a call that is %s tells its tool to stop: %s', async (state, aborts) => {
    const setup = setUp({
      leaseMs: 30,
      client: {
        renew: () => Promise.reject(refusal('stale-claim')),
        getToolCall: async () => ({ state }) as ToolCallView,
      },
      execute: (_, { signal }) => new Promise((resolve) => setTimeout(() => resolve(signal.aborted), 60)),
    });
    await setup.execute();
    expect(setup.reports).toMatchObject([{ output: aborts }]);
  });

  const throwsOnAbort = (_: unknown, { signal }: ExecutionContext): Promise<never> =>
    new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));

  it('tells its tool when the worker stops: one that throws then may have taken effect, so its outcome is unknown', async () => {
    const setup = setUp({ execute: throwsOnAbort });
    const ended = setup.execute();
    setTimeout(() => setup.stopping.abort(new Error('closing')), 20);
    expect(await ended).toBe('timed-out');
    expect(setup.reports).toEqual([]);
  });

  it('tells an idempotent tool when the worker stops: one that throws then has failed', async () => {
    const tool = gateTool({ name: 't', inputSchema: pathSchema, idempotent: true, execute: throwsOnAbort });
    const setup = setUp({ tool });
    const ended = setup.execute();
    setTimeout(() => setup.stopping.abort(new Error('closing')), 20);
    expect(await ended).toBe('ran');
    expect(setup.reports).toMatchObject([{ status: 'failed', error: { message: 'stopped' } }]);
  });

  it('tells its tool when the framework around it aborts the run, with the same end', async () => {
    const user = new AbortController();
    const signalOf = () => user.signal;
    const tool = gateTool({ name: 't', inputSchema: pathSchema, signalOf, execute: throwsOnAbort });
    const setup = setUp({ tool });
    const ended = setup.execute();
    setTimeout(() => user.abort(new Error('the user left')), 20);
    expect(await ended).toBe('timed-out');
    expect(setup.reports).toEqual([]);
  });

  it('does not start the tool when the claim was over before it arrived', async () => {
    const execute = jest.fn();
    const late = (claim: ClaimView): ClaimView => {
      const until = performance.now() + 20;
      while (performance.now() < until);
      return claim;
    };
    const setup = setUp({
      leaseMs: 10,
      execute,
      claim: late,
      client: { renew: () => Promise.reject(refusal('stale-claim')) },
    });
    expect(await setup.execute()).toBe('not-claimable');
    expect(execute).not.toHaveBeenCalled();
  });
});

const never = (): Promise<never> => new Promise(() => undefined);

describe('a tool over its time limit', () => {
  it('is told to stop, its claim is not renewed any more, and its outcome stays unknown', async () => {
    const renew = jest.fn(async () => null);
    const signals: AbortSignal[] = [];
    const execute = (_: unknown, { signal }: ExecutionContext): Promise<never> => {
      signals.push(signal);
      return never();
    };
    const setup = setUp({ leaseMs: 30, toolTimeoutMs: 100, client: { renew }, execute });
    expect(await setup.execute()).toBe('timed-out');
    expect(signals[0]?.reason).toMatchObject({ name: 'TimeLimitError', message: expect.stringContaining('100 ms') });
    const during = renew.mock.calls.length;
    expect(during).toBeGreaterThan(0);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(renew.mock.calls).toHaveLength(during);
    expect(setup.reports).toEqual([]);
  });

  it('has failed if it is idempotent, and its own limit comes before the one of the worker', async () => {
    const tool = gateTool({ name: 't', inputSchema: pathSchema, idempotent: true, toolTimeoutMs: 20, execute: never });
    const setup = setUp({ tool });
    expect(await setup.execute()).toBe('ran');
    expect(setup.reports).toMatchObject([{ status: 'failed', error: { code: 'tool-timeout' } }]);
  });

  it('has failed if it had not started, and does not start afterwards', async () => {
    let validated = (): void => undefined;
    const slow = z.strictObject({
      path: z.string().refine(() => new Promise<boolean>((resolve) => (validated = () => resolve(true)))),
    });
    const execute = jest.fn();
    const setup = setUp({ tool: gateTool({ name: 't', inputSchema: slow, execute }), toolTimeoutMs: 20 });
    expect(await setup.execute()).toBe('ran');
    expect(setup.reports).toMatchObject([{ status: 'failed', error: { code: 'tool-timeout' } }]);
    validated();
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(execute).not.toHaveBeenCalled();
  });

  it('that throws because of the signal has an unknown outcome', async () => {
    const execute = (_: unknown, { signal }: ExecutionContext): Promise<never> =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
    const setup = setUp({ toolTimeoutMs: 20, execute });
    expect(await setup.execute()).toBe('timed-out');
    expect(setup.reports).toEqual([]);
  });

  it('that succeeds nevertheless has its success recorded', async () => {
    let finish = (): void => undefined;
    const execute = (): Promise<string> => new Promise((resolve) => (finish = () => resolve('late')));
    let recorded = (): void => undefined;
    const reported = new Promise<unknown>((resolve) => (recorded = () => resolve(null)));
    const bodies: unknown[] = [];
    const reportOutcome: Client['reportOutcome'] = async (_, body) => {
      bodies.push(body);
      recorded();
      return null;
    };
    const setup = setUp({ toolTimeoutMs: 20, execute, client: { reportOutcome } });
    expect(await setup.execute()).toBe('timed-out');
    finish();
    await reported;
    expect(bodies).toEqual([{ attempt: 2, status: 'succeeded', output: 'late' }]);
  });

  it.each([0, -1, 1.5, Infinity, 2 ** 31])('has no limit of %p', (toolTimeoutMs) => {
    expect(() => gateTool({ name: 't', inputSchema: pathSchema, toolTimeoutMs, execute: never })).toThrow(
      /toolTimeoutMs/,
    );
  });
});

it('an execution ends when the worker is closed, also if its tool ignores its signal', async () => {
  const setup = setUp({ execute: never });
  const ended = setup.execute();
  setTimeout(() => setup.stopped.abort(new Error('closed')), 20);
  await expect(ended).rejects.toThrow('closed');
  expect(setup.reports).toEqual([]);
});

describe('the middleware', () => {
  it('runs around the tool, the first outermost, with the call that was approved', async () => {
    const seen: unknown[] = [];
    const named =
      (name: string): Middleware =>
      async ({ toolName, arguments: args }, next) => {
        seen.push([name, toolName, args]);
        const output = await next();
        seen.push([name, output]);
        return output;
      };
    const setup = setUp({ middleware: [named('a'), named('b')], execute: () => 'done' });
    await setup.execute();
    const called = ['delete_file', { path: '/x' }];
    expect(seen).toEqual([
      ['a', ...called],
      ['b', ...called],
      ['b', 'done'],
      ['a', 'done'],
    ]);
    expect(setup.reports).toMatchObject([{ status: 'succeeded', output: 'done' }]);
  });

  it('cannot run the tool twice', async () => {
    const execute = jest.fn(() => 'done');
    const twice: Middleware = async (_, next) => [await next(), await next()];
    const setup = setUp({ middleware: [twice], execute });
    await setup.execute();
    expect(execute).toHaveBeenCalledTimes(1);
    expect(setup.reports).toMatchObject([{ status: 'failed', error: { message: expect.stringContaining('twice') } }]);
  });
});
