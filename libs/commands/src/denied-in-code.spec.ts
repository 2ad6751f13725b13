import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf, toolCallStream } from '@countersign/contracts';
import type { RequestToolCalls, RequestedCall } from '@countersign/contracts';
import * as api from './commands.js';
import type { CommandPorts } from './ports.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';

const deny = 'no refunds abroad';
const worker = actor('worker', 'resolver');

let world: PolicyWorld;
let last = 0;
const id = (): string => `command-${String(++last)}`;

beforeEach(async () => {
  world = await openPolicyWorld('autoApprovedTools: ["get_*"]\nrequireApprovalTools: ["delete_*"]');
});

afterEach(() => world.close());

type Call = Partial<RequestedCall> & { readonly toolCallId: string };

async function request(
  calls: readonly Call[],
  more: Partial<RequestToolCalls> = {},
  by: CommandPorts = world.commands,
) {
  const body = {
    runId: 'run-1',
    ...more,
    calls: calls.map((call) => ({ toolName: 'get_file', arguments: {}, ...call })),
  };
  return api.requestToolCalls(by, agent, body, id());
}

const typesOf = async (callId: string) =>
  (await world.store.readStream(toolCallStream(callId))).map(({ type }) => type);

describe('a call that the code of the agent denies', () => {
  it.each(['get_file', 'delete_file', 'other'])(
    'is blocked under any verdict of the policy, and never claimed (%s)',
    async (toolName) => {
      const [callId = ''] = done(await request([{ toolCallId: 'a', toolName, deny, needsApproval: true }])).callIds;
      expect(await typesOf(callId)).toEqual(['ToolCallRequested', 'ToolCallBlocked']);
      const call = await api.findCall(world.commands, 'default', callId);
      expect(call?.verdict).toMatchObject({ outcome: 'block', ruleId: 'deniedInCode', automatic: true });
      expect(call?.verdict?.why.at(-1)).toBe(deny);
      expect(codeOf(await api.claim(world.commands, worker, callId, { resolverId: 'w' }, id()))).toBe('not-approved');
      expect(codeOf(await api.requestApproval(world.commands, agent, callId, {}, id()))).toBe('already-resolved');
    },
  );

  it('ends its all-or-nothing batch, and no call of an independent one', async () => {
    const calls = [{ toolCallId: 'a' }, { toolCallId: 'b', deny }];
    const [a = '', b = ''] = done(await request(calls, { batchMode: 'all-or-nothing' })).callIds;
    expect([await world.stateOf(a), await world.stateOf(b)]).toEqual(['cancelled', 'blocked']);
    const [c = ''] = done(await request(calls, { runId: 'run-2' })).callIds;
    expect(await world.stateOf(c)).toBe('allowed');
  });

  it.each([true, false])('is not made laxer by a repeat (write only: %s)', async (writeOnly) => {
    const ports = { ...world.commands, writeOnly };
    const [callId = ''] = done(await request([{ toolCallId: 'a', deny }], {}, ports)).callIds;
    done(await request([{ toolCallId: 'a' }], {}, ports));
    expect(await world.stateOf(callId)).toBe('blocked');
  });
});

describe('a repeat that the code of the agent denies', () => {
  it.each([
    ['get_file', true],
    ['get_file', false],
    ['delete_file', true],
    ['delete_file', false],
  ] as const)('cancels the open call of %s (write only: %s)', async (toolName, writeOnly) => {
    const ports = { ...world.commands, writeOnly };
    const [callId = ''] = done(await request([{ toolCallId: 'a', toolName }], {}, ports)).callIds;
    done(await request([{ toolCallId: 'a', toolName, deny }], {}, ports));
    expect(await world.stateOf(callId)).toBe('cancelled');
    const response = api.respond(
      world.commands,
      alice,
      approvalIdOf(callId, 1),
      { decision: { type: 'approve' } },
      id(),
    );
    expect(codeOf(await response)).toBe(toolName === 'get_file' ? 'unknown-approval' : 'already-resolved');
    const head = await world.store.head();
    done(await request([{ toolCallId: 'a', toolName, deny }], {}, ports));
    expect(await world.store.head()).toBe(head);
  });

  it('is another command than the request, also under the same id', async () => {
    const ports = { ...world.commands, writeOnly: true };
    const send = (more: Partial<RequestedCall>) =>
      api.requestToolCalls(
        ports,
        agent,
        { runId: 'run-1', calls: [{ toolCallId: 'a', toolName: 'get_file', arguments: {}, ...more }] },
        'same',
      );
    const [callId = ''] = done(await send({})).callIds;
    done(await send({ deny }));
    expect(await world.stateOf(callId)).toBe('cancelled');
  });

  it('comes too late after the claim', async () => {
    const [callId = ''] = done(await request([{ toolCallId: 'a' }])).callIds;
    done(await api.claim(world.commands, worker, callId, { resolverId: 'w' }, id()));
    expect(codeOf(await request([{ toolCallId: 'a', deny }]))).toBe('tool-call-mismatch');
  });

  it('breaks its all-or-nothing batch, unless that has begun', async () => {
    const calls = [{ toolCallId: 'a' }, { toolCallId: 'b' }];
    const denied = [{ toolCallId: 'a', deny }, { toolCallId: 'b' }];
    const batchMode = 'all-or-nothing';
    const [a = '', b = ''] = done(await request(calls, { batchMode })).callIds;
    done(await request(denied, { batchMode }));
    expect([await world.stateOf(a), await world.stateOf(b)]).toEqual(['cancelled', 'cancelled']);
    const [, begun = ''] = done(await request(calls, { batchMode, runId: 'run-2' })).callIds;
    done(await api.claim(world.commands, worker, begun, { resolverId: 'w' }, id()));
    expect(codeOf(await request(denied, { batchMode, runId: 'run-2' }))).toBe('batch-begun');
  });
});
