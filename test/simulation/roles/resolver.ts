import { topicNames } from '@countersign/message-bus';
import { createExecutions, createResolver, createResolverApp } from '@countersign/resolver';
import type { Clock } from '@countersign/runtime';
import { decoratedExecutions } from '../weak-ports.ts';
import { createSimulatedMessageBus } from '../world/bus-client.ts';
import type { Site } from '../world/cluster.ts';
import { buildWithNest } from '../world/guard.ts';
import { hangPerhaps } from '../world/machine.ts';
import type { Machine } from '../world/machine.ts';
import { createServiceTools } from '../world/service-tools.ts';
import { createWriteSide } from './write-side.ts';

/** The lease of the simulated resolvers, ms: short, so that it ends within a freeze. */
export const resolverLeaseMs = 10_000;

/** Boots a resolver of the service's own tools. */
export async function bootResolver(site: Site, machine: Machine): Promise<void> {
  const { world, outside, broker } = site;
  const { commands } = createWriteSide(site, machine);
  const { ids, log } = machine;
  const blind: Clock = { ...machine.clock, now: () => 0, monotonic: () => 0 };
  const clock = world.without === 'lease-check' ? blind : machine.clock;
  const executions = decoratedExecutions(createExecutions(commands, ids), world.without);
  const resolver = createResolver({
    executions: {
      ...executions,
      claim: async (...given) => {
        const answer = await executions.claim(...given);
        if (answer.status !== 'claimed') return answer;
        for (const listener of site.claims) listener(answer.claim, machine.name);
        await hangPerhaps(world, machine);
        return answer;
      },
    },
    tools: createServiceTools(world, outside, machine),
    clock,
    ids,
    log,
    resolverId: machine.name,
    leaseMs: resolverLeaseMs,
    concurrency: 1 + world.random.below(4),
  });
  const bus = createSimulatedMessageBus(broker, { ...machine, travel: world.travel });
  const app = await buildWithNest(() => createResolverApp({ resolver, bus, topic: topicNames().events, log }));
  await app.listen();
}
