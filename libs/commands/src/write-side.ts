import { batchDecider, toolCallDecider } from '@countersign/domain';
import type { EventStore } from '@countersign/event-store';
import { createPolicies } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import type { Clock, Ids, Log } from '@countersign/runtime';
import { createArgumentSchemas } from './argument-schema.js';
import { createCommands } from './commands.js';
import type { Commands } from './commands.js';
import { createCommandHandler } from './handle-command.js';
import type { ServiceTools } from './ports.js';

/** What a process that writes to the ledger brings. */
export interface WriteSidePorts {
  readonly store: EventStore;
  /** Null: the built-in policy. */
  readonly policy: PolicyContent | null;
  readonly tools: ServiceTools;
  /** See {@link CommandPorts}. Default: true. */
  readonly looksFirst?: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

/** How many folded streams are kept: calls in the middle of their life, some kilobytes each. */
const cacheSize = 1024;
/** Only batches that nothing is recorded of are kept. */
const batchCacheSize = 16;

/** The commands over an event store: what every process that writes has inside, standalone or one role of many. */
export function createWriteSide(ports: WriteSidePorts): Commands {
  const { store, policy, tools, looksFirst = true, clock, ids, log } = ports;
  return createCommands({
    handler: createCommandHandler({ store, decider: toolCallDecider, clock, ids, cacheSize }),
    batches: createCommandHandler({ store, decider: batchDecider, clock, ids, cacheSize: batchCacheSize }),
    policies: createPolicies(policy === null ? [] : [policy]),
    tools,
    schemas: createArgumentSchemas(),
    looksFirst,
    clock,
    ids,
    log,
  });
}
