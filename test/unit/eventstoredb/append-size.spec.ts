import { describe, expect, it } from '@jest/globals';
import {
  abandonClaim,
  cancelRun,
  notCancelledOf,
  cancelToolCall,
  claim,
  createWriteSide,
  describeApproval,
  reconcile,
  reportExecution,
  requestApproval,
  requestToolCalls,
  respond,
  reveal,
  submitClientOutput,
} from '@countersign/commands';
import { readable } from '@countersign/event-store/testing';
import type { Actor, CommandPorts } from '@countersign/commands';
import {
  approvalIdOf,
  deriveCallId,
  deliveryEventTypes,
  eventTypes,
  grantEventTypes,
  limits,
  systemEventTypes,
} from '@countersign/contracts';
import type { BatchMode, EventType, JsonObject, RecordedEvent, RequestedCall } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';

import { createRefusals } from '@countersign/ledger/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { cleanUpAfterEach, openReadyStore, startServer } from './harness.js';

cleanUpAfterEach();

/** The append limit of a server of version 24, also of the test server. */
const appendBytesMax = 1024 * 1024;

/** A character that takes six bytes in JSON, more than any other; where it is not allowed, one of three bytes. */
const [heavy, allowed] = ['\u0001', '\u20ac'];
const text = heavy.repeat(8192);
const id = (name: string): string => name + allowed.repeat(256 - name.length);

const actor = (principal: string, role: 'agent' | 'approver' | 'resolver' | 'admin'): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set([role]), groups: [], agentIds: ['*'] },
  ...{ via: 'api', assurance: 'high' },
});
const [agent, ann, worker] = [actor('agent', 'agent'), actor('ann', 'approver'), actor('worker', 'resolver')];
const admin = actor('root', 'admin');

/** The maximum number of hidden values, with names of the maximum length, and arguments of 256 KiB around them. */
function heaviestArguments(): JsonObject {
  const hidden = Object.fromEntries(Array.from({ length: 3500 }, (_, n) => [`password${String(n)}`, '1']));
  const args = { ['k'.repeat(20)]: hidden, more: '' };
  return { ...args, more: 'x'.repeat(limits.argumentsBytesMax - Buffer.byteLength(JSON.stringify(args))) };
}

/** A larger one is not recorded with arguments of the maximum size. */
function heaviestSchema(): JsonObject {
  return { type: 'object', description: 'x'.repeat(127 * 1024) };
}

type Changes = { readonly [Name in keyof RequestedCall]?: RequestedCall[Name] | undefined };

function heaviestCall(toolCallId: string, more: Changes = {}): RequestedCall {
  return {
    toolCallId: id(toolCallId),
    toolName: id('send'),
    arguments: heaviestArguments(),
    toolSchema: heaviestSchema(),
    needsApproval: true,
    reason: text,
    description: text,
    labels: Object.fromEntries(
      Array.from({ length: 64 }, (_, n) => [String(n) + heavy.repeat(126), heavy.repeat(512)]),
    ),
    ...more,
  } as RequestedCall;
}

interface Opened {
  readonly store: EventStore;
  readonly commands: CommandPorts;
  readonly ports: {
    readonly clock: Clock;
    readonly ids: ReturnType<typeof createSystemIds>;
  };
  readonly recorded: () => Promise<readonly RecordedEvent[]>;
}

async function open(): Promise<Opened> {
  const server = await startServer();
  const { store } = await openReadyStore(server.url, { timeouts: { appendMs: 20_000, readMs: 20_000 } });
  const ports = { clock: systemClock, ids: createSystemIds() };
  const commands = createWriteSide({
    store,
    tools: { find: () => undefined },
    log: createSilentLog(),
    ...ports,
  });
  const recorded = async (): Promise<readonly RecordedEvent[]> => {
    const events: RecordedEvent[] = [];
    for (;;) {
      const page = await store.readAll(events.at(-1)?.position ?? 0, 100);
      if (page.length === 0) return events;
      events.push(...readable(page));
    }
  };
  return { store, commands, ports, recorded };
}

