import { setImmediate } from 'node:timers/promises';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { actionDigest, approvalIdOf, maskOf, toolCallStream } from '@countersign/contracts';
import type { JsonObject, RequestedCall, RespondBody } from '@countersign/contracts';
import { batchDecider, passkeyDecider, callState, toolCallDecider } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore } from '@countersign/event-store';
import { createPolicies, loadPolicy } from '@countersign/policy';
import type { Policies, Policy } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { Actor, Role } from './actor.js';
import { createArgumentSchemas } from './request/argument-schema.js';
import * as api from './commands.js';
import { createCommandHandler } from './stream/handle-command.js';
import { createKeyedQueue } from './stream/keyed-queue.js';
import { createKnownStops } from './stops/known-stops.js';
import { serviceResolver } from './claim.js';
import type { Result } from './result.js';
import type { CommandPorts, ServiceTool, ToolCallHandler } from './ports.js';

const policyText = `
version: 1
autoApprovedTools: ["get_*"]
requireApprovalTools: ["delete_*"]
`;

const actor = (principal: string, role: Role, more: Partial<Actor> = {}): Actor => ({
  tenant: 'default',
  principal,
  roles: new Set([role]),
  groups: [],
  agentIds: [],
  via: 'api',
  assurance: 'medium',
  ...more,
});

const agent = actor('agent', 'agent');
const alice = actor('alice', 'approver');
const worker = actor('worker', 'resolver');

let folder: string;
let store: EmbeddedEventStore;
let handler: ToolCallHandler;
let commands: CommandPorts;
let policies: Policies;
let ports: CommandPorts;
let clock: ReturnType<typeof createVirtualClock>;
let tools: Map<string, ServiceTool>;
let lastCommand = 0;

const commandId = (): string => `command-${String(++lastCommand)}`;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-commands-'));
  clock = createVirtualClock();
  const log = createSilentLog();
  const ids = createSystemIds();
  tools = new Map();
  store = await openEmbeddedEventStore({ folder, clock, log });
  handler = createCommandHandler({ store, fold: toolCallDecider, ids, clock, cacheSize: 100 });
  policies = createPolicies([loadPolicy('policy.yaml', policyText)]);
  ports = {
    handler,
    batches: createCommandHandler({ store, fold: batchDecider, ids, clock, cacheSize: 100 }),
    changesOfSteps: createKeyedQueue(),
    passkeys: {
      handler: createCommandHandler({ store, fold: passkeyDecider, ids, clock, cacheSize: 16 }),
      log: store,
      signCounts: new Map(),
    },
    policies: { of: (tenant) => policies.of(tenant) },
    stops: createKnownStops({ store, clock, ids }),
    tools: { find: (tenant, name) => (tenant === 'default' ? tools.get(name) : undefined) },
    schemas: createArgumentSchemas(),
    clock,
    ids,
    log,
  };
  commands = ports;
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

function done<T>(outcome: Result<T>): T {
  if (outcome.status !== 'done') throw new Error(`rejected: ${JSON.stringify(outcome.refusal)}`);
  return outcome.value;
}

function codeOf(outcome: Result<unknown>): string {
  return outcome.status === 'refused' ? outcome.refusal.code : 'done';
}

async function request(
  calls: readonly (Partial<RequestedCall> & { toolCallId: string })[],
  more: { batchMode?: 'all-or-nothing'; runId?: string } = {},
): Promise<readonly string[]> {
  const body = {
    runId: 'run-1',
    ...more,
    calls: calls.map((call) => ({ toolName: 'delete_file', arguments: {}, ...call })),
  };
  return done(await api.requestToolCalls(commands, agent, body, commandId())).callIds;
}

async function one(call: Partial<RequestedCall> = {}): Promise<string> {
  const [callId = ''] = await request([{ toolCallId: 'call_1', ...call }]);
  return callId;
}

async function callOf(callId: string): Promise<ToolCall> {
  const { state } = await handler.load(toolCallStream(callId));
  if (state.status !== 'recorded') throw new Error(`${callId} is not recorded`);
  return state;
}

const stateOf = async (callId: string) => callState(await callOf(callId));
const approve = (callId: string, by = alice) =>
  api.respond(commands, by, approvalIdOf(callId, 1), { decision: { type: 'approve' } }, commandId());

