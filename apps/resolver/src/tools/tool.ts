import type { JsonObject, JsonValue } from '@countersign/contracts';

/** One execution of a tool, as the tool sees it. */
export interface ToolRun {
  readonly callId: string;
  readonly runId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly actionDigest: string;
  readonly attempt: number;
  /** The same for all attempts of a call. */
  readonly idempotencyKey: string;
  /** Aborts when the claim is lost or the resolver gives up waiting. */
  readonly signal: AbortSignal;
}

/**
 * What one try to run a tool came to. `not-sent`: certainly not executed, and another try may work; `refused`: certainly
 * not executed, and no other try will; `unknown`: it may have been executed.
 */
export type ToolOutcome =
  | { readonly status: 'succeeded'; readonly output: JsonValue }
  | { readonly status: 'failed'; readonly error: JsonValue }
  | { readonly status: 'not-sent' | 'refused'; readonly code: string; readonly message: string }
  | { readonly status: 'unknown'; readonly message: string };

/** A tool that the service itself executes. */
export interface Tool {
  readonly name: string;
  /** The only tenant that it serves. */
  readonly tenant: string;
  readonly needsApproval: boolean;
  readonly idempotent: boolean;
  /** The JSON Schema of its arguments; null when it has none, or one that cannot be written as JSON Schema. */
  readonly inputSchema: JsonObject | null;
  /** What is wrong with the arguments, as `pointer message`; empty when they are valid. Never changes them. */
  readonly validate: (args: JsonObject) => readonly string[] | Promise<readonly string[]>;
  /** Tries once; never rejects. */
  readonly run: (run: ToolRun) => Promise<ToolOutcome>;
}

/** The tools of one installation. */
export interface ToolSet {
  readonly tools: readonly Tool[];
  readonly find: (tenant: string, name: string) => Tool | undefined;
}
