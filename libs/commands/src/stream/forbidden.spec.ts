import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  approvalIdOf,
  currentSchemaVersion,
  deriveCallId,
  policyStream,
  runCancellationStream,
} from '@countersign/contracts';
import type { NewEvent } from '@countersign/contracts';
import { createUnreadableWatch, noStream } from '@countersign/event-store';
import { sampleEvent } from '@countersign/event-store/testing';
import { loadPolicy } from '@countersign/policy';
import { createSilentLog } from '@countersign/runtime/testing';
import * as api from '../commands.js';
import { recordAtStart, recordPolicy } from '../policy-activation.js';
import type { CommandPorts } from '../ports.js';
import type { Result } from '../result.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

let world: PolicyWorld;
let commands: CommandPorts;
let last = 0;
const id = (): string => `command-${String(++last)}`;
const rules = 'rules: [{ id: pay, match: { tools: [pay] }, then: { require: {} } }]\ndefault: allow';
const worker = actor('worker', 'resolver');
const elsewhere = { tenant: 'other' };
const callId = (toolCallId: string, runId = 'run-1'): string => deriveCallId('default', runId, toolCallId);

beforeEach(async () => {
  world = await openPolicyWorld(rules);
  commands = await open();
  done(await request('pay:a', 'read:b', 'read:c'));
});
afterEach(() => world.close());

const watch = () => createUnreadableWatch(createSilentLog());

/** A process that has read the log. */
async function open(): Promise<CommandPorts> {
  const unreadable = watch();
  const store = unreadable.over(world.store);
  for (const stream of [policyStream('default'), runCancellationStream('later')]) await store.readStream(stream);
  const grants = { index: { live: () => [], liveCount: () => 0 }, conditions: () => Promise.resolve(null) };
  return world.another({ store, forbidding: unreadable, grants } as unknown as Parameters<PolicyWorld['another']>[0]);
}

const request = (...calls: readonly string[]) => api.requestToolCalls(commands, agent, step(...calls), id());
const inRun = (runId: string, parentCallId?: string) => {
  const call = {
    toolName: 'read',
    toolCallId: 'x',
    arguments: {},
    ...(parentCallId !== undefined && { parentCallId }),
  };
  return api.requestToolCalls(commands, agent, { runId, calls: [call] }, id());
};
const approve = (toolCallId: string) =>
  api.respond(commands, alice, approvalIdOf(callId(toolCallId), 1), { decision: { type: 'approve' } }, id());
const inBulk = () =>
  api.respondInBulk(
    commands,
    alice,
    { approvalIds: [approvalIdOf(callId('a'), 1)], decision: { type: 'approve' }, mode: 'all-or-nothing' },
    id(),
  );
const claim = (toolCallId: string) => api.claim(commands, worker, callId(toolCallId), { resolverId: 'w' }, id());
const ask = (toolCallId: string) => api.requestApproval(commands, agent, callId(toolCallId), {}, id());
const report = (toolCallId: string) =>
  api.reportExecution(commands, worker, callId(toolCallId), { attempt: 1, status: 'succeeded', output: 1 }, id());

/** The code of a refusal, also of one that is thrown while facts are gathered; `done` otherwise. */
const codeFrom = (result: Promise<Result<unknown>>): Promise<string> =>
  result.then(codeOf, (error: unknown) => (error as { refusal: { code: string } }).refusal.code);

/** A later version records an event that this one cannot read. */
async function later(stream: string, type: NewEvent['type'], runId: string | null = null): Promise<NewEvent> {
  const event = sampleEvent();
  const metadata = { ...event.metadata, runId, schemaVersion: currentSchemaVersion + 1 };
  const written = { ...event, type, metadata };
  const end = (await world.store.readStream(stream)).at(-1)?.revision ?? noStream;
  await world.store.append(stream, end, [written]);
  commands = await open();
  return written;
}

