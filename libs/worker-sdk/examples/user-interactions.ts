// A workflow engine whose events ask its application (`USER_INTERACTION_REQUESTED`), one tool call after another.
import { setTimeout as delay } from 'node:timers/promises';
import { isRefusal, type Client, type Step, type ToolResult, type Worker } from '@countersign/worker-sdk';
import {
  interactionProcessed,
  interactionRequested,
  interactionSuperseded,
  isRecorded,
  MappingError,
  responseToInteraction,
  StaleResponseError,
} from '@countersign/worker-sdk/mappings';
import type {
  MappedResponse,
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
   * more people. Rejects when the answer was not recorded: its question was made for another person (on a bus that all hear) or is no
   * longer asked, as after a restart before `execute` asks again; or this person has answered otherwise (`already-voted`), and
   * withdraws that answer first. An answer to what is decided meanwhile resolves: `USER_INTERACTION_PROCESSED` has said what holds.
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
  const closed = new Map<string, UserInteractionProcessed>();
  const close = (event: UserInteractionProcessed): void => {
    closed.set(event.interactionId, event);
    if (open.delete(event.interactionId)) emit(event);
  };
  /** Asks the person, who may not see every value; nothing when the open dialog asks the same. */
  const ask = async (approvalId: string, nodeId: string): Promise<void> => {
    const [{ principal: person }, approval] = await Promise.all([user.getMe(), user.getApproval(approvalId)]);
    if (approval.state !== 'pending') return;
    const asked = interactionRequested(approval, { workflowId, nodeId, person });
    const before = [...open.values()].find(({ metadata }) => metadata.approvalId === approvalId);
    if (before?.interactionId === asked.interactionId) return;
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
  const checkAsked = (interactionId: string): void => {
    if (closed.get(interactionId)?.metadata.outcome !== 'superseded') return;
    throw new StaleResponseError(`something else is asked in the place of ${interactionId}: look at that`);
  };
  /** @throws the error of a response that was refused, unless it is no loss. */
  const settleRefused = async (error: unknown, asked: UserInteractionRequested, mapped: MappedResponse) => {
    const { approvalId, person } = asked.metadata;
    if (isRefusal(error, 'already-resolved', 'expired')) return closeDecided(asked);
    if (isRefusal(error, 'digest-mismatch', 'idempotency-key-reused')) await ask(approvalId, asked.nodeId);
    checkAsked(asked.interactionId);
    const isRepeat = isRefusal(error, 'already-voted');
    if (!isRepeat || !isRecorded(await user.getApproval(approvalId), person, mapped)) throw error;
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
        for (const approvalId of pending) await ask(approvalId, nodeId);
        outcome = await worker.wait(outcome.state);
      }
    },
    respond: async (event) => {
      const { interactionId } = event;
      checkAsked(interactionId);
      if (closed.has(interactionId)) return;
      const asked = open.get(interactionId);
      if (asked === undefined) throw new MappingError(`${interactionId} is not asked, or was made for another person`);
      const mapped = responseToInteraction(event, asked, (await user.getMe()).principal);
      const { approvalId, body, idempotencyKey } = mapped;
      // Something else may be asked since.
      await ask(approvalId, asked.nodeId);
      checkAsked(interactionId);
      try {
        const { state } = await user.respond(approvalId, body, { idempotencyKey });
        if (state !== 'pending') await closeDecided(asked);
      } catch (error) {
        await settleRefused(error, asked, mapped);
      }
    },
  };
}
