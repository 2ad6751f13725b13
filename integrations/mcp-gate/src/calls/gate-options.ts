import type { GateMode, TransportOptions } from '@countersign/worker-sdk';
import type { TaskRun } from './task-run.js';
import type { UngatedTools } from './ungated.js';

/** A client does not wait long for a server that is away. */
export const attempts = 3;

/** The ledger, and how the gate behaves. */
export interface GateOptions extends TransportOptions {
  /** A token with role agent. */
  readonly token: string;
  /** A token with role resolver. */
  readonly resolverToken: string;
  readonly agentId: string;
  /** The MCP server, as `endpointOf` names it. A call that was requested for another one is not taken over. */
  readonly endpoint: string;
  /** Where people open the inbox, when it is not `url`. */
  readonly inboxUrl?: string | undefined;
  readonly runId: string;
  /** The run may have calls of an earlier process. */
  readonly continuesRun: boolean;
  /** `writes`: every tool that is not annotated as read-only. */
  readonly gate: GateMode;
  readonly ungated: UngatedTools;
  /** The draft extension of MCP for approvals. Default: false. */
  readonly toolApproval?: boolean | undefined;
  /** How long a request is held while people decide or another gate runs the call, in ms. */
  readonly holdMs: number;
  /** A call of a gate that was killed is `unknown` after this time, in ms. Default: 60,000. */
  readonly leaseMs?: number | undefined;
  /**
   * After this time, in ms, the client gets the result of a tool that ran although Countersign does not take the report.
   * Default: 5,000.
   */
  readonly reportMs?: number | undefined;
  /** How long the MCP server may take to list its tools, in ms. Default: 30,000. */
  readonly listMs?: number | undefined;
  /** The tasks that the connections of one gate follow, by the id of the call. Default: those of this connection. */
  readonly followedTasks?: Map<string, TaskRun> | undefined;
  /** Called when the tool of a task does not run any more. */
  readonly onTaskEnd?: (() => void) | undefined;
}
