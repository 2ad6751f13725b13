// A workflow engine whose events ask its application (`USER_INTERACTION_REQUESTED`), one tool call after another, unless a rule asks about the whole step (`any-asks-all`).
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
  interactionApprovalId,
  interactionProcessed,
  interactionRequested,
  interactionSuperseded,
  isRecorded,
  isRecordedInteraction,
  isRefusedResponse,
  responseToInteraction,
} from '@countersign/worker-sdk/mappings';
import type {
  Answering,
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
   * Call it with each `USER_INTERACTION_RESPONDED` and with what your bus recorded of it. Resolves when the answer is recorded:
   * `USER_INTERACTION_PROCESSED` follows when the approval is decided, which may need more people. Otherwise it rejects: with a
   * `MappingError`, such as for the answer of another person or to an earlier question, or with the refusal of the ledger, such as
   * `already-voted` (this person has answered otherwise, and withdraws that answer first). Where `isRefusedResponse(error)` is false,
   * deliver the event again.
   */
  readonly respond: (event: UserInteractionResponded, delivery: Delivery) => Promise<void>;
}

/** What the application's bus recorded of an event, and nothing that the window wrote into it. */
export interface Delivery {
  readonly eventId: string;
  /** The principal of the session whose window sent the event. */
  readonly sentBy: string;
  /** The sign-in of that session. */
  readonly sentIn: string;
}

/** The window of one person. Who signs in anew, as with a second factor, gets a new one. */
export interface Window {
  /** The client of the person. */
  readonly user: Client;
  /** The id of this sign-in at your application: each has another one. */
  readonly signIn: string;
}

type Emit = (event: UserInteractionRequested | UserInteractionProcessed) => void;

/** What the window of one person asks: at most one dialog for an approval. */
function createDialogs(user: Client, workflowId: string, emit: Emit) {
  const open = new Map<string, UserInteractionRequested>();
  /** Asks the person, who may not see every value; nothing when the open dialog asks the same. */
  const ask = async (approvalId: string, nodeId: string): Promise<void> => {
    const [{ principal: person }, approval] = await Promise.all([user.getMe(), user.getApproval(approvalId)]);
    if (approval.state !== 'pending') return;
    const asked = interactionRequested(approval, { workflowId, nodeId, person });
    const before = open.get(approvalId);
    if (before?.interactionId === asked.interactionId) return;
    if (before !== undefined) emit(interactionSuperseded(before, Date.now()));
    emit(asked);
    // Last: where the bus is away, the next call emits both.
    open.set(approvalId, asked);
  };
  /** Something else may be asked since. */
  const askAgain = async (approvalId: string): Promise<void> => {
    const asked = open.get(approvalId);
    if (asked !== undefined) await ask(approvalId, asked.nodeId);
  };
  /** The time is over, or a person has decided: at the dialog, in the inbox or in a chat. */
  const closeDecided = async (approvalId: string): Promise<void> => {
    let approval = await user.getApproval(approvalId);
    // A cluster may show a decision a moment later.
    for (; approval.state === 'pending'; approval = await user.getApproval(approvalId)) await delay(200);
    const asked = open.get(approvalId);
    if (asked === undefined) return;
    emit(interactionProcessed(approval, asked, Date.now()));
    open.delete(approvalId);
  };
  return { ask, askAgain, closeDecided, open };
}

/** The answer, or that its event is a repeat: it is recorded, whatever is asked since. */
function mappedOrRecorded(
  event: UserInteractionResponded,
  approval: ApprovalView,
  answering: Answering,
): MappedResponse | 'recorded' {
  try {
    return responseToInteraction(event, approval, answering);
  } catch (error) {
    if (isRecordedInteraction(event, approval, answering)) return 'recorded';
    throw error;
  }
}

/** Show the dialogs that `emit` gets in this window alone. After a restart, close those that the window had: what is pending is asked again. */
export function createToolApprovals(
  worker: Worker,
  { user, signIn }: Window,
  workflowId: string,
  emit: Emit,
): ToolApprovals {
  const { ask, askAgain, closeDecided, open } = createDialogs(user, workflowId, emit);
  const send = async (event: UserInteractionResponded, { sentBy, sentIn }: Delivery): Promise<void> => {
    const approvalId = interactionApprovalId(event.interactionId);
    await askAgain(approvalId);
    const [{ principal: person }, approval] = await Promise.all([user.getMe(), user.getApproval(approvalId)]);
    const mapped = mappedOrRecorded(event, approval, { person, signIn, sentBy, sentIn });
    if (mapped === 'recorded') return;
    const { body, idempotencyKey } = mapped;
    try {
      const { state } = await user.respond(approvalId, body, { idempotencyKey });
      if (state !== 'pending') await closeDecided(approvalId);
    } catch (error) {
      if (isRefusal(error, 'digest-mismatch', 'idempotency-key-reused')) await askAgain(approvalId);
      if (isRefusal(error, 'already-resolved')) await closeDecided(approvalId);
      // The same answer once more, as where the event is delivered again.
      const isRepeat = isRefusal(error, 'already-voted', 'already-resolved');
      if (!isRepeat || !isRecorded(await user.getApproval(approvalId), person, mapped)) throw error;
    }
  };
  /** By event. A "yes" that was refused, as for a missing group, does not count when it is delivered again. */
  const refusals = new Map<string, Error>();
  return {
    execute: async (nodeId, calls) => {
      let outcome = await worker.step({ ...calls, batchMode: 'sequential' });
      for (;;) {
        const pending = new Set(outcome.pendingApprovals.map(({ approvalId }) => approvalId));
        for (const [approvalId, asked] of [...open]) {
          const isOfNode = asked.threadId === calls.runId && asked.nodeId === nodeId;
          if (isOfNode && !pending.has(approvalId)) await closeDecided(approvalId);
        }
        if (outcome.stopReason === null) return outcome.results;
        for (const approvalId of pending) await ask(approvalId, nodeId);
        outcome = await worker.wait(outcome.state);
      }
    },
    respond: async (event, delivery) => {
      const refusal = refusals.get(delivery.eventId);
      if (refusal !== undefined) throw refusal;
      try {
        await send(event, delivery);
      } catch (error) {
        if ((event as Partial<UserInteractionResponded>).inputData?.approved === true && isRefusedResponse(error))
          refusals.set(delivery.eventId, error);
        throw error;
      }
    },
  };
}
