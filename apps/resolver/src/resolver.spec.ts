import { UnreadableStreamError } from '@countersign/commands';
import { actionDigest } from '@countersign/contracts';
import type { EventType, EventView, JsonObject } from '@countersign/contracts';
import { createEmbeddedMessageBus } from '@countersign/message-bus';
import { createMemoryLog, eventually } from '@countersign/message-bus/testing';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog, createRandom, createSeededIds, createVirtualClock } from '@countersign/runtime/testing';
import { Registry } from 'prom-client';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ExecutionsUnavailableError } from './executions.js';
import { createResolverMetrics } from './metrics.js';
import { createResolverApp } from './resolver-app.js';
import { createResolver, isTransientFailure, ResolverStoppedError } from './resolver.js';
import type { ResolverOptions } from './resolver.js';
import { createMemoryExecutions, memoryApprovalId, memoryRunId } from './testing/memory-executions.js';
import type { Tool, ToolOutcome, ToolRun } from './tools/tool.js';

function event(type: EventType, callId: string | null, data: JsonObject = {}, tenant = 'default'): EventView {
  const where = { position: 1, revision: 0, runId: memoryRunId, recordedAt: '2030-01-01T00:00:00.000Z' };
  const tool = { toolCallId: 'call-1', toolName: 'delete_file', agentId: 'agent' };
  return { eventId: `${type}-${callId ?? ''}`, type, callId, tenant, data, actor: null, ...tool, ...where };
}

const allowed = (callId: string): EventView => event('ToolCallAllowed', callId);
const approved = (callId: string): EventView =>
  event('ApprovalResponded', callId, { resolution: 'approved', approvalId: memoryApprovalId });
const succeeded: ToolOutcome = { status: 'succeeded', output: 'done' };

/** A resolver over an in-memory ledger with virtual time, and one tool that a test controls. */
function open(options: Partial<ResolverOptions> & { readonly tool?: Partial<Tool> } = {}) {
  const clock = createVirtualClock();
  const log = createCollectingLog();
  const executions = createMemoryExecutions(clock);
  const runs: ToolRun[] = [];
  let behave: (run: ToolRun) => ToolOutcome | Promise<ToolOutcome> = () => succeeded;
  const tool: Tool = {
    name: 'refund',
    tenant: 'default',
    needsApproval: true,
    idempotent: false,
    inputSchema: null,
    validate: () => [],
    run: async (run) => {
      runs.push(run);
      return behave(run);
    },
    ...options.tool,
  };
  const tools = {
    tools: [tool],
    find: (tenant: string, name: string) => (tenant === tool.tenant && name === tool.name ? tool : undefined),
  };
  const start = (more: Partial<ResolverOptions> = {}) =>
    createResolver({
      executions,
      tools,
      clock,
      log,
      ids: createSeededIds(createRandom(runs.length + 1)),
      resolverId: 'resolver-1',
      leaseMs: 6_000,
      ...options,
      ...more,
    });
  let calls = 0;
  const add = (more: Partial<Parameters<typeof executions.add>[0]> = {}, state?: 'pending' | 'claimable'): string =>
    executions.add(
      { toolName: 'refund', toolCallId: `call-${(calls += 1)}`, arguments: { amount: 5 }, ...more },
      state,
    );
  return {
    clock,
    log,
    executions,
    runs,
    add,
    start,
    resolver: start(),
    behave: (how: typeof behave) => void (behave = how),
    ran: () => runs.map(({ callId }) => callId),
  };
}