describe('requesting tool calls', () => {
  it('records a verdict for each call of a step, as the policy and the worker say', async () => {
    const [required, allowed, flagged] = await request([
      { toolCallId: 'a', toolName: 'delete_file' },
      { toolCallId: 'b', toolName: 'get_file' },
      { toolCallId: 'c', toolName: 'get_file', needsApproval: true },
    ]);
    expect(await stateOf(required ?? '')).toBe('awaiting_approval');
    expect(await stateOf(allowed ?? '')).toBe('allowed');
    expect(await stateOf(flagged ?? '')).toBe('awaiting_approval');
    expect((await callOf(allowed ?? '')).request.batchCallIds).toEqual([required, allowed, flagged]);
  });

  it('adds nothing when a request is repeated under another command id', async () => {
    const callId = await one({ arguments: { path: '/a' } });
    const head = await store.head();
    const again = await api.requestToolCalls(
      commands,
      agent,
      { runId: 'run-1', calls: [{ toolCallId: 'call_1', toolName: 'delete_file', arguments: { path: '/a' } }] },
      commandId(),
    );
    expect(done(again)).toEqual({ callIds: [callId], isNew: false });
    expect(await store.head()).toBe(head);
  });

  it('tells a repeat where the log stood, so that a view that is behind is waited for', async () => {
    const calls = ['a', 'b'].map((toolCallId) => ({ toolCallId, toolName: 'delete_file', arguments: {} }));
    const body = { runId: 'run-1', calls };
    await api.requestToolCalls(commands, agent, body, commandId());
    const repeated = await api.requestToolCalls(commands, agent, body, commandId());
    expect(repeated).toMatchObject({ status: 'done', value: { isNew: false }, position: await store.head() });
  });

  it('records one call when the same request comes ten times at once', async () => {
    const body = {
      runId: 'run-9',
      calls: [{ toolCallId: 'call_1', toolName: 'delete_file', arguments: { path: '/a' } }],
    };
    const outcomes = await Promise.all(
      Array.from({ length: 10 }, () => api.requestToolCalls(commands, agent, body, commandId())),
    );
    expect(outcomes.filter((outcome) => done(outcome).isNew)).toHaveLength(1);
    expect(await store.readAll(0, 100)).toHaveLength(2);
  });

  it('records nothing at all when one of several calls is known with other arguments', async () => {
    await one({ arguments: { path: '/a' } });
    const head = await store.head();
    const outcome = await api.requestToolCalls(
      commands,
      agent,
      {
        runId: 'run-1',
        calls: [
          { toolCallId: 'new', toolName: 'delete_file', arguments: {} },
          { toolCallId: 'call_1', toolName: 'delete_file', arguments: { path: '/b' } },
        ],
      },
      commandId(),
    );
    expect(codeOf(outcome)).toBe('tool-call-mismatch');
    expect(await store.head()).toBe(head);
  });

  it.each([
    ['its own principal and no other agent, when it lists none', [], { agent: 'done', 'billing-eu': 'forbidden' }],
    ['the agents that it lists', ['billing-*'], { agent: 'done', 'billing-eu': 'done', root: 'forbidden' }],
    ['every agent, when it says so', ['*'], { root: 'done' }],
  ])('lets a principal speak for %s', async (_, agentIds, expected) => {
    const limited = actor('agent', 'agent', { agentIds });
    for (const [agentId, code] of Object.entries(expected)) {
      const body = { runId: agentId, agentId, calls: [{ toolCallId: 'c', toolName: 'get_file', arguments: {} }] };
      expect(codeOf(await api.requestToolCalls(commands, limited, body, commandId()))).toBe(code);
    }
    const own = { runId: 'own', calls: [{ toolCallId: 'c', toolName: 'get_file', arguments: {} }] };
    const [callId = ''] = done(await api.requestToolCalls(commands, limited, own, commandId())).callIds;
    expect((await callOf(callId)).request.agentId).toBe('agent');
  });

  it('refuses arguments that do not fit their schema, with every path, and takes a schema as far as it can be checked', async () => {
    const toolSchema: JsonObject = {
      type: 'object',
      properties: { amount: { type: 'number', maximum: 10 }, to: { type: 'string', pattern: '^[A-Z]+$' } },
      required: ['amount'],
      additionalProperties: false,
    };
    const call = { toolCallId: 'c', toolName: 'refund', arguments: { amount: 11, to: 'x', extra: 1 }, toolSchema };
    const outcome = await api.requestToolCalls(commands, agent, { runId: 'r', calls: [call] }, commandId());
    expect(outcome).toMatchObject({ status: 'refused', refusal: { code: 'invalid-arguments' } });
    const paths = outcome.status === 'refused' ? outcome.refusal.errors?.map((error) => error.path) : [];
    expect(paths?.sort()).toEqual(['calls.0.arguments', 'calls.0.arguments.amount', 'calls.0.arguments.to']);
    expect(await store.head()).toBe(0);
    const odd = { ...call, arguments: { amount: 1 }, toolSchema: { ...toolSchema, minProperties: 'many' } };
    const [callId = ''] = done(
      await api.requestToolCalls(commands, agent, { runId: 'r', calls: [odd] }, commandId()),
    ).callIds;
    const notes = [{ pointer: '/minProperties', why: 'must be a whole number, 0 or more' }];
    expect((await callOf(callId)).request).toMatchObject({ schemaNotes: notes, toolSchema: odd.toolSchema });
  });

  it('names what is wrong with every call, not only with the first', async () => {
    const toolSchema: JsonObject = { type: 'object', required: ['path'] };
    const calls = ['a', 'b'].map((toolCallId) => ({ toolCallId, toolName: 'get_x', arguments: {}, toolSchema }));
    const outcome = await api.requestToolCalls(commands, agent, { runId: 'r', calls }, commandId());
    const paths = outcome.status === 'refused' ? outcome.refusal.errors?.map((error) => error.path) : [];
    expect(paths).toEqual(['calls.0.arguments', 'calls.1.arguments']);
  });

  it('does not hang on a pattern that makes backtracking engines hang', async () => {
    const toolSchema = { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } };
    const call = { toolCallId: 'c', toolName: 'get_x', arguments: { a: `${'a'.repeat(50_000)}!` }, toolSchema };
    expect(codeOf(await api.requestToolCalls(commands, agent, { runId: 'r', calls: [call] }, commandId()))).toBe(
      'invalid-arguments',
    );
  });

  it("takes the service's own tools from the operator's file, the agent can only be stricter", async () => {
    tools.set('get_report', {
      needsApproval: true,
      idempotent: true,
      inputSchema: { type: 'object', required: ['id'] },
    });
    const invalid = { toolCallId: 'a', toolName: 'get_report', arguments: {}, toolSchema: {} };
    expect(codeOf(await api.requestToolCalls(commands, agent, { runId: 'r', calls: [invalid] }, commandId()))).toBe(
      'invalid-arguments',
    );
    const byClient = { toolCallId: 'a', toolName: 'get_report', arguments: { id: 1 }, clientExecuted: true };
    expect(codeOf(await api.requestToolCalls(commands, agent, { runId: 'r', calls: [byClient] }, commandId()))).toBe(
      'invalid-request',
    );
    const callId = await one({ toolName: 'get_report', arguments: { id: 1 }, needsApproval: false, idempotent: false });
    expect(await stateOf(callId)).toBe('awaiting_approval');
    expect((await callOf(callId)).request.idempotent).toBe(true);
    done(await approve(callId));
    expect(codeOf(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId()))).toBe('forbidden');
    const service = actor(serviceResolver, 'resolver');
    expect(done(await api.claim(commands, service, callId, { resolverId: 's' }, commandId())).attempt).toBe(1);
  });
});

