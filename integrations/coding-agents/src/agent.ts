import type { JsonObject, JsonValue } from '@countersign/contracts';

/** A tool call that an agent is about to run, as its hook describes it. */
export interface AgentCall {
  readonly sessionId: string;
  readonly toolName: string;
  readonly args: JsonObject;
  /** The agent's own id of the call; undefined where it sends none. */
  readonly id: string | undefined;
  /** The folder in which the agent works. */
  readonly cwd: string | undefined;
  /** For people; absent: the tool's name. */
  readonly description?: string | undefined;
  /** The MCP server that brings the tool, where its name does not say which: the tool of another server is another tool. */
  readonly server?: ToolServer;
}

/** The MCP server of a tool. */
export interface ToolServer {
  /** As the agent's settings name it; undefined where the agent does not say. */
  readonly name: string | undefined;
  /** A hash of all that the agent says of it, such as its command or address, which may hold secrets. */
  readonly endpoint: string;
}

/** A tool call that an agent has run. */
export interface AgentEnd {
  readonly call: AgentCall;
  readonly status: 'succeeded' | 'failed';
  /** The output, or the error. */
  readonly result: JsonValue;
}

/**
 * The decision about a call.
 * `pass`: the hook says nothing, and the agent's own rules apply. `defer`: the agent ends and asks again when it is resumed.
 */
export type Decision =
  | { readonly type: 'pass' }
  | {
      readonly type: 'allow';
      /** The arguments that an approver put in the place of the agent's. */
      readonly args?: JsonObject | undefined;
      /** A note for the model: an edit, an instruction of the approver. */
      readonly note?: string | undefined;
    }
  | { readonly type: 'deny'; readonly reason: string }
  | { readonly type: 'defer' };

/** The answer of a hook process to its agent. */
export interface HookAnswer {
  readonly stdout: string;
  readonly stderr: string;
  readonly exitCode: 0 | 1 | 2;
}

/** An allowed call. */
export type Allowed = Extract<Decision, { readonly type: 'allow' }>;

/** A coding agent: how its hooks ask, and in which form it expects the answer. */
export interface CodingAgent {
  readonly title: string;
  /** How long the hook waits for people, in ms: below the agent's own timeout. */
  readonly holdMs: number;
  /**
   * Tools that change nothing outside of the agent, under names that nothing but the agent can have. Empty where a plugin can
   * bring a tool of the same name. The attack: an agent writes such a plugin, and its tool runs without a person.
   */
  readonly readOnlyTools: readonly string[];
  /** The event before a tool, as the agent names it in `hook_event_name`; absent where it sends no name. */
  readonly beforeEvent?: string;
  /** Reads the input of the hook before a tool. Throws a `HookInputError`. */
  readonly readCall: (input: JsonObject) => AgentCall;
  /** Reads the input of the hook after a tool. Throws a `HookInputError`. */
  readonly readEnd: (input: JsonObject) => AgentEnd;
  /** The hook has no opinion; null for an empty output. */
  readonly pass: JsonObject | null;
  /** The tool may run; null for an empty output. */
  readonly allow: (allowed: Allowed) => JsonObject | null;
  readonly deny: (reason: string) => JsonObject;
  /** Ends the agent's process until it is resumed; absent where the agent cannot be. */
  readonly defer?: JsonObject;
  /** The exit code with which a failed hook stops the tool. */
  readonly failureCode: 0 | 2;
  /** A text for the model after the tool. */
  readonly note: (text: string) => JsonObject;
  /**
   * Returns whether the agent would run exactly the approved arguments in the place of its own; absent: always. Where not, the
   * model is told them and calls again.
   */
  readonly takesEdit?: (asked: JsonObject, approved: JsonObject) => boolean;
  /** How the agent runs the tool although the hook failed, and the remedy; null where it does not. */
  readonly failsOpen: (input: JsonObject) => string | null;
}

/** The input of a hook does not have the form that its agent sends. */
export class HookInputError extends Error {
  override readonly name = 'HookInputError';

  constructor(
    message: string,
    readonly remedy = 'Check which agent the command names.',
  ) {
    super(message);
  }
}
