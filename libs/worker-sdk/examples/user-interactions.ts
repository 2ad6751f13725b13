// A workflow engine whose events ask its application (`USER_INTERACTION_REQUESTED`), one tool call after another.
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import {
  isRefusal,
  type ApprovalView,
  type Client,
  type Step,
  type ToolResult,
  type Worker,
} from '@countersign/worker-sdk';
import {
  interactionProcessed,
  interactionRequested,
  interactionSuperseded,
  MappingError,
  responseToInteraction,
} from '@countersign/worker-sdk/mappings';
import type {
  UserInteractionProcessed,
  UserInteractionRequested,
  UserInteractionResponded,
} from '@countersign/worker-sdk/mappings';

/** The tool calls of the nodes of one workflow. */
export interface ToolApprovals {
  /** Resolves to one result for each call. After a restart, pass the same calls again: what has run does not run again. */
  readonly execute: (nodeId: string, calls: Pick<Step, 'runId' | 'toolCalls'>) => Promise<readonly ToolResult[]>;
  /**
   * Call it with each `USER_INTERACTION_RESPONDED`. `USER_INTERACTION_PROCESSED` follows when the approval is decided, which may need
   * more people. Rejects when the response is not about what is asked, such as after a restart before `execute` asks again.
   */
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
  const closed = new Set<string>();
  const close = (event: UserInteractionProcessed): void => {
    closed.add(event.interactionId);
    if (open.delete(event.interactionId)) emit(event);
  };
  const ask = (approval: ApprovalView, nodeId: string, questionId?: string): void => {
    const asked = interactionRequested(approval, { workflowId, nodeId, questionId });
    const before = [...open.values()].find(({ metadata }) => metadata.approvalId === approval.approvalId);
    if (questionId === undefined && before?.metadata.shownDigest === approval.shownDigest) return;
    if (before !== undefined) close(interactionSuperseded(before, Date.now()));
    open.set(asked.interactionId, asked);
    emit(asked);
  };
  /** The time is over, or a person has decided: at the dialog, in the inbox or in a chat. */
  const closeDecided = async (asked: UserInteractionRequested): Promise<void> => {
    let approval = await user.getApproval(asked.metadata.approvalId);
    // A cluster may show a decision a moment later.
    for (; approval.state === 'pending'; approval = await user.getApproval(approval.approvalId)) await delay(200);
    close(interactionProcessed(approval, asked, Date.now()));
  };
  const askAgain = async ({ threadId, nodeId, metadata }: UserInteractionRequested, questionId?: string) => {
    const pending = await worker.pending(threadId);
    const current = pending.find(({ approvalId }) => approvalId === metadata.approvalId);
    if (current !== undefined) ask(current, nodeId, questionId);
  };
  return {
    execute: async (nodeId, calls) => {
      let outcome = await worker.step({ ...calls, batchMode: 'sequential' });
      for (;;) {
        const pending = new Set(outcome.pendingApprovals.map(({ approvalId }) => approvalId));
        for (const asked of [...open.values()]) {
          const isOfNode = asked.threadId === calls.runId && asked.nodeId === nodeId;
          if (isOfNode && !pending.has(asked.metadata.approvalId)) await closeDecided(asked);
        }
        if (outcome.stopReason === null) return outcome.results;
        for (const approval of outcome.pendingApprovals) ask(approval, nodeId);
        outcome = await worker.wait(outcome.state);
      }
    },
    respond: async (event) => {
      const asked = open.get(event.interactionId);
      // Delivered twice, or the dialog was closed meanwhile.
      if (closed.has(event.interactionId)) return;
      if (asked === undefined) throw new MappingError(`nothing is asked as ${event.interactionId}`);
      const { approvalId, body, idempotencyKey } = responseToInteraction(event, asked);
      try {
        const { state } = await user.respond(approvalId, body, { idempotencyKey });
        if (state !== 'pending') await closeDecided(asked);
      } catch (error) {
        if (isRefusal(error, 'already-resolved', 'expired')) await closeDecided(asked);
        // Another person has proposed something else, or told the agent something: the dialog shows that now.
        else if (isRefusal(error, 'digest-mismatch')) await askAgain(asked);
        // The person withdrew this answer, and the event was delivered again.
        else if (isRefusal(error, 'idempotency-key-reused')) await askAgain(asked, randomUUID());
        else if (!isRefusal(error, 'already-voted')) throw error;
      }
    },
  };
}