describe('answering', () => {
  it('records one answer when many people answer at once, and tells the others who won', async () => {
    const callId = await one();
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, index) => approve(callId, actor(`person-${String(index)}`, 'approver'))),
    );
    expect(outcomes.filter((outcome) => outcome.status === 'done')).toHaveLength(1);
    const lost = outcomes.find((outcome) => outcome.status === 'refused');
    expect(lost).toMatchObject({
      refusal: {
        code: 'already-resolved',
        extra: { resolution: 'approved', via: 'api', respondedBy: expect.any(String) },
      },
    });
  });

  it.each([
    ['hides a value where the call hid none', { path: '/a' }, { path: '/a', password: 'p' }, false],
    ['hides none where the call hid a value', { path: '/a', password: 'p' }, { path: '/a' }, false],
    ['hides another value', { password: 'p' }, { password: 'q' }, false],
    ['writes the hidden value again', { password: 'p' }, { password: 'p' }, false],
    ['hides none, as the call did', { path: '/a' }, { path: '/b' }, true],
  ])('an edit that %s shares its salt only with a like one', async (_what, before, after, isShared) => {
    const callId = await one({ arguments: before });
    const decision = { type: 'edit', arguments: after } as const;
    done(await api.respond(commands, alice, approvalIdOf(callId, 1), { decision }, commandId()));
    const { request, action } = await callOf(callId);
    expect(action.salt === request.salt).toBe(isShared);
    const claimed = done(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId()));
    expect(actionDigest(claimed.digestInput, claimed.arguments)).toBe(claimed.actionDigest);
  });

  it('binds an edit: masks kept, schema checked, a digest of its own', async () => {
    const toolSchema = { type: 'object', properties: { path: { type: 'string' } } };
    const callId = await one({ arguments: { path: '/a', password: 'hunter2' }, toolSchema });
    const { request: recorded } = await callOf(callId);
    const mask = maskOf('hunter2', recorded.salt);
    const edit = (args: JsonObject) =>
      api.respond(
        commands,
        alice,
        approvalIdOf(callId, 1),
        { decision: { type: 'edit', arguments: args } },
        commandId(),
      );
    expect(codeOf(await edit({ path: 7, password: mask }))).toBe('invalid-arguments');
    expect(codeOf(await edit({ path: mask }))).toBe('invalid-arguments');
    done(await edit({ path: '/b', password: mask }));
    const claimed = done(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId()));
    expect(claimed.arguments).toEqual({ path: '/b', password: 'hunter2' });
    expect(claimed.actionDigest).toBe(actionDigest(claimed.digestInput, claimed.arguments));
    expect(claimed.actionDigest).not.toBe(recorded.actionDigest);
  });

  it('does not know ids that are malformed, unknown, or of another tenant', async () => {
    const callId = await one();
    const stranger = actor('eve', 'approver', { tenant: 'other' });
    const respond = (by: Actor, id: string) =>
      api.respond(commands, by, id, { decision: { type: 'approve' } }, commandId());
    expect(codeOf(await respond(stranger, approvalIdOf(callId, 1)))).toBe('unknown-approval');
    expect(codeOf(await respond(alice, approvalIdOf(callId, 2)))).toBe('unknown-approval');
    expect(codeOf(await respond(alice, 'apr_nonsense'))).toBe('unknown-approval');
    expect(codeOf(await api.withdraw(commands, alice, 'apr_nonsense', commandId()))).toBe('unknown-approval');
    expect(codeOf(await api.withdraw(commands, stranger, approvalIdOf(callId, 1), commandId()))).toBe(
      'unknown-approval',
    );
    for (const id of [callId, 'tc_nonsense']) {
      expect(codeOf(await api.cancelToolCall(commands, stranger, id, 'x', commandId()))).toBe('not-found');
    }
  });

  it('recognises a repeated command, and does not show its result to another tenant', async () => {
    const callId = await one();
    const body = { decision: { type: 'approve' } } as const;
    const id = commandId();
    const first = await api.respond(commands, alice, approvalIdOf(callId, 1), body, id);
    expect(await api.respond(commands, alice, approvalIdOf(callId, 1), body, id)).toEqual(first);
    const stranger = actor('eve', 'approver', { tenant: 'other' });
    expect(codeOf(await api.respond(commands, stranger, approvalIdOf(callId, 1), body, id))).toBe('unknown-approval');
  });
});

