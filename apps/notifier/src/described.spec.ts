import { describeApproval } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { parseApprovalId } from '@countersign/contracts';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

const agent: Actor = {
  tenant: 'default',
  principal: 'agent',
  agentIds: [],
  roles: new Set(['agent']),
  groups: [],
  via: 'api',
  assurance: 'medium',
};

describe('a description added to an approval', () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(async () => {
    await world.close();
  });

  it('is shown in the copies that were sent before', async () => {
    const channel = createRecordingChannel();
    await world.notify({
      channels: [channel],
      routes: [{ tools: ['*'], agents: ['*'], events: ['requested'], to: [channel.id] }],
    });
    const callId = parseApprovalId(await world.ask('call-1'))?.callId ?? '';
    await eventually(() => expect(channel.sent).toHaveLength(1));
    expect(channel.sent[0]?.[0]?.approval).toMatchObject({ reason: null, description: null });
    await describeApproval(world.commands, agent, callId, { reason: 'the disk is full' }, 'describe-1');
    await eventually(() => expect(channel.updated).toHaveLength(1));
    expect(channel.updated[0]?.notice.approval).toMatchObject({ reason: 'the disk is full', description: null });
    await describeApproval(world.commands, agent, callId, { description: 'frees 3 GB' }, 'describe-2');
    await eventually(() => expect(channel.updated).toHaveLength(2));
    expect(channel.updated[1]?.notice.approval).toMatchObject({ description: 'frees 3 GB' });
  });
});