describe('the resolver', () => {
  describe('executes', () => {
    it.each([
      ['a call that was allowed', allowed],
      ['a call that was approved', approved],
      ['a call whose claim lapsed', (callId: string) => event('ExecutionLapsed', callId)],
      [
        'a call that a person gave free again',
        (callId: string) => event('ExecutionReconciled', callId, { status: 'retry' }),
      ],
    ])('%s', async (_, of) => {
      const { resolver, executions, runs, add, clock } = open();
      const callId = add();
      await resolver.handle(of(callId));
      await clock.advanceAsync(0);
      expect(executions.stateOf(callId)).toEqual({ status: 'succeeded', output: 'done' });
      expect(runs).toMatchObject([
        { callId, runId: 'run-1', toolName: 'refund', arguments: { amount: 5 }, attempt: 1, idempotencyKey: callId },
      ]);
    });

    it.each([
      ['its own tenant', 'default', (callIds: string[]) => ({ callIds })],
      ['another tenant', 'acme', (callIds: string[]) => ({ callIds: [], otherTenants: [{ tenant: 'acme', callIds }] })],
    ])('the calls of %s that a lifted stop held back', async (_, tenant, held) => {
      const { resolver, ran, add, clock } = open({ tool: { tenant } });
      const callIds = [add({ tenant }), add({ tenant })];
      await resolver.handle(event('StopLifted', null, held(callIds)));
      await clock.advanceAsync(0);
      expect(ran()).toEqual(callIds);
    });

    it('the siblings of a call that a lifted stop held back, which it did not cover', async () => {
      const { resolver, ran, add, clock } = open();
      const sibling = add();
      const callId = add({ siblings: [sibling] });
      await resolver.handle(event('StopLifted', null, { callIds: [callId] }));
      await clock.advanceAsync(0);
      expect(ran()).toEqual([callId, sibling]);
    });

    it.each([
      ['a lifted stop', (callId: string) => event('StopLifted', null, { callIds: [callId] })],
      ['an approval', approved],
    ])('a call of %s, although this process knew of no end of the stop yet', async (_, of) => {
      const { resolver, executions, ran, add, clock } = open();
      const callId = add();
      executions.stopped.add(callId);
      const handling = resolver.handle(of(callId));
      await clock.advanceAsync(999);
      expect(ran()).toEqual([]);
      executions.stopped.clear();
      await clock.advanceAsync(1);
      await handling;
      await clock.advanceAsync(0);
      expect(ran()).toEqual([callId]);
    });

    it('after the claim was answered, and never before', async () => {
      const { resolver, executions, ran, add, clock } = open();
      const callId = add();
      let answer: () => void = () => undefined;
      executions.onAsked = (question) =>
        question.startsWith('claim') ? new Promise((resolve) => (answer = resolve)) : undefined;
      const handling = resolver.handle(approved(callId));
      await clock.advanceAsync(1_000);
      expect(ran()).toEqual([]);
      answer();
      await handling;
      await clock.advanceAsync(0);
      expect(ran()).toEqual([callId]);
    });

    it('on its own: the event is done with once the call is claimed', async () => {
      const { resolver, behave, add, executions } = open();
      const callId = add();
      behave(() => new Promise(() => undefined));
      await resolver.handle(approved(callId));
      expect(executions.stateOf(callId)).toBe('claimed');
      expect(resolver.status()).toEqual({ running: 1, waiting: 0 });
    });

    it('a call and reports its failure', async () => {
      const { resolver, behave, add, executions, clock } = open();
      const callId = add();
      behave(() => ({ status: 'failed', error: { code: 'tool-threw', message: 'no such order' } }));
      await resolver.handle(approved(callId));
      await clock.advanceAsync(0);
      expect(executions.stateOf(callId)).toEqual({
        status: 'failed',
        error: { code: 'tool-threw', message: 'no such order' },
      });
    });

    it('a call once, and reports a stand-in for an outcome that the ledger refuses as too large', async () => {
      const opened = open();
      const report: typeof opened.executions.report = async (tenant, callId, outcome) =>
        JSON.stringify(outcome).includes('huge')
          ? { status: 'refused', refusal: { code: 'payload-too-large', detail: 'more than 5 bytes' } }
          : opened.executions.report(tenant, callId, outcome);
      const resolver = opened.start({ executions: { ...opened.executions, report } });
      const outcomes: ToolOutcome[] = [
        { status: 'failed', error: { code: 'tool-threw', message: 'huge' } },
        { status: 'succeeded', output: 'huge' },
      ];
      const states = [];
      for (const outcome of outcomes) {
        const callId = opened.add();
        opened.behave(() => outcome);
        await resolver.handle(approved(callId));
        await opened.clock.advanceAsync(0);
        states.push(opened.executions.stateOf(callId));
      }
      expect(states).toEqual([
        {
          status: 'failed',
          error: { code: 'tool-error', message: 'the error of the tool cannot be recorded: more than 5 bytes' },
        },
        { status: 'succeeded', output: { outputOmitted: 'the output cannot be recorded: more than 5 bytes' } },
      ]);
      expect(opened.runs).toHaveLength(2);
    });

    it('at most the configured number of calls at once, and claims no more until one ends', async () => {
      const { resolver, behave, add, executions, ran, clock } = open({ concurrency: 2 });
      const releases: (() => void)[] = [];
      behave(() => new Promise((resolve) => releases.push(() => resolve(succeeded))));
      const ids = [add(), add(), add()];
      const handling = Promise.all(ids.map((callId) => resolver.handle(approved(callId))));
      await clock.advanceAsync(100);
      expect([ran(), resolver.status()]).toEqual([ids.slice(0, 2), { running: 2, waiting: 1 }]);
      expect(executions.stateOf(ids[2]!)).toBe('claimable');
      releases[0]?.();
      await handling;
      await clock.advanceAsync(0);
      expect(ran()).toEqual(ids);
    });

    it('each call once, for duplicate events in any order', async () => {
      const { resolver, add, ran, clock } = open();
      const callId = add();
      await Promise.all([
        resolver.handle(approved(callId)),
        resolver.handle(allowed(callId)),
        resolver.handle(approved(callId)),
      ]);
      await clock.advanceAsync(0);
      await resolver.handle(approved(callId));
      expect(ran()).toEqual([callId]);
    });
  });

  describe('leaves alone', () => {
    it.each([
      ['a denial', (callId: string) => event('ApprovalResponded', callId, { resolution: 'denied' })],
      [
        'a vote that decides nothing',
        (callId: string) => event('ApprovalResponded', callId, { resolution: 'pending' }),
      ],
      ['a reconciliation that settles', (callId: string) => event('ExecutionReconciled', callId, { status: 'failed' })],
      ['another event', (callId: string) => event('ToolCallRequested', callId)],
      ['an event of no call', () => event('ToolCallAllowed', null)],
      ['an event of a tenant without tools', (callId: string) => event('ToolCallAllowed', callId, {}, 'acme')],
    ])('%s, without a question', async (_, of) => {
      const { resolver, executions, add } = open();
      await resolver.handle(of(add()));
      expect(executions.asked).toEqual([]);
    });

    it('calls of tools that workers execute', async () => {
      const { resolver, executions, add } = open();
      const callId = add({ toolName: 'deploy' });
      await resolver.handle(approved(callId));
      expect(executions.asked).toEqual([`find ${callId}`]);
    });

    it("another tenant's call of the same tool", async () => {
      const { resolver, executions, add, ran } = open();
      const callId = add({ tenant: 'acme' });
      await resolver.handle(event('ToolCallAllowed', callId, {}, 'acme'));
      await resolver.handle(approved(callId));
      expect([ran(), executions.asked]).toEqual([[], [`find ${callId}`]]);
    });

    it('a call that the ledger does not show as approved, although an event says so', async () => {
      const registry = new Registry();
      const { resolver, executions, add, ran, log } = open({ metrics: createResolverMetrics(registry) });
      const callId = add({}, 'pending');
      await resolver.handle(approved(callId));
      await resolver.handle(approved('tc_forged'));
      expect([ran(), executions.asked]).toEqual([[], [`find ${callId}`, 'find tc_forged']]);
      expect(log.entries.filter(({ message }) => message.includes('is not in the log'))).toHaveLength(2);
      expect(await registry.metrics()).toContain('countersign_resolver_forged_total{type="ApprovalResponded"} 2');
    });

    it('a call of whose approval it gets no data, because an older relay could not read it', async () => {
      const { resolver, add, ran, log } = open();
      const callId = add();
      await resolver.handle({ ...approved(callId), data: null, unreadable: 'its schema version 3 is later than 2' });
      expect([ran().length, log.entries.filter(({ level }) => level === 'error')]).toEqual([1, []]);
    });

    it('no call that this version cannot read: its message is parked at once, for one that can', async () => {
      const opened = open();
      const callId = opened.add();
      const refusal = { code: 'unreadable', detail: 'toolCall-x: upgrade Countersign' } as const;
      const find = () => Promise.reject(new UnreadableStreamError(refusal));
      const resolver = opened.start({ executions: { ...opened.executions, find } });
      await expect(resolver.handle(approved(callId))).rejects.toMatchObject({
        ...{ name: 'PoisonMessageError', code: 'unreadable' },
        message: expect.stringMatching(/upgrade Countersign; .*replay this message/) as unknown,
      });
      expect(opened.ran()).toEqual([]);
    });

    it('an approval twice, and takes the repeat of an event for no forgery', async () => {
      const { resolver, add, ran, log } = open();
      const callId = add();
      await resolver.handle(approved(callId));
      await resolver.handle(approved(callId));
      expect([ran().length, log.entries.filter(({ level }) => level === 'error')]).toEqual([1, []]);
    });
  });

  describe('refuses', () => {
    const refusal = async (setup: (opened: ReturnType<typeof open>) => void, tool: Partial<Tool> = {}) => {
      const opened = open({ tool });
      const callId = opened.add();
      setup(opened);
      await opened.resolver.handle(approved(callId));
      await opened.clock.advanceAsync(0);
      expect(opened.ran()).toEqual([]);
      return opened.executions.stateOf(callId);
    };

    it('arguments that are not those that were approved', async () => {
      const state = await refusal(({ executions }) => {
        executions.tamper = (claim) => ({ ...claim, arguments: { amount: 500 } });
      });
      expect(state).toMatchObject({ status: 'failed', error: { code: 'digest-mismatch' } });
    });

    it.each([
      ['of another call', { toolCallId: 'call-99' }],
      ['of another run', { runId: 'run-2' }],
      ['of another tenant', { tenant: 'acme' }],
      ['of another tool', { toolName: 'deploy' }],
    ])('a claim %s', async (_, changed) => {
      const state = await refusal(({ executions }) => {
        // A claim that is consistent in itself, so that only what it is of gives it away.
        executions.tamper = (claim) => {
          const digestInput = { ...claim.digestInput, ...changed };
          return { ...claim, digestInput, actionDigest: actionDigest(digestInput, claim.arguments) };
        };
      });
      expect(state).toMatchObject({ status: 'failed', error: { code: 'digest-mismatch' } });
    });

    it('arguments that the tool does not take', async () => {
      const validate = () => ['amount must be <= 1'];
      expect(await refusal(() => undefined, { validate })).toEqual({
        status: 'failed',
        error: { code: 'invalid-arguments', message: 'the arguments are not valid: amount must be <= 1' },
      });
    });

    it('arguments that the schema itself changed, or failed on', async () => {
      const change = (args: JsonObject) => {
        (args as { amount?: number }).amount = 500;
        return [];
      };
      expect(await refusal(() => undefined, { validate: change })).toMatchObject({
        error: { code: 'digest-mismatch' },
      });
      for (const thrown of [new Error('bug'), Object.create(null)] as unknown[]) {
        const fail = () => {
          throw thrown;
        };
        expect(await refusal(() => undefined, { validate: fail })).toMatchObject({
          error: { code: 'invalid-arguments' },
        });
      }
    });
  });

  describe('when the outcome is unknown', () => {
    it('reports nothing, renews no more, and never runs the tool again', async () => {
      const { resolver, behave, add, executions, ran, clock } = open();
      const callId = add();
      behave(() => ({ status: 'unknown', message: 'broken' }));
      await resolver.handle(approved(callId));
      await clock.advanceAsync(7_000);
      executions.lapse(callId);
      await resolver.handle(approved(callId));
      expect([executions.stateOf(callId), ran()]).toEqual(['unknown', [callId]]);
      expect(executions.asked).not.toContain(`renew ${callId}`);
      expect(resolver.status().running).toBe(0);
    });

    it('says so at once where the ledger can be told', async () => {
      const opened = open();
      const abandoned: unknown[] = [];
      const executions = {
        ...opened.executions,
        abandon: async (...given: unknown[]) => {
          abandoned.push(given);
          return { status: 'recorded' } as const;
        },
      };
      const callId = opened.add();
      opened.behave(() => ({ status: 'unknown', message: 'broken' }));
      await opened.start({ executions }).handle(approved(callId));
      await opened.clock.advanceAsync(0);
      expect(abandoned).toEqual([['default', callId, { attempt: 1, reason: 'broken' }]]);
    });

    it('renews no more while the ledger cannot be told', async () => {
      const opened = open();
      const executions = { ...opened.executions, abandon: () => new Promise<never>(() => undefined) };
      const callId = opened.add();
      opened.behave(() => ({ status: 'unknown', message: 'broken' }));
      await opened.start({ executions }).handle(approved(callId));
      await opened.clock.advanceAsync(7_000);
      opened.executions.lapse(callId);
      expect(opened.executions.stateOf(callId)).toBe('unknown');
    });

    it.each([
      ['both say so', true, true, 2],
      ['only the file says so', true, false, 1],
      ['only the agent says so', false, true, 1],
    ])('runs an idempotent tool again, with the same key, when %s', async (_, inFile, inRequest, times) => {
      const { resolver, behave, add, runs, clock } = open({ tool: { idempotent: inFile } });
      behave(() => (runs.length < 2 ? { status: 'unknown', message: 'broken' } : succeeded));
      await resolver.handle(approved(add({ idempotent: inRequest })));
      await clock.advanceAsync(5_000);
      expect(runs).toHaveLength(times);
      expect(new Set(runs.map(({ idempotencyKey }) => idempotencyKey)).size).toBe(1);
    });
  });

  describe('killed between claim and report', () => {
    const killed = async (idempotent: boolean) => {
      const opened = open({ tool: { idempotent } });
      const callId = opened.add({ idempotent });
      // A killed process does nothing more.
      opened.behave(() => new Promise(() => undefined));
      opened.executions.onAsked = (question) =>
        question.startsWith('renew') ? new Promise(() => undefined) : undefined;
      await opened.resolver.handle(approved(callId));
      await opened.clock.advanceAsync(7_000);
      opened.executions.onAsked = () => undefined;
      opened.behave(() => succeeded);
      opened.executions.lapse(callId);
      const next = opened.start({ resolverId: 'resolver-2' });
      // The event comes again, since the process may not have stored its progress.
      await next.handle(approved(callId));
      await next.handle(event('ExecutionLapsed', callId));
      await opened.clock.advanceAsync(0);
      return { state: opened.executions.stateOf(callId), runs: opened.runs };
    };

    it('it never runs a tool again that may have run', async () => {
      const { state, runs } = await killed(false);
      expect([state, runs.length]).toEqual(['unknown', 1]);
    });

    it('it runs an idempotent one again, as the next attempt with the same key', async () => {
      const { state, runs } = await killed(true);
      expect(state).toMatchObject({ status: 'succeeded' });
      expect(runs.map(({ attempt, idempotencyKey }) => [attempt, idempotencyKey])).toEqual([
        [1, runs[0]?.callId],
        [2, runs[0]?.callId],
      ]);
    });
  });

  describe('keeps its claim', () => {
    it('while the tool runs', async () => {
      const { resolver, behave, add, executions, clock } = open();
      const callId = add();
      let finish: () => void = () => undefined;
      behave(() => new Promise((resolve) => (finish = () => resolve(succeeded))));
      await resolver.handle(approved(callId));
      for (let minute = 0; minute < 5; minute += 1) {
        await clock.advanceAsync(60_000);
        executions.lapse(callId);
        expect(executions.stateOf(callId)).toBe('claimed');
      }
      finish();
      await clock.advanceAsync(0);
      expect(executions.stateOf(callId)).toEqual({ status: 'succeeded', output: 'done' });
      expect(clock.nextInMs()).toBeUndefined();
    });

    it('and signals the tool when the claim is lost', async () => {
      const { resolver, behave, add, executions, runs, clock } = open();
      const callId = add();
      behave(() => new Promise(() => undefined));
      await resolver.handle(approved(callId));
      // The process was stopped for longer than its lease, and the ledger noticed.
      clock.jump(10_000);
      executions.lapse(callId);
      await clock.advanceAsync(2_000);
      expect(runs[0]?.signal.aborted).toBe(true);
    });

    it('or does not begin: a process that was stopped between claim and execution runs nothing', async () => {
      const { resolver, add, executions, ran, clock } = open({
        tool: {
          validate: async () => {
            clock.advance(20_000);
            return [];
          },
        },
      });
      const callId = add();
      executions.onAsked = (question) => {
        if (question.startsWith('renew')) throw new ExecutionsUnavailableError('down');
      };
      await resolver.handle(approved(callId));
      await clock.advanceAsync(0);
      expect(ran()).toEqual([]);
      expect(executions.stateOf(callId)).toMatchObject({ status: 'failed', error: { code: 'not-run' } });
    });

    it('and its report after the lease still counts when no other worker claimed the call', async () => {
      const { resolver, behave, add, executions, clock } = open();
      const callId = add();
      let finish: () => void = () => undefined;
      behave(() => new Promise((resolve) => (finish = () => resolve(succeeded))));
      await resolver.handle(approved(callId));
      executions.onAsked = (question) => {
        if (question.startsWith('renew')) throw new ExecutionsUnavailableError('down');
      };
      await clock.advanceAsync(10_000);
      executions.lapse(callId);
      expect(executions.stateOf(callId)).toBe('unknown');
      finish();
      await clock.advanceAsync(0);
      expect(executions.stateOf(callId)).toMatchObject({ status: 'succeeded' });
    });
  });

  describe('while the ledger does not answer', () => {
    it('waits with the event as long as it takes, then executes', async () => {
      const { resolver, add, executions, ran, clock } = open();
      const callId = add();
      let down = true;
      executions.onAsked = () => {
        if (down) throw new ExecutionsUnavailableError('down');
      };
      const handling = resolver.handle(approved(callId));
      await clock.advanceAsync(600_000);
      expect(ran()).toEqual([]);
      down = false;
      await clock.advanceAsync(6_000);
      await handling;
      expect(ran()).toEqual([callId]);
    });

    it('repeats a claim whose answer was lost, and gets the same one', async () => {
      const { resolver, add, executions, runs, clock } = open();
      const callId = add();
      let lost = 0;
      executions.onAnswered = (question) => {
        if (question.startsWith('claim') && (lost += 1) <= 2) throw new ExecutionsUnavailableError('answer lost');
      };
      const handling = resolver.handle(approved(callId));
      await clock.advanceAsync(5_000);
      await handling;
      expect(runs).toMatchObject([{ callId, attempt: 1 }]);
      expect(executions.stateOf(callId)).toMatchObject({ status: 'succeeded' });
    });

    it('renews a claim whose answer was long in coming before anything runs', async () => {
      const { resolver, add, executions, ran, clock } = open();
      const callId = add();
      let lost = 0;
      executions.onAnswered = (question) => {
        if (question.startsWith('claim') && (lost += 1) <= 4) throw new ExecutionsUnavailableError('answer lost');
      };
      const handling = resolver.handle(approved(callId));
      await clock.advanceAsync(20_000);
      await handling;
      expect(executions.asked.slice(-2)).toEqual([`renew ${callId}`, `report ${callId}`]);
      expect([ran(), executions.stateOf(callId)]).toMatchObject([[callId], { status: 'succeeded' }]);
    });

    it('runs nothing on a claim that was lost before its answer came', async () => {
      const { resolver, add, executions, ran, clock } = open();
      const callId = add();
      let lost = 0;
      executions.onAnswered = (question) => {
        if (question.startsWith('claim') && (lost += 1) <= 4) throw new ExecutionsUnavailableError('answer lost');
      };
      executions.onAsked = (question) => {
        if (question.startsWith('renew')) executions.lapse(callId);
      };
      const handling = resolver.handle(approved(callId));
      await clock.advanceAsync(20_000);
      await handling;
      expect([ran(), executions.stateOf(callId)]).toEqual([[], 'unknown']);
    });

    it('keeps the outcome until it can be reported', async () => {
      const { resolver, add, executions, ran, clock } = open();
      const callId = add();
      let down = true;
      executions.onAsked = (question) => {
        if (down && question.startsWith('report')) throw new ExecutionsUnavailableError('down');
      };
      await resolver.handle(approved(callId));
      await clock.advanceAsync(600_000);
      expect(executions.stateOf(callId)).toBe('claimed');
      down = false;
      await clock.advanceAsync(6_000);
      expect([executions.stateOf(callId), ran()]).toMatchObject([{ status: 'succeeded' }, [callId]]);
    });

    it('gives up, in bounds, what fails for another reason', async () => {
      const { resolver, add, executions, clock, log } = open();
      const [finding, reporting] = [add(), add()];
      executions.onAsked = (question) => {
        if (question === `find ${finding}` || question === `report ${reporting}`) throw new TypeError('bug');
      };
      const handling = resolver.handle(approved(finding)).catch((error: unknown) => error);
      await resolver.handle(approved(reporting));
      await clock.advanceAsync(60_000);
      const error = await handling;
      expect([error, isTransientFailure(error)]).toEqual([new TypeError('bug'), false]);
      expect(log.entries).toContainEqual(
        expect.objectContaining({ level: 'error', message: expect.stringContaining('lease decides') as unknown }),
      );
      expect([resolver.status().running, executions.stateOf(reporting)]).toEqual([0, 'claimed']);
    });
  });

  describe('with an all-or-nothing batch', () => {
    const batch = (opened: ReturnType<typeof open>, states: readonly ('pending' | 'claimable')[], foreign = -1) => {
      const members = states.map((_, index) => opened.add({ toolCallId: `member-${index}` }));
      return members.map((id, index) =>
        opened.add(
          {
            toolCallId: `member-${index}`,
            siblings: members.filter((other) => other !== id),
            ...(index === foreign ? { toolName: 'deploy' } : {}),
          },
          states[index],
        ),
      );
    };

    it('executes nothing before the last member is approved, then all', async () => {
      const opened = open();
      const { resolver, executions, ran, clock } = opened;
      const [first, second, third] = batch(opened, ['pending', 'pending', 'pending']) as [string, string, string];
      for (const callId of [second, first]) {
        executions.approve(callId);
        await resolver.handle(approved(callId));
      }
      await clock.advanceAsync(0);
      expect(ran()).toEqual([]);
      executions.approve(third);
      await resolver.handle(approved(third));
      await clock.advanceAsync(0);
      expect(ran()).toEqual([third, first, second]);
    });

    it('is freed by a member whose tool workers execute too', async () => {
      const opened = open();
      const [ours, theirs] = batch(opened, ['claimable', 'claimable'], 1) as [string, string];
      await opened.resolver.handle(approved(theirs));
      await opened.clock.advanceAsync(0);
      expect(opened.ran()).toEqual([ours]);
    });

    it('is completed after a crash between two claims', async () => {
      const opened = open();
      const [first, second] = batch(opened, ['claimable', 'claimable']) as [string, string];
      opened.executions.onAsked = (question) => {
        if (question === `find ${second}`) throw new TypeError('crash');
      };
      const handling = opened.resolver.handle(approved(first)).catch(() => 'crashed');
      await opened.clock.advanceAsync(60_000);
      expect(await handling).toBe('crashed');
      opened.executions.onAsked = () => undefined;
      await opened.start().handle(approved(first));
      await opened.clock.advanceAsync(0);
      expect(opened.ran()).toEqual([first, second]);
    });
  });

  describe('that stops', () => {
    it('claims no more, and waits for what runs', async () => {
      const { resolver, behave, add, executions, ran, clock } = open({ concurrency: 1 });
      let finish: () => void = () => undefined;
      behave(() => new Promise((resolve) => (finish = () => resolve(succeeded))));
      const [running, waiting] = [add(), add()];
      await resolver.handle(approved(running));
      const left = resolver.handle(approved(waiting)).catch((error: unknown) => error);
      let stopped = false;
      const stopping = resolver.stop().then(() => (stopped = true));
      await clock.advanceAsync(10_000);
      expect(stopped).toBe(false);
      finish();
      await stopping;
      const error = await left;
      expect([error, isTransientFailure(error)]).toEqual([expect.any(ResolverStoppedError), true]);
      expect([ran(), executions.stateOf(running)]).toMatchObject([[running], { status: 'succeeded' }]);
      expect(executions.stateOf(waiting)).toBe('claimable');
      await expect(resolver.handle(approved(waiting))).rejects.toThrow(ResolverStoppedError);
    });

    it('tells at last what does not end, and leaves it to its lease', async () => {
      const { resolver, behave, add, executions, runs, clock } = open({ drainMs: 5_000 });
      const callId = add();
      behave(() => new Promise(() => undefined));
      await resolver.handle(approved(callId));
      const stopping = resolver.stop();
      await clock.advanceAsync(5_000);
      expect(runs[0]?.signal.aborted).toBe(true);
      await clock.advanceAsync(1_000);
      await stopping;
      expect(executions.stateOf(callId)).toBe('claimed');
    });

    it('lets a bus go that stops first, and its events come again', async () => {
      const { resolver, behave, add } = open({ concurrency: 1 });
      behave(() => new Promise(() => undefined));
      await resolver.handle(approved(add()));
      const stop = new AbortController();
      const waiting = resolver.handle(approved(add()), stop.signal);
      stop.abort(new Error('the bus stops'));
      await expect(waiting).rejects.toThrow('the bus stops');
    });
  });

  describe('on a bus', () => {
    const topic = 'countersign.events.v1';
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'resolver-'));
    });
    afterEach(async () => {
      await rm(folder, { recursive: true });
    });

    it('executes what was approved while it was down, and nothing twice', async () => {
      const opened = open();
      const source = createMemoryLog();
      const record = (callId: string, id: string): void =>
        source.append({ id, type: 'ToolCallAllowed', runId: memoryRunId, callId });
      const [clock, log] = [systemClock, opened.log];
      const process = async () => {
        const bus = createEmbeddedMessageBus({ folder, topics: { [topic]: source }, clock, log });
        const app = await createResolverApp({ resolver: opened.start({ clock }), bus, topic, log });
        await app.listen();
        return async () => {
          await app.close();
          await bus.close();
        };
      };
      const ids = [opened.add(), opened.add()] as const;
      record(ids[0], 'a');
      const closeFirst = await process();
      await eventually(() => expect(opened.ran()).toEqual([ids[0]]));
      await closeFirst();
      record(ids[1], 'b');
      const closeSecond = await process();
      await eventually(() => expect(opened.ran()).toEqual(ids));
      await closeSecond();
    });
  });
});