describe('answering many at once', () => {
  const bulk = (approvalIds: readonly string[], mode?: 'independent' | 'all-or-nothing') =>
    api.respondInBulk(
      commands,
      alice,
      { approvalIds: [...approvalIds], decision: { type: 'approve' }, ...(mode === undefined ? {} : { mode }) },
      commandId(),
    );

  it('answers each by itself, and says what became of it', async () => {
    const callIds = await request([{ toolCallId: 'a' }, { toolCallId: 'b' }]);
    const ids = callIds.map((callId) => approvalIdOf(callId, 1));
    done(await api.respond(commands, alice, ids[0] ?? '', { decision: { type: 'deny' } }, commandId()));
    expect(done(await bulk([...ids, 'apr_nonsense', ids[1] ?? '']))).toEqual([
      { approvalId: ids[0], status: 'refused', refusal: expect.objectContaining({ code: 'already-resolved' }) },
      { approvalId: ids[1], status: 'done' },
      {
        approvalId: 'apr_nonsense',
        status: 'refused',
        refusal: expect.objectContaining({ code: 'unknown-approval' }),
      },
    ]);
  });

  it('answers none when one of all-or-nothing cannot be answered', async () => {
    const callIds = await request([{ toolCallId: 'a' }, { toolCallId: 'b' }]);
    const ids = callIds.map((callId) => approvalIdOf(callId, 1));
    done(await api.respond(commands, alice, ids[0] ?? '', { decision: { type: 'deny' } }, commandId()));
    const head = await store.head();
    const results = done(await bulk(ids, 'all-or-nothing'));
    expect(results.map((result) => result.status)).toEqual(['refused', 'skipped']);
    expect(done(await bulk(['apr_nonsense', ids[1] ?? ''], 'all-or-nothing')).map((result) => result.status)).toEqual([
      'refused',
      'skipped',
    ]);
    expect(await store.head()).toBe(head);
    expect(done(await bulk([ids[1] ?? ''], 'all-or-nothing'))).toEqual([{ approvalId: ids[1], status: 'done' }]);
  });

  it.each([
    ['recorded', {}],
    ['a dry run', { dryRun: true }],
    ['refused', { decision: { type: 'edit', arguments: { a: '[masked sha256:0]' } } }],
  ] as const)('lets others have their turn before each response: %s', async (_, more) => {
    const callIds = await request([{ toolCallId: 'a' }, { toolCallId: 'b' }, { toolCallId: 'c' }]);
    const approvalIds = callIds.map((callId) => approvalIdOf(callId, 1));
    let [asked, waited] = [0, 0];
    const breathe = () => ((asked += 1) % 2 === 1 ? setImmediate().then(() => void (waited += 1)) : undefined);
    const body = { approvalIds, decision: { type: 'approve' }, ...more } as const;
    expect(done(await api.respondInBulk(commands, alice, body, commandId(), breathe))).toHaveLength(3);
    expect(asked).toBeGreaterThanOrEqual(3);
    expect(waited).toBeGreaterThan(0);
  });

  it('completes all-or-nothing when a crash came between, and does not take its own answers for those of others', async () => {
    const callIds = await request([{ toolCallId: 'a' }, { toolCallId: 'b' }]);
    const approvalIds = callIds.map((callId) => approvalIdOf(callId, 1));
    const id = commandId();
    const decision = { type: 'approve' } as const;
    // The remains of a first try that crashed after one of its responses.
    done(await api.respond(commands, alice, approvalIds[0] ?? '', { decision }, id));
    const body = { approvalIds, decision, mode: 'all-or-nothing' } as const;
    const results = approvalIds.map((approvalId) => ({ approvalId, status: 'done' }));
    expect(done(await api.respondInBulk(commands, alice, body, id))).toEqual(results);
    const head = await store.head();
    expect(done(await api.respondInBulk(commands, alice, body, id))).toEqual(results);
    expect(await store.head()).toBe(head);
  });
});