/** Requests one call of the maximum size; returns its id and its approval's id. */
async function requested(
  { commands }: Opened,
  name: string,
  more: Changes = {},
  batchMode: BatchMode = 'independent',
): Promise<{ readonly callId: string; readonly approvalId: string }> {
  const runId = id('run');
  const call = heaviestCall(name, more);
  const others = Array.from({ length: 63 }, (_, n) => ({
    toolCallId: `${name}-${String(n)}`,
    toolName: 'send',
    arguments: {},
  }));
  const body = { runId, agentId: id('agent'), batchId: id(name), batchMode, calls: [call, ...others] };
  const outcome = await requestToolCalls(commands, agent, body, `request ${name}`);
  if (outcome.status === 'refused') throw new Error(outcome.refusal.detail);
  const callId = deriveCallId('default', runId, call.toolCallId);
  return { callId, approvalId: approvalIdOf(callId, 1) };
}

const output = 'x'.repeat(limits.outputBytesMax - 2);

/** Each kind of event that can be large, with the maximum size that the API allows. */
const heaviest: Partial<Record<EventType, (opened: Opened) => Promise<unknown>>> = {
  ToolCallRequested: (opened) => requested(opened, 'a'),
  ToolCallAllowed: (opened) => requested(opened, 'a', { needsApproval: false }),
  ApprovalRequested: async (opened) => {
    const { callId } = await requested(opened, 'a', { needsApproval: false });
    return requestApproval(opened.commands, agent, callId, { reason: text, description: text }, 'ask');
  },
  ToolCallQueued: async (opened) => {
    const { callId } = await requested(opened, 'a', { needsApproval: false }, 'sequential');
    return requestApproval(opened.commands, agent, callId, { reason: text, description: text }, 'ask');
  },
  ApprovalDescribed: async (opened) => {
    const { callId } = await requested(opened, 'a', { reason: undefined, description: undefined });
    return describeApproval(opened.commands, agent, callId, { reason: text, description: text }, 'describe');
  },
  ValuesRevealed: async (opened) => reveal(opened.commands, ann, (await requested(opened, 'a')).approvalId, 'reveal'),
  ApprovalResponded: async (opened) => {
    const { approvalId } = await requested(opened, 'a');
    const edited = { ...heaviestArguments(), more: 'y' };
    const words = { reason: text, instruction: text };
    await respond(
      opened.commands,
      ann,
      approvalId,
      { decision: { type: 'edit', arguments: edited }, ...words },
      'edit',
    );
    const other = await requested(opened, 'b');
    return respond(
      opened.commands,
      ann,
      other.approvalId,
      { decision: { type: 'answer', output }, ...words },
      'answer',
    );
  },
  ToolCallCancelled: async (opened) =>
    cancelToolCall(opened.commands, agent, (await requested(opened, 'a')).callId, text, 'cancel'),
  ExecutionClaimed: async (opened) => {
    const { callId } = await requested(opened, 'a', { needsApproval: false });
    return claim(opened.commands, worker, callId, { resolverId: id('r') }, 'claim');
  },
  ExecutionSucceeded: async (opened) => {
    const { callId } = await requested(opened, 'a', { needsApproval: false });
    await claim(opened.commands, worker, callId, { resolverId: id('r') }, 'claim');
    return reportExecution(opened.commands, worker, callId, { attempt: 1, status: 'succeeded', output }, 'report');
  },
  ExecutionFailed: async (opened) => {
    const { callId } = await requested(opened, 'a', { needsApproval: false, clientExecuted: true });
    return submitClientOutput(opened.commands, agent, callId, { status: 'failed', error: output }, 'report');
  },
  ExecutionReconciled: async (opened) => {
    const { callId } = await requested(opened, 'a', { needsApproval: false });
    await claim(opened.commands, worker, callId, { resolverId: id('r') }, 'claim');
    await abandonClaim(opened.commands, worker, callId, { attempt: 1, reason: 'lost' }, 'abandon');
    return reconcile(opened.commands, admin, callId, { status: 'failed', note: text }, 'reconcile');
  },
  RequestRefused: async ({ store, ports }) => {
    const refusals = createRefusals({ store, ...ports });
    const toolCallIds = Array.from({ length: 256 }, () => id('t'));
    const refused = (n: number) => ({
      ...{ tenant: 'default', runId: id('run'), commandId: `refused ${String(n)}` },
      data: { requestId: id(String(n)), code: 'invalid-request', detail: allowed.repeat(2000), toolCallIds },
    });
    await Promise.all(Array.from({ length: 30 }, (_, n) => refusals.record(refused(n))));
  },
  RunCancelled: async ({ store, ports, commands: real }) => {
    const open = Array.from({ length: 45_000 }, (_, n) => deriveCallId('default', 'run', String(n)));
    const settled = { status: 'refused', refusal: { code: 'already-settled', detail: 'it has ended' } } as const;
    const handleCommand = async () => ({ ...settled, state: { status: 'unrequested' }, revision: 0 }) as const;
    const commands = { ...real, handler: { ...real.handler, handleCommand } };
    const requestedBy = agent.principal;
    const ofRun = { calls: open.map((callId) => ({ callId, requestedBy })), requesters: [requestedBy], grants: [] };
    const cancelling = { store, commands, openCalls: { of: async () => ofRun }, ...ports };
    for (let times = 0; times < 2; times += 1) {
      const cancelled = await cancelRun(cancelling, agent, { runId: id('run'), reason: text }, 'cancel');
      expect('calls' in cancelled && notCancelledOf(cancelled)).toEqual([]);
    }
    const stream = readable(await store.readStream('runCancellation-cancel')).map(
      ({ data }) => data as { callIds: string[] },
    );
    expect(stream.flatMap(({ callIds }) => callIds)).toEqual(open);
    expect(stream).toHaveLength(3);
  },
};

