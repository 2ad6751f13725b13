import type { DecisionType, DurationMs, JsonObject } from '@countersign/contracts';

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
