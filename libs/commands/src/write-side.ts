import { batchDecider, toolCallDecider } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import { createPolicies } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import type { Clock, Ids, Log } from '@countersign/runtime';
import { createArgumentSchemas } from './argument-schema.js';
import { createCommandHandler } from './handle-command.js';
import type { CommandPorts, ServiceTools } from './ports.js';

/** What a process that writes to the ledger brings. */
export interface WriteSidePorts {
  readonly store: EventStore;
  /** Null: the built-in policy. */
  readonly policy: PolicyContent | null;
  readonly tools: ServiceTools;
  /** See {@link CommandPorts}. Default: false. */
  readonly writeOnly?: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** How many folded streams are kept: calls in the middle of their life, some kilobytes each. */
const cacheSize = 1024;
/** Only batches that nothing is recorded of are kept. */
const batchCacheSize = 16;

/** What commands need, over an event store: every process that writes has it inside, standalone or one role of many. */
export function createWriteSide(ports: WriteSidePorts): CommandPorts {
  const { store, policy, tools, writeOnly = false, clock, ids, log } = ports;
  return {
    handler: createCommandHandler({ store, fold: toolCallDecider, clock, ids, cacheSize }),
    batches: createCommandHandler({ store, fold: batchDecider, clock, ids, cacheSize: batchCacheSize }),
    policies: createPolicies(policy === null ? [] : [policy]),
    tools,
    schemas: createArgumentSchemas(),
    writeOnly,
    clock,
    ids,
    log,
  };
}
