import type { ApprovalView } from '@countersign/contracts';
import { linkedController } from '@countersign/http-client';
import type { Client } from '../ledger/client.js';
import type { ExecutionPorts } from '../execution/execution-ports.js';
import { createCountdown, type StateOptions, type WaitOptions } from '../limits.js';
import type { StepOutcome } from '../results/outcome.js';
import type { ToolResult } from '../results/results.js';
import type { RunState, Step } from '../state.js';
import type { ProposedCall } from '../tools/tool-definition.js';

/** One call of a model step, which an agent framework is about to run. */
export interface FrameworkCall extends Omit<Step, 'toolCalls' | 'batchMode' | 'sequential'>, ProposedCall {}

/**
 * The state of a call: it has its one result, or an approval is pending. Both are null for a call that the user's
 * client runs.
 */
export interface CallEnd {
  readonly result: ToolResult | null;
  readonly approval: ApprovalView | null;
}

interface Steps {
  readonly step: (step: Step, limits: WaitOptions) => Promise<StepOutcome>;
  /** Waits for news of it; undefined when the time was over before that. */
  readonly follow: (state: RunState, limits: WaitOptions) => Promise<StepOutcome | undefined>;
}

/**
 * Requests the call as a step of its own, and runs it if it may run. It waits for another process that runs the call
 * without a limit, and for people until the time limit (default: not at all).
 */
export async function endOfCall(
  steps: Steps,
  call: FrameworkCall,
  { signal, context }: WaitOptions,
  remaining: () => WaitOptions,
): Promise<CallEnd> {
  const { toolCallId, toolName, arguments: args, rawArguments, ...step } = call;
  let outcome = await steps.step(
    { ...step, toolCalls: [{ toolCallId, toolName, arguments: args, rawArguments }] },
    { signal, context },
  );
  for (;;) {
    const limits = outcome.stopReason === 'awaiting_execution' ? { signal, context } : remaining();
    if (!waitsOn(outcome, limits)) break;
    outcome = (await steps.follow(outcome.state, limits)) ?? outcome;
  }
  return { result: outcome.results[0] ?? null, approval: outcome.pendingApprovals[0] ?? null };
}

type Pending = Pick<StepOutcome, 'pendingApprovals'>;

interface Asking<O extends Pending> extends Pick<ExecutionPorts, 'requester' | 'clock' | 'stopping'> {
  readonly ask: (limits: StateOptions) => Promise<O>;
}

/** The server ends a longer wait by itself. */
const waitMsMax = 50_000;

/** Asks, and waits up to the time limit (by default not at all) until no call waits for people. */
export async function endOfAsking<O extends Pending>(
  { ask, requester, clock, stopping }: Asking<O>,
  limits: StateOptions,
): Promise<O> {
  const remaining = createCountdown(clock, limits);
  const { signal, release } = linkedController(limits.signal, stopping);
  try {
    for (;;) {
      const outcome = await ask({ signal, context: limits.context, bindTo: limits.bindTo });
      const [pending] = outcome.pendingApprovals;
      const waitMs = Math.min(remaining().timeoutMs ?? 0, waitMsMax);
      if (pending === undefined || waitMs <= 0) return outcome;
      await requester.getToolCall(pending.callId, { waitMs: Math.ceil(waitMs), until: 'decided', signal });
    }
  } finally {
    release();
  }
}

/** The approvals of the run that are pending. */
export async function pendingIn(
  client: Pick<Client, 'eachToolCall'>,
  runId: string,
  signal: AbortSignal | undefined,
): Promise<Pending> {
  const pendingApprovals: ApprovalView[] = [];
  for await (const call of client.eachToolCall({ runId, state: ['awaiting_approval'], order: 'oldest', signal })) {
    if (call.approval !== null) pendingApprovals.push(call.approval);
  }
  return { pendingApprovals };
}

/** People are not waited for without a time limit: the agent pauses instead. */
function waitsOn({ stopReason }: StepOutcome, { timeoutMs = 0 }: WaitOptions): boolean {
  return stopReason === 'awaiting_execution' || (stopReason === 'awaiting_approval' && timeoutMs > 0);
}
