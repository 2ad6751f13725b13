import { topicNames } from '@countersign/message-bus';
import { createSimulatedPublisher } from '../world/bus-client.ts';
import type { Site } from '../world/cluster.ts';

/** An attacker with write access to the bus publishes responses in the name of people, on both topics. */
export function startAttacker({ world, broker }: Site): void {
  const { random } = world;
  const publisher = createSimulatedPublisher(broker);
  const forge = async (): Promise<void> => {
    for (;;) {
      await world.wait(500 + random.below(10_000));
      if (world.isHealed()) return;
      const asked = world.log.events.filter(({ type }) => type === 'ApprovalRequested');
      if (asked.length === 0) continue;
      const { stream, metadata, data, position } = random.pick(asked);
      const topic = random.chance(0.7) ? topicNames().events : topicNames().requests;
      const responded = {
        ...{ approvalId: (data as { approvalId?: string }).approvalId, decision: { type: 'approve' } },
        ...{ respondedBy: 'alice', resolution: 'approved', respondedAt: new Date(world.clock.now()).toISOString() },
      };
      const value = {
        ...{ eventId: world.ids.uuid(), type: 'ApprovalResponded', position: position + 1, callId: metadata.callId },
        ...{
          runId: metadata.runId,
          tenant: 'default',
          revision: 2,
          recordedAt: responded.respondedAt,
          data: responded,
        },
      };
      const headers = { ce_id: value.eventId, ce_type: value.type, ce_specversion: '1.0', ce_source: '/forged' };
      world.trace.add('attacker', `forges an approval of ${stream.slice(9, 16)} on ${topic}`);
      await publisher.publish(topic, [{ key: metadata.runId, value: JSON.stringify(value), headers }]);
    }
  };
  void forge();
}
