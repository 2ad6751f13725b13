import type { JsonObject } from '@countersign/contracts';

/** How much an agent may ask of people. */
export interface QuotaLimits {
  readonly pendingPerAgent: number | null;
  /** So many denials in a row within `ms` make the agent wait for `ms`. */
  readonly coolDown: { readonly denials: number; readonly ms: number } | null;
  readonly coalesceIdentical: boolean;
}

/** Whose calls are counted: those that a principal requested for one agent, or for any agent. */
export type Counted = { readonly requestedBy: string; readonly agentId?: string };

/** A call about which people would be asked. */
export interface Question {
  readonly callId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly hidesValues: boolean;
  /** To what the arguments are relative. Default: nothing. */
  readonly labels?: Readonly<Record<string, string>>;
  /** A digest of run, tool, arguments and place: equal for identical calls. */
  readonly identity: string;
  /** The principal that asks, about a call of its own; null for another person, who may not see hidden values. */
  readonly requestedBy: string | null;
}

/** A call of the same run about which people are being asked. */
export interface WaitingCall {
  readonly callId: string;
  readonly toolCallId: string;
  readonly approvalId: string;
  readonly arguments: JsonObject;
  readonly hidesValues: boolean;
  readonly labels?: Readonly<Record<string, string>>;
  readonly requestedBy: string;
}

/** What was recorded before these questions, for one agent or principal. */
export interface AskedBefore {
  readonly counted: Counted;
  /** The times of the latest denials without an approval by a person in between. */
  readonly deniedAt: readonly string[];
  /** The calls that wait for people, counted up to the limit. */
  readonly pending: number;
  /** The calls of the run that wait for people, by tool; null: too many to compare. */
  readonly waiting: ReadonlyMap<string, readonly WaitingCall[] | null>;
}

/** The quotas of the policy in front of questions. */
export interface QuotaFacts {
  readonly limits: QuotaLimits;
  /** Null: this process cannot count. */
  readonly before: readonly AskedBefore[] | null;
}

/** The quotas in front of one question about a recorded call. */
export interface QuestionFacts extends QuotaFacts {
  readonly question: Question;
}
