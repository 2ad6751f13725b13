import { batchModes, type BatchMode, type ToolCallView } from '@countersign/contracts';
import { z } from 'zod';
import type { Labels } from './tools/call-labels.js';
import { questionToolName, type ProposedCall } from './tools/tool-definition.js';

/**
 * Attack: the owner of the store writes a result into the state, and the model is told of a payment that was never made. So
 * a state has room for the failure of a call that was not requested, and for nothing else.
 */
const localFailureSchema = z.strictObject({ code: z.string(), message: z.string() });

const callStateSchema = z.object({
  toolCallId: z.string(),
  toolName: z.string(),
  /** Null for a call that was never requested, because its arguments or its name were wrong. */
  callId: z.string().nullable(),
  /** A hash of the requested call. A call that returns to be run must match it, unless an approver edited it. */
  argumentsHash: z.string().nullable(),
  /** Why a call was never requested. The result of a requested one is in the ledger. */
  local: localFailureSchema.nullable(),
  /** The revision at which the call was last returned. `wait` returns when there is a newer one. */
  seenRevision: z.int().nullable(),
});

const runStateSchema = z.object({
  version: z.literal(1),
  runId: z.string(),
  batchMode: z.enum(batchModes).nullable(),
  /** One call after another. */
  sequential: z.boolean().optional(),
  /** Proves that the state belongs to the user in `bindTo`. Absent: to no user. */
  binding: z.string().optional(),
  calls: z.array(
    callStateSchema.refine(
      ({ callId, local }) => callId === null || local === null,
      'a requested call has no failure here',
    ),
  ),
});

/** Why a call was never requested. */
export type LocalFailure = z.infer<typeof localFailureSchema>;

/** One call in a `RunState`. */
export type CallState = z.infer<typeof callStateSchema>;

/**
 * The pause as plain JSON: store it with the conversation. It has no authority and no outcome, which are in the ledger.
 * An old copy works like a new one, and `restore` replaces a lost one. With `bindTo` it belongs to one user of the
 * application.
 */
export type RunState = z.infer<typeof runStateSchema>;

/** Reads a state that was stored. Throws a TypeError when it is none. */
export function parseRunState(value: unknown): RunState {
  const parsed = runStateSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const why = z.prettifyError(parsed.error);
  throw new TypeError(`not a state of this worker: ${why}\nStore it whole; \`restore\` makes a new one of the run.`);
}

/** Rebuilds the state of a run from the ledger, when its own is lost. */
export function stateOfRun(
  run: { readonly runId: string; readonly calls: readonly ToolCallView[] },
  {
    agentId,
    batchId,
    sequential = false,
  }: { agentId: string; batchId?: string | undefined; sequential?: boolean | undefined },
): RunState {
  const ours = run.calls.filter(
    (call) =>
      call.agentId === agentId &&
      (batchId === undefined || call.batchId === batchId) &&
      // Asked by a running tool, which gets the answer.
      call.toolName !== questionToolName,
  );
  return {
    version: 1,
    runId: run.runId,
    batchMode: null,
    ...(sequential ? { sequential } : {}),
    calls: ours.map(({ toolCallId, toolName, callId }) => ({
      toolCallId,
      toolName,
      callId,
      argumentsHash: null,
      local: null,
      seenRevision: null,
    })),
  };
}

/** The calls of one model step, as in the model's response. */
export interface Step {
  readonly runId: string;
  /**
   * Names the request: its idempotency key over HTTP, its `ce_id` on Kafka. Store it first, and pass it again with the
   * same step after a crash. Generated when missing. The calls are recognised in either case. 1 to 250 ASCII characters
   * without spaces.
   */
  readonly requestId?: string | undefined;
  readonly batchId?: string | undefined;
  readonly batchMode?: BatchMode | undefined;
  /**
   * Runs the calls one after another in their order: each starts when the one before has its result. People are asked
   * about all of them at once. Default: the worker's.
   */
  readonly sequential?: boolean | undefined;
  /** The recorded call of a parent agent inside which the calls of this step run: an approver sees it and those around it. */
  readonly parentCallId?: string | undefined;
  /** The person for whom the agent acts. That person cannot approve the calls. */
  readonly onBehalfOf?: string | undefined;
  /**
   * Labels of all calls of the step, such as the chat of the conversation, besides those of their tools, which count where both name
   * one. It names no `cwd`, `mcpServer`, `mcpEndpoint` and `mcpDefinition`: these say where a tool works.
   */
  readonly labels?: Labels | undefined;
  /** The conversation, for predicates. It stays here. */
  readonly messages?: readonly unknown[] | undefined;
  readonly toolCalls: readonly ProposedCall[];
}
