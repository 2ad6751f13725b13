import { batchDecider, toolCallDecider } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import { createPolicies } from '@countersign/policy';
import type { Policies } from '@countersign/policy';
import type { Clock, Ids, Log } from '@countersign/runtime';
import { createArgumentSchemas } from './argument-schema.js';
import { createCommandHandler } from './handle-command.js';
import type { CommandPorts, ServiceTools } from './ports.js';

/** The dependencies of a process that writes to the ledger. */
export interface WriteSidePorts {
  readonly store: EventStore;
  /** Default: the built-in policy for every tenant. */
  readonly policies?: Policies;
  readonly tools: ServiceTools;
  /** See {@link CommandPorts}. Default: false. */
  readonly writeOnly?: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** How many folded streams are cached: calls in progress, some kilobytes each. */
const cacheSize = 1024;
/** Only undecided batches are cached. */
const batchCacheSize = 16;

/** The dependencies of commands over an event store. Every process that writes has them, standalone or as a role. */
export function createWriteSide(ports: WriteSidePorts): CommandPorts {
  const { store, policies = createPolicies([]), tools, writeOnly = false, clock, ids, log } = ports;
  return {
    handler: createCommandHandler({ store, fold: toolCallDecider, clock, ids, cacheSize }),
    batches: createCommandHandler({ store, fold: batchDecider, clock, ids, cacheSize: batchCacheSize }),
    policies,
    tools,
    schemas: createArgumentSchemas(),
    writeOnly,
    clock,
    ids,
    log,
  };
}
