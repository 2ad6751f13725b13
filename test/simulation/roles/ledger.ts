import { createLedger, createLedgerApp } from '@countersign/ledger';
import { topicNames } from '@countersign/message-bus';
import { createOpenCalls } from '@countersign/shell';
import { createSimulatedMessageBus } from '../world/bus-client.ts';
import type { Site } from '../world/cluster.ts';
import { buildWithNest } from '../world/guard.ts';
import type { Machine } from '../world/machine.ts';
import { followPolicy } from '../world/policy-file.ts';
import { openViews, openedLater } from './views.ts';
import type { Views } from './views.ts';
import { createWriteSide } from './write-side.ts';

/** Boots a ledger: consumes requests, decides and records; unsigned ones are in the name of the agent. */
export async function bootLedger(site: Site, machine: Machine): Promise<Views> {
  const opened = openedLater();
  const { store, commands, policies } = createWriteSide(site, machine, {
    ...{ writeOnly: true, readModelOf: opened.readModel },
  });
  await followPolicy(site, machine, store, policies);
  const { ids, log } = machine;
  const { clock } = commands;
  const views = await openViews(site, machine, store);
  opened.views = views;
  const openCalls = createOpenCalls({ store, readModel: views.readModel, clock });
  const unsigned = { mode: 'allow', tenant: 'default', principal: 'agent' } as const;
  const ledger = createLedger({ commands, store, openCalls, keys: null, unsigned, clock, ids, log });
  const bus = createSimulatedMessageBus(site.broker, { ...machine, travel: site.world.travel });
  const app = await buildWithNest(() => createLedgerApp({ ledger, bus, topic: topicNames().requests, log }));
  await app.listen();
  return views;
}
