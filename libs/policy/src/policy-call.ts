import type { DecisionType, DurationMs, EventData, JsonObject, ToolHints } from '@countersign/contracts';

/** The input of a policy: the validated call, and the worker's facts about it. */
export interface PolicyCall {
  readonly agentId: string;
  readonly runId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly labels: Readonly<Record<string, string>>;
  readonly description: string | null;
  /** The worker's own predicate, or the tools file: it can only make a call stricter. */
  readonly needsApproval: boolean;
  /** The reason for which the agent's own code denies the call; absent: it does not. */
  readonly deny?: string;
  readonly expiresInMs: DurationMs | null;
  readonly allowedDecisions: readonly DecisionType[] | null;
  /** The annotations of the MCP tool, in the agent's words. */
  readonly hints?: ToolHints;
  /** The facts about the run before this call; absent: unknown, so an expression over them has no answer. */
  readonly run?: RunFacts;
}

/** The facts of a run. */
export interface RunFacts {
  readonly calls: number;
  readonly denied: number;
  /** The time of its first request; null while there is none: it begins now. */
  readonly startedAt: string | null;
}

/** The facts of a recorded request that a policy judges. */
export type RecordedRequest = Pick<
  EventData<'ToolCallRequested'>,
  'agentId' | 'runId' | 'toolName' | 'arguments' | 'labels' | 'description' | 'needsApproval' | 'hints'
>;

/** A recorded request as a policy judges it. The wishes of the request are not recorded, so there are none. */
export function recordedCall(request: RecordedRequest): PolicyCall {
  const { agentId, runId, toolName, arguments: args, labels, description, needsApproval } = request;
  const facts = { agentId, runId, toolName, arguments: args, labels, description, needsApproval };
  const { hints } = request;
  return { ...facts, ...(hints === undefined ? {} : { hints }), expiresInMs: null, allowedDecisions: null };
}
