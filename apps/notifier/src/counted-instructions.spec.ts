import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { respond, withVotesNow } from '@countersign/commands';
import type { Actor, CommandPorts } from '@countersign/commands';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const policy = `version: 1
rules:
  - { id: alone, match: { tools: [pay] }, then: { require: { quorum: { approve: 2 } } } }
  - { id: step, match: { tools: [wire] }, then: { require: { quorum: { approve: 2 }, batch: any-asks-all } } }`;
const routes = [{ tools: ['*'], agents: ['*'], events: ['requested' as const], to: ['ops'] }];
const removed = new Set<string>();
const people: NonNullable<CommandPorts['people']> = {
  approver: (_, principal) => (removed.has(principal) ? undefined : { groups: [], isAway: false }),
  approvers: () => [],
  names: () => [],
};

let world: World;
beforeEach(async () => {
  removed.clear();
  world = await openWorld(undefined, policy);
});
afterEach(() => world.close());

const approve = async (principal: string, approvalId: string, instruction: string): Promise<void> => {
  const by: Actor = {
    ...{ tenant: 'default', principal, roles: new Set(['approver']), groups: [], via: 'inbox' },
    ...{ agentIds: [], assurance: 'medium' },
  };
  const body = { decision: { type: 'approve' }, instruction } as const;
  expect(await respond({ ...world.commands, people }, by, approvalId, body, world.ids.uuid())).toMatchObject({
    status: 'done',
  });
};

it.each(['pay', 'wire'])(
  'a card about %s shows the instructions of the votes alone that count now',
  async (toolName) => {
    const approvalId = await world.ask('call', { toolName });
    await approve('amy', approvalId, 'send it to all');
    removed.add('amy');
    const channel = createRecordingChannel();
    await world.notify({
      ...{ channels: [channel], routes },
      votesNow: (call) => withVotesNow({ ...world.commands, people }, call),
    });
    await eventually(() => expect(channel.sent).toHaveLength(1));
    expect(channel.sent[0]?.[0]?.approval).toMatchObject({ instructions: [], responses: [{ counted: false }] });
    await approve('ben', approvalId, 'then verify');
    const shown = [{ respondedBy: 'ben', instruction: 'then verify' }];
    await eventually(() => expect(channel.updated.at(-1)?.notice.approval?.instructions).toEqual(shown));
  },
);
