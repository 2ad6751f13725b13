import type { JsonObject, JsonValue } from '@countersign/contracts';

/** One execution, as the tool sees it. */
export interface ToolRun {
  readonly callId: string;
  readonly runId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly actionDigest: string;
  readonly attempt: number;
  /** The same for all attempts of a call. */
  readonly idempotencyKey: string;
  /** The receipt of the claim as long as its lease is now. Default: there is none. */
  readonly receipt?: () => string | undefined;
  /** Aborts when the claim is lost or the resolver stops waiting. */
  readonly signal: AbortSignal;
}

/**
 * The result of one try. `not-sent`: certainly not executed, and another try may succeed; `refused`: certainly not
 * executed, and no other try will succeed; `unknown`: it may have been executed; `timed-out`: it may still run in this
 * process.
 */
export type ToolOutcome =
  | { readonly status: 'succeeded'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: JsonValue }
  | { readonly status: 'not-sent' | 'refused'; readonly code: string; readonly message: string }
  | { readonly status: 'unknown' | 'timed-out'; readonly message: string };

/** A tool that the service itself executes. */
export interface Tool {
  readonly name: string;
  /** The only tenant that it serves. */
  readonly tenant: string;
  readonly needsApproval: boolean;
  readonly idempotent: boolean;
  /** The JSON Schema of its arguments; null when there is none, or none that JSON Schema can express. */
  readonly inputSchema: JsonObject | null;
  /** Returns the violations as `pointer message`; empty when the arguments are valid. Never changes the arguments. */
  readonly validate: (args: JsonObject) => readonly string[] | Promise<readonly string[]>;
  /** Tries once; never rejects. */
  readonly run: (run: ToolRun) => Promise<ToolOutcome>;
}

/** The tools of one installation. */
export interface ToolSet {
  readonly tools: readonly Tool[];
  readonly find: (tenant: string, name: string) => Tool | undefined;
}
