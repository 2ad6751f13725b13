import type { Site, Slot } from './cluster.ts';

/** Random faults: processes are killed and frozen, clocks jump, the store is down, partitions are reassigned. */
export function startChaos(site: Site, slots: readonly Slot<unknown>[]): void {
  const { world, servers, broker, turns } = site;
  const { random } = world;
  const strokes: (() => void)[] = [
    () => random.pick(slots).machine()?.kill('from outside'),
    () => {
      random.pick(slots).machine()?.kill('from outside');
    },
    () => {
      const machine = random.pick(slots).machine();
      machine?.freeze('it hangs');
      // Longer than any lease, now and then.
      world.clock.setTimer(random.below(random.chance(0.5) ? 3_000 : 40_000), () => machine?.thaw());
    },
    () =>
      random
        .pick(slots)
        .machine()
        ?.jump(random.below(8_000) - 4_000),
    () => {
      servers.goDown(random.below(10_000));
    },
    () => {
      const groups = broker.groups();
      if (groups.length > 0) broker.rebalance(random.pick(groups));
    },
    () => {
      turns.depose();
    },
  ];
  const strike = async (): Promise<void> => {
    for (;;) {
      await world.wait(random.below(2 * world.hazards().strokeEveryMs));
      if (world.isHealed()) return;
      random.pick(strokes)();
    }
  };
  if (Number.isFinite(world.hazards().strokeEveryMs)) void strike();
}

/** From now on everything works: hung processes continue, and faults end. */
export function healAll({ world }: Site, slots: readonly Slot<unknown>[]): void {
  world.heal();
  for (const slot of slots) slot.machine()?.thaw();
}
