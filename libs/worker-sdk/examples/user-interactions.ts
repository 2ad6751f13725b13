// A workflow engine whose events ask its application (`USER_INTERACTION_REQUESTED`), one tool call after another.
import {
  isRefusal,
  type ApprovalView,
  type Client,
  type Step,
  type ToolResult,
  type Worker,
} from '@countersign/worker-sdk';
import { interactionProcessed, interactionRequested, responseToInteraction } from '@countersign/worker-sdk/mappings';
import type {
  UserInteractionProcessed,
  UserInteractionRequested,
  UserInteractionResponded,
} from '@countersign/worker-sdk/mappings';

/** The tool calls of the nodes of one workflow. */
export interface ToolApprovals {
  /** Resolves to one result for each call. After a restart, pass the same calls again: what has run does not run again. */
  readonly execute: (nodeId: string, calls: Pick<Step, 'runId' | 'toolCalls'>) => Promise<readonly ToolResult[]>;
  /** Call it with each `USER_INTERACTION_RESPONDED`. Rejects when the response is not about what was asked. */
  readonly respond: (event: UserInteractionResponded) => Promise<void>;
}

/** @param user the client of the person at the dialog. */
export function createToolApprovals(
  worker: Worker,
  user: Client,
  workflowId: string,
  emit: (event: UserInteractionRequested | UserInteractionProcessed) => void,
): ToolApprovals {
  const open = new Map<string, UserInteractionRequested>();
  const ask = (approval: ApprovalView, nodeId: string): void => {
    const asked = interactionRequested(approval, { workflowId, nodeId });
    if (open.has(asked.interactionId)) return;
    open.set(asked.interactionId, asked);
    emit(asked);
  };
  return {
    execute: async (nodeId, calls) => {
      let outcome = await worker.step({ ...calls, batchMode: 'sequential' });
      while (outcome.stopReason !== null) {
        for (const approval of outcome.pendingApprovals) ask(approval, nodeId);
        // Also returns when the time is over, or when another person has decided in the inbox or a chat.
        outcome = await worker.wait(outcome.state);
      }
      return outcome.results;
    },
    respond: async (event) => {
      const asked = open.get(event.interactionId);
      if (asked === undefined) return;
      const { approvalId, body, idempotencyKey } = responseToInteraction(event, asked);
      try {
        await user.respond(approvalId, body, { idempotencyKey });
      } catch (error) {
        if (
          !isRefusal(error, 'already-resolved', 'already-voted', 'expired', 'digest-mismatch', 'idempotency-key-reused')
        )
          throw error;
        // Another person has proposed something else, or told the agent something: the dialog shows that now.
        const changed = (await worker.pending(asked.threadId)).find((approval) => approval.approvalId === approvalId);
        if (changed !== undefined) ask(changed, asked.nodeId);
      }
      open.delete(event.interactionId);
      emit(interactionProcessed(event, asked, Date.now()));
    },
  };
}
