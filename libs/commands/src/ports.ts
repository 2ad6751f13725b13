import type { BatchEvent, JsonObject, ToolCallEvent } from '@countersign/contracts';
import type { BatchState, Decider, Rule, BatchCommand, ToolCallCommand, ToolCallState } from '@countersign/domain';
import type { Policies } from '@countersign/policy';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { ArgumentSchemas } from './argument-schema.js';
import type { CommandHandler } from './handle-command.js';

/** A tool that the service itself executes: its facts come from the operator's file, not from the agent. */
export interface ServiceTool {
  readonly needsApproval: boolean;
  readonly idempotent: boolean;
  readonly inputSchema: JsonObject | null;
}

/** The tools that the service executes, by tenant and name. */
export interface ServiceTools {
  readonly find: (tenant: string, toolName: string) => ServiceTool | undefined;
}

export type ToolCallHandler = CommandHandler<ToolCallState, ToolCallEvent>;

export type BatchHandler = CommandHandler<BatchState, BatchEvent>;

/**
 * What every command needs. A command loads its stream, applies the domain's rule, and appends at the revision that it
 * decided on; roles are checked by the edge, ownership by the rule. A command whose id is in the stream already adds
 * nothing. @throws EventStoreUnavailableError when the store cannot be written; repeating the command is safe.
 */
export interface CommandPorts {
  readonly handler: ToolCallHandler;
  /** Of the streams of all-or-nothing batches. */
  readonly batches: BatchHandler;
  readonly policies: Policies;
  readonly tools: ServiceTools;
  readonly schemas: ArgumentSchemas;
  /**
   * For a process that shows nobody what it records: a request for one call is recorded without reading its stream first.
   * It costs one round trip instead of two, and whoever asked is not told whether it was a repeat. Default false.
   */
  readonly writeOnly?: boolean;
  /** Only the simulation sets these two: it takes a defence out of a rule, and must then notice. */
  readonly alterRule?: <Command extends ToolCallCommand>(rule: Rule<Command>) => Rule<Command>;
  readonly decideBatch?: Decider<BatchState, BatchCommand, BatchEvent>['decide'];
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}
