import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf, batchStream, currentSchemaVersion, deriveCallId, toolCallStream } from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { noStream } from '@countersign/event-store';
import { sampleEvent } from '@countersign/event-store/testing';
import * as api from './commands.js';
import type { CommandPorts } from './ports.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld, step } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';

const worker = actor('worker', 'resolver');
const weekMs = 7 * 24 * 60 * 60 * 1000;
let world: PolicyWorld;
let commands: CommandPorts;
let last = 0;
const id = (): string => `command-${String(++last)}`;
const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);

beforeEach(async () => {
  world = await openPolicyWorld('rules: [{ id: pay, match: { tools: [pay] }, then: { require: {} } }]\ndefault: allow');
  commands = world.commands;
  const body = { ...step('pay:a', 'read:b'), batchMode: 'all-or-nothing' } as const;
  done(await api.requestToolCalls(commands, agent, body, id()));
});
afterEach(() => world.close());

const decide = (decision: 'approve' | 'deny') =>
  api.respond(commands, alice, approvalIdOf(callId('a'), 1), { decision: { type: decision }, reason: 'x' }, id());
const claim = (toolCallId: string) => api.claim(commands, worker, callId(toolCallId), { resolverId: 'w' }, id());
const cancel = (toolCallId: string) => api.cancelToolCall(commands, agent, callId(toolCallId), 'x', id());
const typesOf = async (toolCallId: string): Promise<readonly string[]> =>
  (await world.store.readStream(toolCallStream(callId(toolCallId)))).map(({ type }) => type);

/** A later version records an event that this one cannot read; then a process of this version starts. */
async function later(stream: string, type: NewEvent['type']): Promise<void> {
  const { metadata, ...event } = sampleEvent();
  const end = (await world.store.readStream(stream)).at(-1)?.revision ?? noStream;
  const written = { ...event, type, metadata: { ...metadata, schemaVersion: currentSchemaVersion + 1 } };
  await world.store.append(stream, end, [written]);
  commands = world.another();
}

async function laterWord(): Promise<void> {
  const call = await api.findCall(commands, 'default', callId('a'));
  if (call === undefined) throw new Error('the call is recorded');
  await later(batchStream(call.request), 'BatchBroken');
}

describe('the word of a batch that cannot be read', () => {
  it('lets no member run, and no permitted one end: not by a person, not by time', async () => {
    done(await decide('approve'));
    await laterWord();
    expect([codeOf(await claim('a')), codeOf(await claim('b')), codeOf(await cancel('b'))]).toEqual(
      Array(3).fill('unreadable'),
    );
    await world.clock.advanceAsync(weekMs);
    expect(await api.fireDue(commands, 'default', callId('a'))).toBeNull();
    expect(codeOf(await claim('a'))).toBe('unreadable');
    expect((await typesOf('a')).at(-1)).toBe('ApprovalResponded');
  });

  it('lets a person deny a member that waits, and says that it was done', async () => {
    await laterWord();
    expect(codeOf(await decide('deny'))).toBe('done');
    expect((await typesOf('a')).at(-1)).toBe('ApprovalResponded');
    expect(codeOf(await claim('b'))).toBe('unreadable');
  });

  it('lets the time of a member that waits end it', async () => {
    await laterWord();
    await world.clock.advanceAsync(weekMs);
    expect(await api.fireDue(commands, 'default', callId('a'))).toBeGreaterThan(0);
    expect((await typesOf('a')).at(-1)).toBe('ApprovalExpired');
  });
});

describe('a member of a batch that cannot be read', () => {
  it('keeps the others from running, and neither ends nor is ended with them', async () => {
    done(await decide('approve'));
    await later(toolCallStream(callId('a')), 'ToolCallCancelled');
    expect([codeOf(await claim('a')), codeOf(await claim('b'))]).toEqual(['unreadable', 'batch-incomplete']);
    expect(codeOf(await cancel('b'))).toBe('done');
    expect((await typesOf('a')).at(-1)).toBe('ToolCallCancelled');
    expect(await typesOf('a')).toHaveLength(4);
  });
});