describe('an all-or-nothing batch', () => {
  it('runs only when every member may', async () => {
    const [a = '', b = ''] = await request([{ toolCallId: 'a' }, { toolCallId: 'b' }], { batchMode: 'all-or-nothing' });
    done(await approve(a));
    expect(codeOf(await api.claim(commands, worker, a, { resolverId: 'w' }, commandId()))).toBe('batch-incomplete');
    done(await approve(b));
    done(await api.claim(commands, worker, a, { resolverId: 'w' }, commandId()));
    done(await api.reportExecution(commands, worker, a, { attempt: 1, status: 'failed', error: 'x' }, commandId()));
    expect(codeOf(await api.claim(commands, worker, b, { resolverId: 'w' }, commandId()))).toBe('done');
  });

  it.each(['deny', 'cancel', 'expire'] as const)('is cancelled as a whole by one %s', async (how) => {
    const [a = '', b = ''] = await request([{ toolCallId: 'a', expiresInMs: 1000 }, { toolCallId: 'b' }], {
      batchMode: 'all-or-nothing',
    });
    if (how === 'deny')
      done(await api.respond(commands, alice, approvalIdOf(a, 1), { decision: { type: 'deny' } }, commandId()));
    if (how === 'cancel') done(await api.cancelToolCall(commands, agent, a, 'not needed', commandId()));
    if (how === 'expire') {
      await clock.advanceAsync(1000);
      expect(await api.fireDue(commands, 'default', a)).toBeGreaterThan(0);
    }
    expect(await stateOf(b)).toBe('cancelled');
    const head = await store.head();
    await api.closeBatch(commands, 'default', a);
    expect(await store.head()).toBe(head);
  });

  it('is closed by the process manager when a crash came between', async () => {
    const [a = '', b = ''] = await request([{ toolCallId: 'a' }, { toolCallId: 'b' }], { batchMode: 'all-or-nothing' });
    const stream = toolCallStream(a);
    const denial = {
      type: 'CancelToolCall',
      at: clock.now(),
      reason: 'x',
      cancelledBy: 'agent',
      reach: 'own',
    } as const;
    await handler.handleCommand(stream, (state) => toolCallDecider.decide(denial, state), {
      tenant: 'default',
      callId: a,
      commandId: commandId(),
    });
    expect(await stateOf(b)).toBe('awaiting_approval');
    expect(await api.closeBatch(commands, 'other', a)).toBe(0);
    expect(await api.closeBatch(commands, 'default', a)).toBeGreaterThan(0);
    expect(await stateOf(b)).toBe('cancelled');
  });
});

describe('a response under the id of an earlier one', () => {
  it.each([
    ['deny', 'approve', 'approved'],
    ['approve', 'deny', 'denied'],
  ] as const)('that says %s where the recorded one says %s is refused', async (second, first, state) => {
    const callId = await one({ needsApproval: true });
    const respond = (type: 'approve' | 'deny', id: string) =>
      api.respond(commands, alice, approvalIdOf(callId, 1), { decision: { type } }, id);
    const id = commandId();
    expect(codeOf(await respond(first, id))).toBe('done');
    expect(codeOf(await respond(first, id))).toBe('done');
    expect(codeOf(await respond(second, id))).toBe('idempotency-key-reused');
    expect(await stateOf(callId)).toBe(state);
  });
});

it.each([
  { type: 'edit', arguments: { n: 1 } },
  { type: 'answer', output: 'other' },
] as const)(
  'a response under the id of an approval is refused where it is of another kind: $type',
  async (decision) => {
    const callId = await one({ needsApproval: true });
    const respond = (what: RespondBody['decision'], id: string) =>
      api.respond(commands, alice, approvalIdOf(callId, 1), { decision: what }, id);
    const [approval, answer] = [commandId(), commandId()];
    expect(codeOf(await respond({ type: 'approve' }, approval))).toBe('done');
    expect(codeOf(await respond(decision, approval))).toBe('idempotency-key-reused');
    const other = await one({ needsApproval: true, toolCallId: 'b' });
    const answered = (output: string) =>
      api.respond(commands, alice, approvalIdOf(other, 1), { decision: { type: 'answer', output } }, answer);
    expect([codeOf(await answered('a')), codeOf(await answered('a'))]).toEqual(['done', 'done']);
    expect(codeOf(await answered('b'))).toBe('idempotency-key-reused');
  },
);

