import type { MessagePublisher } from '@countersign/message-bus';
import type { Broker } from './broker.ts';
import type { Machine } from './machine.ts';
import type { World } from './world.ts';

/**
 * Publishing from one process: messages may be lost, stored without an acknowledgement, duplicated, or visible late.
 */
export function createPublisher(world: World, broker: Broker, machine: Machine): MessagePublisher {
  const { random } = world;
  const delayMs = (): number => (random.chance(world.hazards().messageDelayed) ? random.below(2_000) : 0);
  return {
    publish: (topic, messages) =>
      machine.call(async () => {
        await world.travel();
        const { publishLost, publishUnacknowledged, publishTwice } = world.hazards();
        if (random.chance(publishLost)) throw new Error('the broker does not answer');
        broker.store(topic, messages, delayMs);
        if (random.chance(publishTwice)) broker.store(topic, messages, delayMs);
        await world.travel();
        if (random.chance(publishUnacknowledged)) throw new Error('the acknowledgement was lost');
      }),
  };
}
