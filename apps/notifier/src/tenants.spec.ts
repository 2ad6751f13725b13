import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { parseApprovalId } from '@countersign/contracts';
import type { EventView } from '@countersign/contracts';
import { eventually } from '@countersign/message-bus/testing';
import { createRecordingChannel } from './testing/recording-channel.js';
import { openWorld } from './testing/world.js';
import type { World } from './testing/world.js';

describe('a notifier of one tenant', () => {
  let world: World;
  beforeEach(async () => {
    world = await openWorld();
  });
  afterEach(async () => {
    await world.close();
  });

  it('sends nothing about the call of another tenant, also when the message names its own', async () => {
    const channel = createRecordingChannel();
    const routes = [{ tools: ['*'], agents: ['*'], events: ['requested' as const], to: [channel.id] }];
    const { notifier } = await world.notify({ channels: [channel], routes, tenant: 'acme' });
    const approvalId = await world.ask('call-of-default');
    const [requested] = readable(await world.store.readAll(0, 100)).filter(({ type }) => type === 'ApprovalRequested');
    const callId = parseApprovalId(approvalId)?.callId ?? '';
    const forged = { ...requested, tenant: 'acme', callId, data: { ...requested?.data, tenant: 'acme' } };
    await notifier.handle(channel.id, forged as unknown as EventView);
    await eventually(() => expect(notifier.status().channels[channel.id]?.waiting).toBe(0));
    expect(channel.sent).toEqual([]);
  });
});