describe('executing', () => {
  it('gives the claim once, the same again for a repeat, and takes the outcome of its holder alone', async () => {
    const callId = await one({ toolName: 'get_file' });
    const id = commandId();
    const claimed = done(await api.claim(commands, worker, callId, { resolverId: 'w', leaseMs: 1000 }, id));
    expect(done(await api.claim(commands, worker, callId, { resolverId: 'w', leaseMs: 1000 }, id))).toEqual(claimed);
    expect(codeOf(await api.claim(commands, worker, callId, { resolverId: 'x' }, commandId()))).toBe('already-claimed');
    const other = actor('thief', 'resolver');
    const report = { attempt: 1, status: 'succeeded', output: 1 } as const;
    expect(codeOf(await api.reportExecution(commands, other, callId, report, commandId()))).toBe('stale-claim');
    expect(codeOf(await api.renewClaim(commands, other, callId, { attempt: 1 }, commandId()))).toBe('stale-claim');
    const renewed = done(await api.renewClaim(commands, worker, callId, { attempt: 1, leaseMs: 5000 }, commandId()));
    expect(renewed.leaseUntil > claimed.leaseUntil).toBe(true);
    done(await api.reportExecution(commands, worker, callId, report, commandId()));
    expect(await stateOf(callId)).toBe('succeeded');
    expect(codeOf(await api.claim(commands, worker, callId, { resolverId: 'w', leaseMs: 1000 }, id))).toBe(
      'already-settled',
    );
  });

  it('leaves a lapsed claim unknown until a person says what happened', async () => {
    const callId = await one({ toolName: 'get_file' });
    done(await api.claim(commands, worker, callId, { resolverId: 'w', leaseMs: 1000 }, commandId()));
    expect(await api.fireDue(commands, 'default', callId)).toBeNull();
    await clock.advanceAsync(1000);
    expect(await api.fireDue(commands, 'default', callId)).toBeGreaterThan(0);
    expect(await stateOf(callId)).toBe('unknown');
    const admin = actor('root', 'admin');
    done(await api.reconcile(commands, admin, callId, { status: 'retry', note: 'seen nothing' }, commandId()));
    expect(await stateOf(callId)).toBe('allowed');
    expect(done(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId())).attempt).toBe(2);
  });

  it('never hands the claim of one worker to another that repeats a request of its own', async () => {
    const callId = await one({ toolName: 'get_file' });
    const [claimId, renewalId] = [commandId(), commandId()];
    done(await api.claim(commands, worker, callId, { resolverId: 'first', leaseMs: 1000 }, claimId));
    done(await api.renewClaim(commands, worker, callId, { attempt: 1, leaseMs: 2000 }, renewalId));
    await clock.advanceAsync(2000);
    await api.fireDue(commands, 'default', callId);
    const note = { status: 'retry', note: 'seen nothing' } as const;
    done(await api.reconcile(commands, actor('root', 'admin'), callId, note, commandId()));
    done(await api.claim(commands, worker, callId, { resolverId: 'second' }, commandId()));
    const repeated = await api.claim(commands, worker, callId, { resolverId: 'first', leaseMs: 1000 }, claimId);
    expect(codeOf(repeated)).toBe('already-claimed');
    const renewed = await api.renewClaim(commands, worker, callId, { attempt: 1, leaseMs: 2000 }, renewalId);
    expect(codeOf(renewed)).toBe('stale-claim');
  });

  it('gives the fencing token of a later claim to no repeat of an earlier one, not even to the same worker', async () => {
    const callId = await one({ toolName: 'get_file' });
    const [first, second] = [commandId(), commandId()];
    const body = { resolverId: 'w', leaseMs: 1000 };
    done(await api.claim(commands, worker, callId, body, first));
    await clock.advanceAsync(1000);
    await api.fireDue(commands, 'default', callId);
    const note = { status: 'retry', note: 'seen nothing' } as const;
    done(await api.reconcile(commands, actor('root', 'admin'), callId, note, commandId()));
    // The claim was released, and nobody has the next one.
    const released = await api.claim(commands, worker, callId, body, first);
    expect(codeOf(released)).toBe('already-claimed');
    const claimed = done(await api.claim(commands, worker, callId, body, second));
    expect(claimed.attempt).toBe(2);
    expect(codeOf(await api.claim(commands, worker, callId, body, first))).toBe('already-claimed');
    expect(done(await api.claim(commands, worker, callId, body, second))).toEqual(claimed);
  });

  it('refuses a second report that says something else, and any report of another principal', async () => {
    const callId = await one({ toolName: 'get_file' });
    done(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId()));
    const report = { attempt: 1, status: 'succeeded', output: { id: 1 } } as const;
    done(await api.reportExecution(commands, worker, callId, report, commandId()));
    const head = await store.head();
    expect(codeOf(await api.reportExecution(commands, worker, callId, report, commandId()))).toBe('done');
    const other = { ...report, output: { id: 2 } };
    expect(codeOf(await api.reportExecution(commands, worker, callId, other, commandId()))).toBe('stale-claim');
    const thief = actor('thief', 'resolver');
    expect(codeOf(await api.reportExecution(commands, thief, callId, report, commandId()))).toBe('stale-claim');
    expect(await store.head()).toBe(head);
  });

  it('accepts a report after the lease only from the principal that claimed', async () => {
    const callId = await one({ toolName: 'get_file' });
    done(await api.claim(commands, worker, callId, { resolverId: 'w', leaseMs: 1000 }, commandId()));
    await clock.advanceAsync(1000);
    expect(await api.fireDue(commands, 'default', callId)).toBeGreaterThan(0);
    const report = { attempt: 1, status: 'succeeded', output: 1 } as const;
    const thief = actor('thief', 'resolver');
    expect(codeOf(await api.reportExecution(commands, thief, callId, report, commandId()))).toBe('stale-claim');
    expect(await stateOf(callId)).toBe('unknown');
    done(await api.reportExecution(commands, worker, callId, report, commandId()));
    expect(await stateOf(callId)).toBe('succeeded');
  });

  it('takes the output of a client-executed call from its requester alone', async () => {
    const callId = await one({ toolName: 'get_form', clientExecuted: true });
    const output = { status: 'succeeded', output: { name: 'x' } } as const;
    expect(codeOf(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId()))).toBe('not-approved');
    expect(codeOf(await api.submitClientOutput(commands, actor('eve', 'agent'), callId, output, commandId()))).toBe(
      'forbidden',
    );
    done(await api.submitClientOutput(commands, agent, callId, output, commandId()));
    expect(await stateOf(callId)).toBe('succeeded');
  });
});

