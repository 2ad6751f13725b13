import { createDeadLetters } from '../world/bus-client.ts';
import type { Site } from '../world/cluster.ts';

const lookEveryMs = 60_000;

/** Looks at the dead letters every minute, and has what was parked because processes ended with it handled once more. */
export function startOperator({ world, broker }: Site): void {
  const deadLetters = createDeadLetters(broker);
  const look = async (): Promise<void> => {
    for (;;) {
      await world.wait(lookEveryMs);
      for (const { id, code, group } of await deadLetters.list()) {
        if (code !== 'crashed') continue;
        world.trace.add('operator', `has dead letter ${id} of ${group} handled once more`);
        await deadLetters.replay(id);
      }
    }
  };
  void look();
}
