import type { JsonObject } from '@countersign/contracts';
import type { BatchCommand, BatchState, ToolCallCommand, ToolCallState } from '@countersign/domain';
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

export type ToolCallHandler = CommandHandler<ToolCallState, ToolCallCommand>;

export type BatchHandler = CommandHandler<BatchState, BatchCommand>;

/** What the write side stands on. */
export interface CommandPorts {
  readonly handler: ToolCallHandler;
  /** Of the streams of all-or-nothing batches. */
  readonly batches: BatchHandler;
  readonly policies: Policies;
  readonly tools: ServiceTools;
  readonly schemas: ArgumentSchemas;
  /**
   * Whether a request for one call is looked for before it is recorded; default true. Without, it costs one round trip
   * instead of two, and whoever asked is not told whether a repeat was recorded before.
   */
  readonly looksFirst?: boolean;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}