/** These contain ids, times, counts and our own texts, or the policy's: a few kilobytes. */
const small: readonly EventType[] = [
  ...deliveryEventTypes,
  // A reason of at most 8,192 characters, and an expression of at most 4,096.
  ...grantEventTypes,
  'ToolCallBlocked',
  'ToolCallCommitted',
  'ResponseWithdrawn',
  'ApprovalExpired',
  'ApprovalEscalated',
  'ApproversReminded',
  'ApprovalLapsed',
  'ExecutionClaimRenewed',
  'ExecutionLapsed',
  'ExecutionOutcomeUnknown',
  'BatchBegun',
  // A reason of at most 8,192 characters, and the ids of 64 calls.
  'BatchBroken',
  // At most 512 KiB: larger policies are refused when they are loaded.
  'PolicyActivated',
  'ShadowPolicyActivated',
  // The candidate's verdict, as long as the live one's.
  'ToolCallShadowJudged',
  // A reason of at most 8,192 characters, and the ids of the subject's keys.
  'SubjectErased',
  // Keys, names and signatures of limited lengths.
  'PasskeyRegistered',
  'PasskeyConfirmed',
  'PasskeyRemoved',
  // The changes of a configuration are cut into parts.
  ...systemEventTypes,
];

describe('the limit of an append', () => {
  it('is known of each kind of event', () => {
    expect([...small, ...Object.keys(heaviest)].toSorted()).toEqual([...eventTypes].toSorted());
  });

  it.each(Object.entries(heaviest))('the heaviest %s that the API takes fits', async (type, make) => {
    const opened = await open();
    const outcome = (await make(opened)) as { readonly status?: string } | undefined;
    expect(outcome?.status ?? 'done').not.toBe('refused');
    const events = (await opened.recorded()).filter((event) => event.type === type);
    expect(events.length).toBeGreaterThan(0);
    for (const { data } of events) expect(Buffer.byteLength(JSON.stringify(data))).toBeLessThan(appendBytesMax);
  });
});
