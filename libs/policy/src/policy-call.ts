import type { DecisionType, DurationMs, EventData, JsonObject } from '@countersign/contracts';

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
  readonly expiresInMs: DurationMs | null;
  readonly allowedDecisions: readonly DecisionType[] | null;
}

/** The facts of a recorded request that a policy judges. */
export type RecordedRequest = Pick<
  EventData<'ToolCallRequested'>,
  'agentId' | 'runId' | 'toolName' | 'arguments' | 'labels' | 'description' | 'needsApproval'
>;

/** A recorded request as a policy judges it. The wishes of the request are not recorded, so there are none. */
export function recordedCall(request: RecordedRequest): PolicyCall {
  const { agentId, runId, toolName, arguments: args, labels, description, needsApproval } = request;
  const facts = { agentId, runId, toolName, arguments: args, labels, description, needsApproval };
  return { ...facts, expiresInMs: null, allowedDecisions: null };
}
