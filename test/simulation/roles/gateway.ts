import { createGateway } from '@countersign/gateway';
import type { Gateway, GatewayMetrics, IdempotencyStore, KnownRequest } from '@countersign/gateway';
import { learnCalls } from '@countersign/commands';
import type { CommandPorts } from '@countersign/commands';
import { Registry } from 'prom-client';
import type { Site } from '../world/cluster.ts';
import type { Machine } from '../world/machine.ts';
import { followPolicy } from '../world/policy-file.ts';
import { openViews, openedLater } from './views.ts';
import type { Views } from './views.ts';
import { createWriteSide } from './write-side.ts';

/** A gateway process, behind its HTTP. */
export interface RunningGateway extends Views {
  readonly gateway: Gateway;
  readonly commands: CommandPorts;
  readonly machine: Machine;
}

const nothing = (): void => undefined;

/** Metrics cost time and are not needed here. */
const metrics: GatewayMetrics = {
  registry: new Registry(),
  commandEnded: nothing,
  requestAnswered: nothing,
  refusedAtTheDoor: nothing,
  storeCommitted: nothing,
  deadlineFired: nothing,
  observe: nothing,
};

/** Boots a gateway. Its known requests are on its disk, and survive it. */
export async function bootGateway(
  site: Site,
  machine: Machine,
  requests: Map<string, KnownRequest>,
): Promise<RunningGateway> {
  const opened = openedLater();
  const { store, commands, policies } = createWriteSide(site, machine, {
    readModelOf: opened.readModel,
  });
  await followPolicy(site, machine, store, policies);
  const { ids, log } = machine;
  const { clock } = store;
  const views = await openViews(site, machine, store);
  opened.views = views;
  views.readModel.onApplied(({ events }) => learnCalls(commands, events));
  const idempotency: IdempotencyStore = {
    find: (scope) => requests.get(scope),
    save: (request) => void requests.set(request.scope, request),
    purge: nothing,
    clear: nothing,
    close: nothing,
  };
  const tokens = {
    actorOf: () => undefined,
    isInForce: () => false,
    actorOfHash: () => undefined,
    grants: () => false,
    groupsOf: () => [],
    holds: () => true,
    approverIds: () => [],
    approverGroups: () => new Set<string>(),
    frontEnds: () => new Map<string, readonly string[]>(),
  };
  const { readModel } = views;
  const gateway = createGateway({ commands, readModel, store, tokens, idempotency, metrics, clock, ids, log });
  return { ...views, gateway, commands, machine };
}
