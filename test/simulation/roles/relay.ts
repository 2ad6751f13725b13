import { topicNames } from '@countersign/message-bus';
import type { ExclusiveProgress } from '@countersign/message-bus';
import { createRelay } from '@countersign/relay';
import { withoutAck } from '../weak-ports.ts';
import type { Site } from '../world/cluster.ts';
import type { Machine } from '../world/machine.ts';
import { createPublisher } from '../world/publisher.ts';
import { createStoreClient } from '../world/store-client.ts';

/** Boots a relay; one of them is active. */
export function bootRelay(site: Site, machine: Machine): void {
  const { world, broker, servers } = site;
  const publisher = createPublisher(world, broker, machine);
  createRelay({
    store: createStoreClient(world, servers, machine),
    publisher: world.without === 'publish-ack' ? withoutAck(publisher) : publisher,
    turns: turnsOf(site, machine),
    topic: topicNames().events,
    clock: machine.clock,
    log: machine.log,
    batchMax: 1 + world.random.below(8),
  }).start();
}

/**
 * Leader election over the network. A crashed or frozen leader is replaced at once, faster than any real group
 * coordinator.
 */
function turnsOf({ world, turns }: Site, machine: Machine): ExclusiveProgress {
  const mine = turns.open();
  machine.onDeath(() => {
    turns.freeze(mine);
  });
  return {
    take: async (signal) => {
      const turn = await mine.take(signal);
      await machine.enter();
      return {
        ...turn,
        keep: (progress) =>
          machine.call(async () => {
            await world.travel();
            await turn.keep(progress);
          }),
      };
    },
  };
}