describe('an activation of a policy that cannot be read', () => {
  const laterPolicy = () => later(policyStream('default'), 'PolicyActivated');
  const content = loadPolicy('p.yaml', `version: 1\n${rules}`, null);
  const record = (accepted: string | null = null) =>
    recordPolicy(world.store, content, '2030-01-01T00:00:00.000Z', { accepted });

  it('refuses what the policy of the tenant judges, by name', async () => {
    const event = await laterPolicy();
    await expect(request('read:d')).rejects.toMatchObject({
      refusal: {
        code: 'unreadable',
        detail: expect.stringMatching(
          /^policy-default .* no request .* of the tenant "default" .* upgrade Countersign/,
        ),
        extra: { stream: 'policy-default', unreadable: { eventId: event.eventId } },
      },
    });
    const body = { toolName: 'pay', match: { any: true }, expiresInMs: 1000, reason: 'x' } as const;
    expect(codeOf(await approve('a'))).toBe('unreadable');
    expect(codeOf(await ask('b'))).toBe('unreadable');
    expect(codeOf(await api.createGrant(commands, alice, body, id()))).toBe('unreadable');
    expect(codeOf(await api.reveal(commands, alice, approvalIdOf(callId('a'), 1), id()))).toBe('unreadable');
    expect(done(await inBulk())).toMatchObject([{ status: 'refused', refusal: { code: 'unreadable' } }]);
  });

  it('lets calls go on that were judged before, and every other tenant', async () => {
    await laterPolicy();
    expect([codeOf(await claim('b')), codeOf(await report('b'))]).toEqual(['done', 'done']);
    expect(codeOf(await api.cancelToolCall(commands, agent, callId('a'), 'x', id()))).toBe('done');
    const other = { ...agent, ...elsewhere };
    expect(codeOf(await api.requestToolCalls(commands, other, step('read:d'), id()))).toBe('done');
  });

  it('is not hidden by the record of another policy, until the operator gives it up', async () => {
    await record();
    const { eventId } = await laterPolicy();
    await expect(record()).rejects.toThrow(`COUNTERSIGN_ACCEPT_UNREADABLE_POLICY=${eventId}`);
    await expect(record(id())).rejects.toThrow('cannot read');
    expect(await world.store.readStream(policyStream('default'))).toHaveLength(2);
    await record(eventId);
    expect(await world.store.readStream(policyStream('default'))).toHaveLength(3);
    commands = await open();
    expect(codeOf(await request('read:d'))).toBe('done');
  });

  it('refuses in a process that starts on it, also after a later one, because its own policy is not in the log', async () => {
    const { eventId } = await laterPolicy();
    const giveUp = () => record(eventId);
    const unreadable = watch();
    const store = unreadable.over(world.store);
    const start = () => recordPolicy(store, content, '2030-01-01T00:00:00.000Z');
    const forbidding = await recordAtStart(start, 'default', unreadable, createSilentLog());
    commands = world.another({ store, forbidding });
    expect(await codeFrom(request('read:d'))).toBe('unreadable');
    await giveUp();
    await store.readStream(policyStream('default'));
    expect(unreadable.streams()).toEqual([]);
    expect(await codeFrom(request('read:e'))).toBe('unreadable');
  });
});

describe('a cancellation of a run that cannot be read', () => {
  const cancelled = (runId: string) => later(runCancellationStream('later'), 'RunCancelled', runId);

  it('refuses every new call, response and claim of the run, by name', async () => {
    const event = await cancelled('run-1');
    await expect(request('read:d')).rejects.toMatchObject({
      refusal: {
        code: 'unreadable',
        detail: expect.stringMatching(/^runCancellation-later .* no call of the run "run-1" .* upgrade Countersign/),
        extra: { stream: 'runCancellation-later', unreadable: { eventId: event.eventId } },
      },
    });
    expect([codeOf(await approve('a')), codeOf(await ask('b')), codeOf(await claim('b'))]).toEqual(
      Array(3).fill('unreadable'),
    );
  });

  it('refuses the calls inside the run, of another run too', async () => {
    await cancelled('run-1');
    expect(await codeFrom(inRun('run-2', callId('b')))).toBe('unreadable');
  });

  it('refuses no report of what ran, no cancellation and no other run', async () => {
    done(await claim('b'));
    await cancelled('run-1');
    expect(codeOf(await report('b'))).toBe('done');
    expect(codeOf(await api.cancelToolCall(commands, agent, callId('c'), 'x', id()))).toBe('done');
    expect(codeOf(await inRun('run-2'))).toBe('done');
  });
});
