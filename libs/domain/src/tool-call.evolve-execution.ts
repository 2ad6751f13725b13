import type { EventData, ToolCallEvent } from '@countersign/contracts';
import type { Execution, ToolCall } from './tool-call.state.js';

type ExecutionEvent = Extract<ToolCallEvent, { type: `Execution${string}` }>;

/** The call after one more event of its execution. */
export function evolveExecution(call: ToolCall, event: ExecutionEvent): ToolCall {
  switch (event.type) {
    case 'ExecutionClaimed': {
      const { actionDigest: _, ...claim } = event.data;
      return executing(call, { status: 'claimed', ...claim });
    }
    case 'ExecutionClaimRenewed': {
      const { execution } = call;
      return execution.status === 'claimed'
        ? executing(call, { ...execution, leaseUntil: event.data.leaseUntil })
        : call;
    }
    case 'ExecutionSucceeded': {
      const { attempt, executedBy, output, reportedAt } = event.data;
      const claimedBy = claimantOf(call);
      return executing(call, { status: 'succeeded', attempt, by: executedBy, claimedBy, output }, reportedAt);
    }
    case 'ExecutionFailed': {
      const { attempt, executedBy, error, reportedAt } = event.data;
      const claimedBy = claimantOf(call);
      return executing(call, { status: 'failed', attempt, by: executedBy, claimedBy, error }, reportedAt);
    }
    case 'ExecutionLapsed':
      return executing(call, {
        status: 'released',
        attempt: event.data.attempt,
        cause: 'lapsed',
        claimedBy: claimantOf(call),
      });
    case 'ExecutionOutcomeUnknown':
      return executing(
        call,
        { status: 'unknown', ...event.data, claimedBy: claimantOf(call) },
        event.data.unknownSince,
      );
    case 'ExecutionReconciled':
      return reconciled(call, event.data);
  }
}

/** The holder of the latest claim, also after its lease. */
function claimantOf({ execution }: ToolCall): string | null {
  return 'claimedBy' in execution ? execution.claimedBy : null;
}

/** The call with this execution; an earlier settlement no longer counts. */
export function executing(call: ToolCall, execution: Execution, settledAt: string | null = null): ToolCall {
  return { ...call, execution, settledAt };
}

function reconciled(call: ToolCall, { status, note, reconciledAt }: EventData<'ExecutionReconciled'>): ToolCall {
  const attempt = call.execution.status === 'none' ? 0 : (call.execution.attempt ?? 0);
  const claimedBy = claimantOf(call);
  switch (status) {
    case 'succeeded':
      // The person knows that it ran, not its result.
      return executing(call, { status, attempt, by: 'reconciliation', claimedBy, output: null }, reconciledAt);
    case 'failed':
      return executing(
        call,
        { status, attempt, by: 'reconciliation', claimedBy, error: { code: 'reconciled', message: note } },
        reconciledAt,
      );
    case 'retry':
      return executing(call, { status: 'released', attempt, cause: 'retry', claimedBy });
  }
}
