import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { requestToolCalls } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { approvalIdOf, deriveCallId, toolCallStream } from '@countersign/contracts';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const policy = `version: 1
rules:
  - { id: wire, match: { tools: [wire] }, then: { require: { batch: any-asks-all } } }
  - { id: pay, match: { tools: [pay] }, then: { require: {} } }`;

const agent: Actor = {
  ...{ tenant: 'default', principal: 'agent', roles: new Set(['agent']), groups: [], via: 'api' },
  ...{ agentIds: [], assurance: 'medium' },
};
const routes = [{ tools: ['*'], agents: ['*'], events: ['requested' as const], to: ['ops'] }];

let world: World;
beforeEach(async () => {
  world = await openWorld(undefined, policy);
});
afterEach(() => world.close());

async function request(...tools: readonly string[]): Promise<readonly string[]> {
  return requestOver(world.commands, tools);
}

async function requestOver(commands: World['commands'], tools: readonly string[]): Promise<readonly string[]> {
  const calls = tools.map((toolName) => ({ toolCallId: toolName, toolName, arguments: { of: toolName } }));
  const outcome = await requestToolCalls(commands, agent, { runId: 'run-1', calls }, world.ids.uuid());
  if (outcome.status === 'refused') throw new Error(outcome.refusal.detail);
  return outcome.value.callIds.map((callId) => approvalIdOf(callId, 1));
}

const asked = (channel: ReturnType<typeof createRecordingChannel>) =>
  channel.sent.map(([notice]) => notice?.approval?.approvalId);

describe('the message about a step that is asked about as a whole', () => {
  it('is one, has every call, and changes when another call of the step does', async () => {
    const channel = createRecordingChannel();
    await world.notify({ channels: [channel], routes });
    const [first = '', second = '', third = ''] = await request('read', 'wire', 'list');
    await eventually(() => expect(channel.sent).toHaveLength(1));
    const [notice] = channel.sent[0] ?? [];
    expect(notice?.approval?.approvalId).toBe(first);
    expect(notice?.together?.map(({ approval }) => approval.approvalId)).toEqual([second, third]);
    await world.respond(second, 'approve');
    await eventually(() => expect(channel.updated.length).toBeGreaterThan(0));
    expect(channel.updated.at(-1)?.notice.together?.map(({ approval }) => approval.approvalId)).toEqual([third]);
    // The next pending call asks when the first one is decided by itself.
    await world.respond(first, 'approve');
    await eventually(() => expect(channel.sent).toHaveLength(2));
    expect(channel.sent[1]?.[0]?.approval?.approvalId).toBe(third);
  });

  it('is sent when the repeated request records the call that a crash left out', async () => {
    const last = 'pay';
    const channel = createRecordingChannel();
    await world.notify({ channels: [channel], routes });
    const isAway = (stream: string) => stream === toolCallStream(deriveCallId('default', 'run-1', last));
    const { handler } = world.commands;
    const crashing: typeof handler = {
      ...handler,
      handleCommand: (stream, ...given) =>
        isAway(stream) ? Promise.reject(new Error('killed')) : handler.handleCommand(stream, ...given),
    };
    await expect(requestOver({ ...world.commands, handler: crashing }, ['read', 'wire', last])).rejects.toThrow(
      'killed',
    );
    // Its message follows the events of the step.
    const later = await world.ask('later', { runId: 'run-2', toolName: 'pay' });
    await eventually(() => expect(asked(channel)).toEqual([later]));
    const beganAt = Date.now();
    const [first] = await request('read', 'wire', last);
    await eventually(() => expect(asked(channel)).toContain(first));
    // Not only by the sweep, which comes once a minute and plans each message once.
    expect(Date.now() - beganAt).toBeLessThan(30_000);
    expect(asked(channel).filter((approvalId) => approvalId === first)).toHaveLength(1);
  });

  it('goes where the routes of one of its calls lead, and shows them all', async () => {
    const channel = createRecordingChannel();
    await world.notify({ channels: [channel], routes: [{ ...routes[0]!, tools: ['wire'] }] });
    const [first, second] = await request('read', 'wire');
    await eventually(() => expect(channel.sent).toHaveLength(1));
    expect(channel.sent[0]?.[0]?.approval?.approvalId).toBe(second);
    expect(channel.sent[0]?.[0]?.together?.map(({ approval }) => approval.approvalId)).toEqual([first]);
  });

  it('leaves the question of another rule, and every question for a program, by itself', async () => {
    const people = createRecordingChannel();
    const program = createRecordingChannel({ id: 'hook', type: 'webhook' });
    await world.notify({ channels: [people, program], routes: [{ ...routes[0]!, to: ['ops', 'hook'] }] });
    const [first, second, third] = await request('read', 'wire', 'pay');
    await eventually(() => expect(program.sent).toHaveLength(3));
    await eventually(() => expect(people.sent).toHaveLength(2));
    expect(new Set(people.sent.map(([notice]) => notice?.approval?.approvalId))).toEqual(new Set([first, third]));
    expect(program.sent.map(([notice]) => notice?.approval?.approvalId).toSorted()).toEqual(
      [first, second, third].toSorted(),
    );
    expect(program.sent.every(([notice]) => notice?.together === undefined)).toBe(true);
  });
});
