import { toolCallStream } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import { batchDecider, grantDecider, passkeyDecider, toolCallDecider } from '@countersign/domain';
import { createDecidingClock } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createPolicies } from '@countersign/policy';
import type { Policies } from '@countersign/policy';
import type { Ids, Log } from '@countersign/runtime';
import { createArgumentSchemas } from './request/argument-schema.js';
import type { GrantSources } from './grants/grant-ports.js';
import { createCommandHandler } from './stream/handle-command.js';
import type { History } from './history.js';
import { createKnownStops } from './stops/known-stops.js';
import { createKeyedQueue } from './stream/keyed-queue.js';
import type { CommandPorts, People, ServiceTools } from './ports.js';

/** The dependencies of a process that writes to the ledger. */
export interface WriteSidePorts {
  readonly store: EventStore;
  /** Default: the built-in policy for every tenant. */
  readonly policies?: Policies;
  /** See {@link CommandPorts}. */
  readonly forbidding?: CommandPorts['forbidding'];
  /** Default: no grant covers a call. */
  readonly grants?: GrantSources;
  /** See {@link CommandPorts}. Default: none. */
  readonly shadow?: CommandPorts['shadow'];
  /** See {@link CommandPorts}. */
  readonly policyInForce?: CommandPorts['policyInForce'];
  /** See {@link CommandPorts}. */
  readonly isRestored?: CommandPorts['isRestored'];
  /** See {@link CommandPorts}. */
  readonly people?: People | undefined;
  readonly tools: ServiceTools;
  /** Default: the process knows no history, and refuses questions under quotas. */
  readonly history?: History;
  /** Returns why a file stops every call of this process. Default: no file does. */
  readonly stopFile?: (() => string | undefined) | undefined;
  /** See {@link CommandPorts}. Default: false. */
  readonly writeOnly?: boolean;
  readonly ids: Ids;
  readonly log: Log;
}

/** How many folded streams are cached: calls in progress, some kilobytes each. */
const cacheSize = 1024;
/** Only undecided batches are cached. */
const batchCacheSize = 16;
/** One stream for each tenant. */
const passkeyCacheSize = 16;
/** The grants in use. */
const grantCacheSize = 256;

/**
 * The dependencies of commands over an event store. Every process that writes has them, standalone or as a role. Their
 * clock is the store's.
 */
export function createWriteSide(ports: WriteSidePorts): CommandPorts {
  const { store, policies = createPolicies([]), shadow, people, tools, grants, history, writeOnly = false } = ports;
  const { ids, log, forbidding, isRestored, stopFile, policyInForce } = ports;
  const clock = createDecidingClock(store.clock);
  return {
    handler: createCommandHandler({ store, fold: toolCallDecider, clock, ids, cacheSize }),
    batches: createCommandHandler({ store, fold: batchDecider, clock, ids, cacheSize: batchCacheSize }),
    changesOfSteps: createKeyedQueue(),
    passkeys: {
      handler: createCommandHandler({ store, fold: passkeyDecider, clock, ids, cacheSize: passkeyCacheSize }),
      log: store,
      signCounts: new Map(),
    },
    ...(grants !== undefined && {
      grants: {
        ...grants,
        handler: createCommandHandler({ store, fold: grantDecider, clock, ids, cacheSize: grantCacheSize }),
      },
    }),
    policies,
    policyInForce,
    stops: createKnownStops({ store, clock, ids, stopFile }),
    forbidding,
    isRestored,
    shadow,
    people,
    tools,
    schemas: createArgumentSchemas(),
    writeOnly,
    ...(history === undefined ? {} : { asking: { history, inTurn: createKeyedQueue() } }),
    clock,
    ids,
    log,
  };
}

/**
 * Learns of calls from the log that this process follows, so that a command on one needs no read first (ADR 121). Never from a message:
 * what is learned is decided on.
 */
export function learnCalls({ handler }: CommandPorts, events: readonly LogEvent[]): void {
  handler.learn(events.filter(({ stream }) => stream.startsWith(toolCallStream(''))));
}

/**
 * Drops every stream that the commands have cached. An erasure calls it once the values read as erased: a stream that
 * another process has settled is still cached here, with its values.
 */
export function forgetStreams({ handler, batches, grants, passkeys }: CommandPorts): void {
  handler.forget();
  passkeys.handler.forget();
  batches.forget();
  grants?.handler.forget();
}
