import type { RecordedEvent } from '@countersign/contracts';
import { readable } from '@countersign/event-store/testing';
import type { KnownRequest } from '@countersign/gateway';
import { startAgents } from './actors/agent.ts';
import { startApprovers } from './actors/approver.ts';
import { startAttacker } from './actors/attacker.ts';
import { startGranters } from './actors/granter.ts';
import { startIntruder } from './actors/intruder.ts';
import { startMeddler } from './actors/meddler.ts';
import { startOperator } from './actors/operator.ts';
import { startStoppers } from './actors/stopper.ts';
import { openDoors } from './actors/http.ts';
import type { Doors } from './actors/http.ts';
import { allOrNothing } from './checkers/all-or-nothing.ts';
import { approvedDigest } from './checkers/approved-digest.ts';
import { atMostOnce } from './checkers/at-most-once.ts';
import { batchFate } from './checkers/batch-fate.ts';
import type { Checker, CreateChecker, Fail } from './checkers/checker.ts';
import { delegates } from './checkers/delegates.ts';
import { denyEndsRun } from './checkers/deny-ends-run.ts';
import { enoughPeople } from './checkers/enough-people.ts';
import { eventsTopic } from './checkers/events-topic.ts';
import { everyRequestEnds, openCalls } from './checkers/every-request-ends.ts';
import { fencing } from './checkers/fencing.ts';
import { fourEyes } from './checkers/four-eyes.ts';
import { grants } from './checkers/grants.ts';
import { legality } from './checkers/legality.ts';
import { logOnlyGrows } from './checkers/log-only-grows.ts';
import { oneResolution } from './checkers/one-resolution.ts';
import { policyReload } from './checkers/policy-reload.ts';
import { quotas } from './checkers/quotas.ts';
import { ownership } from './checkers/ownership.ts';
import { turns } from './checkers/turns.ts';
import { stops } from './checkers/stops.ts';
import { storeTime } from './checkers/store-time.ts';
import { viewsEqualReplay } from './checkers/views-equal-replay.ts';
import type { Defence } from './defences.ts';
import { bootGateway } from './roles/gateway.ts';
import { bootLedger } from './roles/ledger.ts';
import { bootProjector } from './roles/projector.ts';
import { bootRelay } from './roles/relay.ts';
import { bootResolver } from './roles/resolver.ts';
import { healAll, startChaos } from './world/chaos.ts';
import { createSite, openSlot } from './world/cluster.ts';
import type { Site } from './world/cluster.ts';
import { withoutRealTimeAndChance } from './world/guard.ts';
import { createWorld } from './world/world.ts';
import type { Violation } from './world/world.ts';
import { drawWorkload } from './workload.ts';

/** The result of one seed. */
export interface Outcome {
  readonly seed: number;
  readonly violations: readonly Violation[];
  /** What the judge of the log says where a defence is removed: `finds` with a broken rule, or `lists` with a doubt. */
  readonly judged: ReadonlySet<string>;
  readonly trace: readonly string[];
  readonly digest: string;
  readonly events: number;
  /** The log in its stored form. */
  readonly log: readonly RecordedEvent[];
  readonly virtualMs: number;
}

const faultsMs = 90_000;
/** How long the world may take to come to rest after the last fault: longer than every deadline together. */
const restMs = 30 * 60_000;

const checkers: Readonly<Record<string, CreateChecker>> = {
  'one-resolution': oneResolution,
  'at-most-once': atMostOnce,
  'approved-digest': approvedDigest,
  fencing,
  'four-eyes': fourEyes,
  'enough-people': enoughPeople,
  delegates,
  grants,
  quotas,
  'policy-reload': policyReload,
  'deny-ends-run': denyEndsRun,
  ownership,
  'all-or-nothing': allOrNothing,
  'batch-fate': batchFate,
  turns,
  stops,
  legality,
  'log-only-grows': logOnlyGrows,
  'every-request-ends': everyRequestEnds,
  'events-topic': eventsTopic,
  'store-time': storeTime,
};

/** Runs one world: first with faults, then healed until it is at rest. Only the seed decides. */
export async function simulate(seed: number, without: Defence | null = null): Promise<Outcome> {
  const world = createWorld(seed, without);
  const site = createSite(world);
  try {
    return await withoutRealTimeAndChance(() => live(site));
  } finally {
    site.disk.remove();
  }
}

