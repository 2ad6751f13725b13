import { celEngine } from '@countersign/cel';
import type { CelEngine } from '@countersign/cel';
import { fireDue } from '@countersign/commands';
import type { CommandPorts, Result } from '@countersign/commands';
import { dueAt } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import { loadPolicy } from '@countersign/policy';
import type { LivePolicies } from '@countersign/policy';
import type { VirtualClock } from '@countersign/runtime/testing';
import type { Defence } from './defences.ts';
import type { Recorded } from './recorded.ts';
import { idOf } from './requests.ts';
import type { Group, Policy } from './words.ts';
import { policyFile } from './world.ts';
import type { Identities } from './world.ts';

const loaded = new Map<string, ReturnType<typeof loadPolicy>>();

export function policyOf(policy: Policy, identities: Identities, without: Defence | null) {
  const isBlind = without === 'absent-values';
  const file = policyFile(policy, identities);
  const key = JSON.stringify([isBlind, file]);
  const known = loaded.get(key) ?? loadPolicy('policy.json', file, isBlind ? blindEngine : celEngine);
  loaded.set(key, known);
  return known;
}

/** As if an expression without an answer were false. */
const blindEngine: CelEngine = {
  ...celEngine,
  compile: (...given) => {
    const compiled = celEngine.compile(...given);
    if ('problem' in compiled) return compiled;
    return {
      expression: (inputs) => {
        const answer = compiled.expression(inputs);
        return 'problem' in answer ? { value: false, cost: answer.cost } : answer;
      },
    };
  },
};

/** A call as its stream has it. */
export interface Loaded {
  readonly state: ToolCall;
  readonly position: number;
}

/** Whose tokens are in force. */
export interface Tokens {
  readonly removed: Set<string>;
  /** How often the token of each person, and that of the front end, was replaced. */
  readonly renewed: Map<string, number>;
  /** The groups for whose people the front end may speak; null: it has no token. */
  desk: readonly Group[] | null;
}

/** What stands behind the commands of one world. */
export interface World {
  readonly ports: CommandPorts;
  readonly store: EventStore;
  readonly clock: VirtualClock;
  readonly policies: LivePolicies;
  readonly tokens: Tokens;
  readonly without: Defence | null;
  /** The calls that were requested, and the grants that were given, by their numbers. */
  readonly calls: Set<number>;
  readonly grants: string[];
  readonly recorded: Recorded;
  /** The digest of the first proposal of each approval. */
  readonly firstDigests: Map<string, string>;
  /** The digest of the first proposal of each approval with the instructions, of which there were none. */
  readonly firstWhole: Map<string, string>;
  readonly stateOf: (call: number) => Promise<ToolCall | undefined>;
  /** All calls that are recorded, in the order of their requests, each with the position of its last event. */
  readonly loadAll: () => Promise<readonly Loaded[]>;
  /** Destroys the keys of these principals' values. */
  readonly erase: (isMeant: (principal: string) => boolean) => void;
  /** Sets how far the clock of the machine is ahead of that of the store. */
  readonly drift: (seconds: number) => void;
  /** Ends the process, and starts it again. */
  readonly restart: () => Promise<void>;
  readonly nextId: () => string;
}

/** What a command came to. */
export interface Done {
  readonly result: Result<unknown> | null;
  readonly mayDecide?: boolean;
}

/** Fires what is due for a call. */
export async function fireAll({ ports, stateOf }: World, call: number): Promise<void> {
  for (;;) {
    const state = await stateOf(call);
    const due = state && dueAt(state);
    if (due === undefined || due === null || due.atMs > ports.clock.now()) return;
    if ((await fireDue(ports, 'default', idOf(call))) === null) return;
  }
}