describe('asking and cancelling', () => {
  it('asks about an allowed call, and again after the approval expired', async () => {
    const callId = await one({ toolName: 'get_file' });
    done(await api.requestApproval(commands, agent, callId, { reason: 'odd path', expiresInMs: 1000 }, commandId()));
    expect(codeOf(await api.requestApproval(commands, agent, callId, {}, commandId()))).toBe('already-pending');
    await clock.advanceAsync(1000);
    expect(await api.fireDue(commands, 'default', callId)).toBeGreaterThan(0);
    expect(await stateOf(callId)).toBe('expired');
    done(await api.requestApproval(commands, agent, callId, {}, commandId()));
    expect((await callOf(callId)).approvals.map((approval) => approval.round)).toEqual([1, 2]);
  });
});

describe('ownership', () => {
  const eve = actor('eve', 'agent', { agentIds: ['*'] });
  const admin = actor('root', 'admin');
  const more = { description: 'Approved by the CFO already' };

  it('keeps every other agent from asking, describing, cancelling and submitting', async () => {
    const [pending = '', allowed = '', client = ''] = await request([
      { toolCallId: 'a' },
      { toolCallId: 'b', toolName: 'get_file' },
      { toolCallId: 'c', toolName: 'get_form', clientExecuted: true },
    ]);
    const head = await store.head();
    const output = { status: 'succeeded', output: 1 } as const;
    expect([
      codeOf(await api.requestApproval(commands, eve, allowed, more, commandId())),
      codeOf(await api.requestApproval(commands, eve, pending, more, commandId())),
      codeOf(await api.describeApproval(commands, eve, pending, more, commandId())),
      codeOf(await api.cancelToolCall(commands, eve, pending, 'x', commandId())),
      codeOf(await api.submitClientOutput(commands, eve, client, output, commandId())),
    ]).toEqual(Array.from({ length: 5 }, () => 'forbidden'));
    expect(await store.head()).toBe(head);
    done(await api.requestApproval(commands, admin, allowed, more, commandId()));
    done(await api.describeApproval(commands, admin, pending, more, commandId()));
    done(await api.cancelToolCall(commands, admin, pending, 'x', commandId()));
    done(await api.submitClientOutput(commands, admin, client, output, commandId()));
  });

  it('lets only the owner ask again after expiry', async () => {
    const callId = await one({ expiresInMs: 1000 });
    await clock.advanceAsync(1000);
    expect(await api.fireDue(commands, 'default', callId)).toBeGreaterThan(0);
    const again = { ...more, expiresInMs: 'never', allowedDecisions: ['approve'] } as const;
    const body = { ...again, allowedDecisions: [...again.allowedDecisions] };
    expect(codeOf(await api.requestApproval(commands, eve, callId, body, commandId()))).toBe('forbidden');
    done(await api.requestApproval(commands, agent, callId, {}, commandId()));
  });

  it.each([true, false])(
    'refuses the request of a call that another principal has recorded, laxer or equal (write only: %s)',
    async (writeOnly) => {
      const here = { ...ports, writeOnly };
      const call = { toolCallId: 'call_1', toolName: 'get_file', arguments: { path: '/etc/hosts' } };
      const body = { runId: 'run-1', agentId: 'agent', calls: [{ ...call, needsApproval: false }] };
      done(await api.requestToolCalls(here, eve, body, commandId()));
      const wanted = { ...body, calls: [{ ...call, needsApproval: true }] };
      expect(codeOf(await api.requestToolCalls(here, agent, wanted, commandId()))).toBe('tool-call-mismatch');
      expect(codeOf(await api.requestToolCalls(here, agent, body, commandId()))).toBe('tool-call-mismatch');
      expect(codeOf(await api.requestToolCalls(here, admin, body, commandId()))).toBe('forbidden');
    },
  );

  it.each([true, false])(
    'opens the approval when the owner repeats a request with needsApproval (write only: %s)',
    async (writeOnly) => {
      const here = { ...ports, writeOnly };
      const call = { toolCallId: 'call_1', toolName: 'get_file', arguments: {} };
      const send = (needsApproval: boolean, id = commandId()) =>
        api.requestToolCalls(here, agent, { runId: 'run-1', calls: [{ ...call, needsApproval }] }, id);
      // Also under the same id: a command with other content is another command.
      const [callId = ''] = done(await send(false, 'same')).callIds;
      expect(await stateOf(callId)).toBe('allowed');
      done(await send(true, writeOnly ? 'same' : commandId()));
      expect(await stateOf(callId)).toBe('awaiting_approval');
      const head = await store.head();
      done(await send(true));
      done(await send(false));
      expect(await store.head()).toBe(head);
    },
  );

  it.each([
    ['for another folder', { labels: { cwd: '/production' } }, {}],
    ['of another MCP server', { labels: { cwd: '/staging', mcpServer: 'other' } }, {}],
    ['in another batch', { labels: { cwd: '/staging' } }, { batchId: 'b' }],
  ])('refuses a request under the id of a message that was recorded, but %s', async (_, other, batch) => {
    const here = { ...ports, writeOnly: true };
    const call = { toolCallId: 'call_1', toolName: 'get_file', arguments: {}, labels: { cwd: '/staging' } };
    const send = (given: typeof call, more = {}) =>
      api.requestToolCalls(here, agent, { runId: 'run-1', calls: [given], ...more }, 'same');
    done(await send(call));
    done(await send(call));
    expect(codeOf(await send({ ...call, ...other }, batch))).toBe('tool-call-mismatch');
  });

  it('refuses a repeat with needsApproval after the claim', async () => {
    const callId = await one({ toolName: 'get_file' });
    done(await api.claim(commands, worker, callId, { resolverId: 'w' }, commandId()));
    const call = { toolCallId: 'call_1', toolName: 'get_file', arguments: {}, needsApproval: true };
    const outcome = await api.requestToolCalls(commands, agent, { runId: 'run-1', calls: [call] }, commandId());
    expect(codeOf(outcome)).toBe('tool-call-mismatch');
  });

  it("takes a repeat of a call of the service's own tool for what it was when the operator's file has changed", async () => {
    tools.set('get_report', { needsApproval: false, idempotent: false, inputSchema: null });
    const callId = await one({ toolName: 'get_report' });
    tools.set('get_report', { needsApproval: true, idempotent: true, inputSchema: null });
    expect(await one({ toolName: 'get_report' })).toBe(callId);
    expect(await stateOf(callId)).toBe('allowed');
    await one({ toolName: 'get_report', needsApproval: true });
    expect(await stateOf(callId)).toBe('awaiting_approval');
  });

  it('blocks a call that the policy blocks by the time that people are asked', async () => {
    const callId = await one({ toolName: 'get_file' });
    const before = policies.of('default');
    const judge: Policy['judge'] = (calls, nowMs) =>
      before
        .judge(calls, nowMs)
        .map((one) => ({ ...one, verdict: { ...one.verdict, outcome: 'block', why: ['never'] } }));
    policies = { of: () => ({ ...before, judge }) };
    const id = commandId();
    expect(codeOf(await api.requestApproval(commands, agent, callId, {}, id))).toBe('blocked-by-policy');
    expect(codeOf(await api.requestApproval(commands, agent, callId, {}, id))).toBe('blocked-by-policy');
    expect(await stateOf(callId)).toBe('blocked');
    expect((await callOf(callId)).approvals).toEqual([]);
  });
});
