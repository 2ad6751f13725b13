import type { ClaimView } from '@countersign/contracts';
import { topicNames } from '@countersign/message-bus';
import { createMemoryExclusiveProgress } from '@countersign/message-bus/testing';
import type { MemoryExclusiveProgress } from '@countersign/message-bus/testing';
import { drawDeparture } from './absences.ts';
import type { Departure } from './absences.ts';
import { createBroker } from './broker.ts';
import type { Broker } from './broker.ts';
import type { PolicyContent } from '@countersign/policy';
import { openDisk } from './disk.ts';
import type { Disk } from './disk.ts';
import { startMachine } from './machine.ts';
import type { Machine } from './machine.ts';
import { createOutside } from './outside.ts';
import type { Outside } from './outside.ts';
import { createStoreServers } from './store-client.ts';
import type { StoreServers } from './store-client.ts';
import { drawPolicyFile } from './policy-file.ts';
import type { Question } from './questions.ts';
import type { World } from './world.ts';

/** The shared parts of all processes of one installation. */
export interface Site {
  readonly world: World;
  readonly servers: StoreServers;
  readonly broker: Broker;
  readonly turns: MemoryExclusiveProgress;
  readonly outside: Outside;
  readonly disk: Disk;
  readonly policyFile: () => PolicyContent;
  readonly departure: Departure | null;
  /** Listeners to the questions of all processes. */
  readonly questions: Set<(question: Question) => void>;
  /** Listeners to the deadlines that a machine is about to fire. */
  readonly deadlines: Set<(machine: Machine) => void>;
  /** Listeners to the claims that a process hands out. */
  readonly claims: Set<(claim: ClaimView, by: string) => void>;
}

/** The surroundings of an installation in which nothing runs yet. */
export function createSite(world: World): Site {
  const { requests, events } = topicNames();
  return {
    world,
    servers: createStoreServers(world),
    broker: createBroker(world.clock, [requests, events], 3),
    turns: createMemoryExclusiveProgress(),
    outside: createOutside(world),
    disk: openDisk(),
    policyFile: drawPolicyFile(world),
    departure: drawDeparture(world),
    questions: new Set(),
    deadlines: new Set(),
    claims: new Set(),
  };
}

/** One machine for processes of a role: after a crash the next one is started. */
export interface Slot<T> {
  readonly name: string;
  /** The running process; undefined while there is none, or while it starts. */
  readonly running: () => T | undefined;
  readonly machine: () => Machine | undefined;
  /** Starts no further process. */
  readonly close: () => void;
}

/** Keeps a process of a role running. `boot` starts it on a machine; after a failed boot the machine is given up. */
export function openSlot<T>(
  world: World,
  name: string,
  boot: (machine: Machine) => T | Promise<T>,
  options: { readonly crashes?: boolean } = {},
): Slot<T> {
  let machine: Machine | undefined;
  let running: T | undefined;
  let isClosed = false;
  let starts = 0;
  const start = (): void => {
    if (isClosed) return;
    starts += 1;
    const mine = startMachine(world, `${name}#${starts}`, options);
    machine = mine;
    mine.onDeath(() => {
      running = undefined;
      world.clock.setTimer(world.isHealed() ? 100 : 200 + world.random.below(4_000), start);
    });
    void (async () => {
      try {
        const booted = await boot(mine);
        if (mine.isAlive()) running = booted;
      } catch (error) {
        mine.kill(`it cannot start: ${error instanceof Error ? error.message : String(error)}`);
      }
    })();
  };
  start();
  return {
    name,
    running: () => running,
    machine: () => machine,
    close: () => {
      isClosed = true;
      machine?.kill('the end');
    },
  };
}
