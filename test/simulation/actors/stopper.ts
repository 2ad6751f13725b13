import type { DeclareStopBody, StopEffect } from '@countersign/contracts';
import { createRandom } from '@countersign/runtime/testing';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { admin } from './people.ts';

const scopes: readonly Omit<DeclareStopBody, 'reason'>[] = [
  {},
  {},
  { agentId: 'agent' },
  { toolName: 'pay*' },
  { toolName: 'deploy' },
];

/** The people who stop calls. */
export interface Stoppers {
  /** How many stops they have not lifted yet. */
  readonly waiting: () => number;
}

/** In every seventh world a person stops calls now and then, and lifts each stop after a while. */
export function startStoppers(world: World, doors: Doors): Stoppers {
  // Of its own, so that the worlds without stops stay as they are.
  const random = createRandom(world.seed + 1_000_003);
  let waiting = 0;
  const act = async (): Promise<void> => {
    for (;;) {
      await world.wait(2_000 + random.below(15_000));
      if (world.isHealed()) return;
      waiting += 1;
      const stopId = await declare(world, doors, random.pick(scopes));
      await world.wait(random.below(12_000));
      await lift(world, doors, stopId);
      waiting -= 1;
    }
  };
  if (world.seed % 7 === 0) void act();
  return { waiting: () => waiting };
}

async function declare(world: World, doors: Doors, scope: Omit<DeclareStopBody, 'reason'>): Promise<string> {
  const body = { ...scope, reason: 'simulated' };
  const declared = await doors.ask({
    ...{ kind: 'stop', actor: admin, target: 'POST /v1/stops', key: world.ids.uuid(), body },
    run: (gateway, context) => gateway.stops.declare(context, body),
  });
  return (declared?.body as StopEffect | undefined)?.stop.stopId ?? '';
}

async function lift(world: World, doors: Doors, stopId: string): Promise<void> {
  const body = { reason: 'simulated' };
  await doors.ask({
    ...{ kind: 'lift', actor: admin, target: `POST /v1/stops/${stopId}/lift`, key: world.ids.uuid(), body },
    run: (gateway, context) => gateway.stops.lift(context, stopId, body),
  });
}
