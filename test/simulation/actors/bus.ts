import { topicNames } from '@countersign/message-bus';
import type { Site } from '../world/cluster.ts';
import { startMachine } from '../world/machine.ts';
import { createPublisher } from '../world/publisher.ts';

/** Publishes a request until it is acknowledged; a repeat has the same id, as a producer's retry has. */
export async function publishRequest(
  site: Site,
  type: string,
  data: { readonly runId: string; readonly [name: string]: unknown },
): Promise<void> {
  const { world, broker } = site;
  const publisher = createPublisher(world, broker, startMachine(world, 'agent', { crashes: false }));
  const headers = {
    'content-type': 'application/json',
    ce_specversion: '1.0',
    ce_id: world.ids.uuid(),
    ce_source: '/agent',
    ce_type: type,
    ce_time: new Date(world.clock.now()).toISOString(),
  };
  const message = { key: data.runId, value: JSON.stringify(data), headers };
  for (;;) {
    try {
      await publisher.publish(topicNames().requests, [message]);
      return;
    } catch {
      await world.wait(200 + world.random.below(1_000));
    }
  }
}