async function live(site: Site): Promise<Outcome> {
  const { world } = site;
  const { random } = world;
  const numbers = (most: number): readonly number[] => Array.from({ length: 1 + random.below(most) }, (_, n) => n + 1);
  const gateways = numbers(3).map((n) => {
    const requests = new Map<string, KnownRequest>();
    return openSlot(world, `gateway-${n}`, (machine) => bootGateway(site, machine, requests));
  });
  const projectors = numbers(2).map((n) =>
    openSlot(world, `projector-${n}`, (machine) => bootProjector(site, machine)),
  );
  const relays = numbers(2).map((n) => openSlot(world, `relay-${n}`, (machine) => bootRelay(site, machine)));
  const resolvers = numbers(3).map((n) => openSlot(world, `resolver-${n}`, (machine) => bootResolver(site, machine)));
  const ledgers = numbers(2).map((n) => openSlot(world, `ledger-${n}`, (machine) => bootLedger(site, machine)));
  const slots = [...gateways, ...projectors, ...ledgers, ...relays, ...resolvers];
  const doors = openDoors(site, gateways);
  const views = () => [...gateways, ...projectors, ...ledgers].flatMap((slot) => slot.running() ?? []);
  const checks = startCheckers(site, doors, (fail) => viewsEqualReplay(site, fail, views));
  const agents = startAgents(site, doors, drawWorkload(random));
  startApprovers(world, doors);
  const granters = startGranters(world, doors);
  const stoppers = startStoppers(world, doors);
  startAttacker(site);
  startMeddler(site, doors);
  startIntruder(site, doors);
  startOperator(site);
  startChaos(site, slots);

  await world.run(() => false, faultsMs);
  healAll(site, slots);
  const isAtRest = (): boolean =>
    agents.waiting().length === 0 &&
    granters.waiting() === 0 &&
    stoppers.waiting() === 0 &&
    site.broker.behind() === 0 &&
    relayedTo(site) === world.log.events.length &&
    slots.every((slot) => slot.machine()?.isAlive()) &&
    views().length === gateways.length + projectors.length + ledgers.length &&
    views().every(({ readModel }) => readModel.checkpoint() === world.log.events.length) &&
    openCalls(site).length === 0;
  if (world.violations.length === 0 && (await world.run(isAtRest, restMs)) === 'late') {
    world.fail(
      'every-request-ends',
      whatIsLeft(
        site,
        agents.waiting(),
        views().map(({ readModel }) => readModel.checkpoint()),
      ),
    );
  }
  // A moment more: events after the last result must do no harm either.
  if (world.violations.length === 0) await world.run(() => false, 5_000);
  if (world.violations.length === 0) await world.run(isAtRest, restMs);
  for (const { atEnd } of checks) if (world.violations.length === 0) await atEnd?.();
  for (const slot of slots) slot.close();
  return {
    seed: world.seed,
    violations: world.violations,
    judged: world.judged,
    trace: world.trace.lines(),
    digest: world.trace.digest(),
    events: world.log.events.length,
    log: world.log.events,
    virtualMs: world.clock.monotonic(),
  };
}

/** The position up to which the relay has published and kept that. */
function relayedTo({ turns }: Site): number {
  const { position = 0 } = JSON.parse(turns.kept() ?? '{}') as { readonly position?: number };
  return position;
}

function whatIsLeft(site: Site, waiting: readonly string[], checkpoints: readonly number[]): string {
  const { world, broker } = site;
  const left = waiting.map(
    (callId) => `${callId} (${world.log.streams.get(`toolCall-${callId}`)?.at(-1)?.type ?? 'not recorded'})`,
  );
  return `no rest after ${restMs / 60_000} minutes: without a result ${left.join(', ') || 'none'}; open ${openCalls(site).join(', ') || 'none'}; ${broker.behind()} messages not handled; views at ${checkpoints.join(', ')} of ${world.log.events.length}`;
}

function startCheckers(
  { world, outside, ...site }: Site,
  doors: Doors,
  ofViews: (fail: Fail) => Omit<Checker, 'name'>,
): readonly Omit<Checker, 'name'>[] {
  const failing =
    (name: string): Fail =>
    (what) => {
      world.fail(name, what);
    };
  const all = [
    ...Object.entries(checkers).map(([name, create]) => create({ world, outside, ...site }, failing(name))),
    ofViews(failing('views-equal-replay')),
  ];
  world.log.readers.add({
    publish: (events) => {
      for (const event of readable(events)) {
        world.trace.add('log', `${event.position} ${event.type} ${event.stream.slice(9, 16)} r${event.revision}`);
        for (const { onRecorded } of all) onRecorded?.(event);
      }
    },
    subscribe: () => ({ stop: async () => undefined }),
    close: () => undefined,
  });
  site.questions.add((question) => {
    for (const { onQuestion } of all) onQuestion?.(question);
  });
  site.deadlines.add((machine) => {
    for (const { onDeadline } of all) onDeadline?.(machine);
  });
  site.claims.add((...claim) => {
    for (const { onClaim } of all) onClaim?.(...claim);
  });
  outside.onBegin((run) => {
    for (const { onToolBegins } of all) onToolBegins?.(run);
  });
  outside.onEffect((run) => {
    for (const { onToolEffect } of all) onToolEffect?.(run);
  });
  doors.onAcknowledged((acknowledged) => {
    for (const { onAcknowledged } of all) onAcknowledged?.(acknowledged);
  });
  return all;
}
