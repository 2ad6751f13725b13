import { setImmediate } from 'node:timers/promises';
import { createSimulatedLog } from '@countersign/event-store/testing';
import type { SimulatedLog } from '@countersign/event-store/testing';
import { sleep } from '@countersign/runtime';
import type { Ids } from '@countersign/runtime';
import { createRandom, createSeededIds, createVirtualClock } from '@countersign/runtime/testing';
import type { Random, VirtualClock } from '@countersign/runtime/testing';
import type { Defence } from '../defences.ts';
import { drawHazards } from './hazards.ts';
import type { Hazards } from './hazards.ts';
import { createTrace } from './trace.ts';
import type { Trace } from './trace.ts';

/** A promise of the product that was broken. */
export interface Violation {
  readonly checker: string;
  readonly what: string;
}

/** The shared state of one simulated installation. One random source, one clock: the seed decides everything. */
export interface World {
  readonly seed: number;
  readonly clock: VirtualClock;
  readonly random: Random;
  readonly ids: Ids;
  readonly trace: Trace;
  /** The event store's own memory, which survives its clients. */
  readonly log: SimulatedLog;
  /** The current hazards; none once the world is healed. */
  readonly hazards: () => Hazards;
  readonly heal: () => void;
  readonly isHealed: () => boolean;
  /** The removed defence; null in a normal run. */
  readonly without: Defence | null;
  readonly fail: (checker: string, what: string) => void;
  readonly violations: readonly Violation[];
  /** What the judge of the log says where a defence is removed: `finds` with a broken rule, or `lists` with a doubt. */
  readonly judged: Set<string>;
  readonly wait: (delayMs: number) => Promise<void>;
  /** The duration of an operation over the network. */
  readonly travel: () => Promise<void>;
  readonly travelMs: () => number;
  /** Advances time until `isDone`, a violation, or `withinMs` of virtual time. */
  readonly run: (isDone: () => boolean, withinMs: number) => Promise<'done' | 'late' | 'violated'>;
}

/** How many violations are collected before a run ends: the first one counts, the others help to understand it. */
const violationsMax = 5;

/** The world of a seed. */
export function createWorld(seed: number, without: Defence | null): World {
  const clock = createVirtualClock();
  const random = createRandom(seed);
  const ids = createSeededIds(random);
  const trace = createTrace(clock);
  const drawn = drawHazards(random);
  const violations: Violation[] = [];
  let healed = false;

  const hazards = (): Hazards => (healed ? drawn.healed : drawn.faulty);
  const wait = (delayMs: number): Promise<void> => sleep(clock, delayMs);
  const travelMs = (): number => {
    const { latencyMsMax, slow } = hazards();
    return random.below(latencyMsMax) + (random.chance(slow) ? random.below(3_000) : 0);
  };
  const run: World['run'] = async (isDone, withinMs) => {
    const until = clock.monotonic() + withinMs;
    for (;;) {
      await setImmediate();
      if (violations.length > 0) return 'violated';
      if (isDone()) return 'done';
      const nextInMs = clock.nextInMs();
      if (nextInMs === undefined || clock.monotonic() + nextInMs > until) return 'late';
      clock.runNext();
    }
  };
  return {
    seed,
    clock,
    random,
    ids,
    trace,
    log: createSimulatedLog(),
    hazards,
    heal: () => {
      healed = true;
      trace.add('world', 'healed: no faults from here on');
    },
    isHealed: () => healed,
    without,
    fail: (checker, what) => {
      if (violations.length >= violationsMax) return;
      violations.push({ checker, what });
      trace.add('VIOLATION', `${checker}: ${what}`);
    },
    violations,
    judged: new Set(),
    wait,
    travel: () => wait(travelMs()),
    travelMs,
    run,
  };
}
