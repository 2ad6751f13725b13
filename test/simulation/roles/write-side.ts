import { createArgumentSchemas, createCommandHandler, createKeyedQueue, createKnownStops } from '@countersign/commands';
import type { CommandPorts, GrantIndex, WriteSidePorts } from '@countersign/commands';
import { celEngine } from '@countersign/cel';
import { createConditions, createLivePolicies, recordedCall } from '@countersign/policy';
import type { LivePolicies } from '@countersign/policy';
import { batchDecider, grantDecider, passkeyDecider, toolCallDecider } from '@countersign/domain';
import { createDecidingClock } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import {
  grantIndexWithout,
  peopleWithout,
  policiesWithout,
  stopsWithout,
  withoutDedupe,
  withoutRevision,
} from '../weak-ports.ts';
import { batchRuleWithout, grantRuleWithout, ruleWithout } from '../weak-rules.ts';
import { peopleOf } from '../world/absences.ts';
import type { Site } from '../world/cluster.ts';
import type { Machine } from '../world/machine.ts';
import { watchQuestions } from '../world/questions.ts';
import { serviceToolFacts } from '../world/service-tools.ts';
import { createStoreClient } from '../world/store-client.ts';

/** Pure, and slow to create: one for all worlds. */
const schemas = createArgumentSchemas();
const conditions = createConditions(celEngine);

/** The dependencies of a process that judges calls. */
interface Judging {
  /** Its read model, which is opened later than the write side. */
  readonly readModelOf?: () => ReadModel;
}

function notOpened(): never {
  throw new Error('this process has no read model');
}

/** The event store as a process reaches it, and the write side over it, for each role that writes. */
export function createWriteSide(
  site: Site,
  machine: Machine,
  { readModelOf = notOpened, ...options }: Pick<WriteSidePorts, 'writeOnly'> & Judging = {},
): { readonly store: EventStore; readonly commands: CommandPorts; readonly policies: LivePolicies } {
  const { world } = site;
  const store = createStoreClient(world, site.servers, machine);
  const { ids, log } = machine;
  const clock = createDecidingClock(store.clock);
  const asked = watchQuestions(world, machine, { store: weakened(site, store), readModelOf }, (question) => {
    for (const listener of site.questions) listener(question);
  });
  const handler = createCommandHandler({
    store: asked.store,
    fold: toolCallDecider,
    clock,
    ids,
    // Small: folded streams are forgotten and read again.
    cacheSize: 1 + world.random.below(20),
  });
  const batches = createCommandHandler({
    store: weakened(site, store),
    fold: batchDecider,
    clock,
    ids,
    cacheSize: 1 + world.random.below(20),
  });
  const passkeys = createCommandHandler({ store, fold: passkeyDecider, clock, ids, cacheSize: 1 });
  const grants = createCommandHandler({
    ...{ store: weakened(site, store), fold: grantDecider, clock, ids, cacheSize: 1 + world.random.below(20) },
  });
  const index: GrantIndex = {
    live: (...given) => readModelOf().grants.live(...given),
    liveCount: (...given) => readModelOf().grants.liveCount(...given),
  };
  const policies = createLivePolicies(site.policyFile());
  const commands: CommandPorts = {
    changesOfSteps: createKeyedQueue(),
    passkeys: { handler: passkeys, log: store, signCounts: new Map() },
    ...{ handler, batches, tools: serviceToolFacts, schemas, clock, ids, log, ...options },
    stops: stopsWithout(world.without, createKnownStops({ store, clock, ids })),
    policies: policiesWithout(world.without, policies),
    people: peopleWithout(world.without, peopleOf(site.departure, store.clock)),
    asking: asked.asking,
    grants: {
      handler: grants,
      index: grantIndexWithout(world.without, index),
      conditions: () => Promise.resolve(conditions),
    },
    decideGrant: grantRuleWithout(world.without),
    alterRule: (rule) =>
      ruleWithout(world.without, rule, ({ request }) => {
        const [judgement] = policies.of('default').judge([recordedCall({ ...request, needsApproval: true })], 0);
        return judgement?.requirement.stages ?? [];
      }),
    decideBatch: batchRuleWithout(world.without),
  };
  return { store, commands, policies };
}

function weakened({ world }: Site, store: EventStore): EventStore {
  switch (world.without) {
    case 'expected-revision':
      return withoutRevision(store, world.log);
    case 'command-dedupe':
      return withoutDedupe(store, world.ids.uuid);
    default:
      return store;
  }
}
