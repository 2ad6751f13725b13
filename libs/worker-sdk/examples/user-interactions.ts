// A workflow engine whose events ask its application (`USER_INTERACTION_REQUESTED`), one tool call after another.
import { setTimeout as delay } from 'node:timers/promises';
import {
  CountersignError,
  isRefusal,
  type Client,
  type Step,
  type ToolResult,
  type Worker,
} from '@countersign/worker-sdk';
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
   * Call it with each `USER_INTERACTION_RESPONDED` and with what your bus recorded of it. `USER_INTERACTION_PROCESSED` follows when the
   * approval is decided, which may need more people. Rejects when the answer was not recorded: its question was made for another person (on a bus that all hear) or is no
   * longer asked, as after a restart before `execute` asks again; or this person has answered otherwise (`already-voted`), and
   * withdraws that answer first; or the window of another person sent it.
   */
  readonly respond: (event: UserInteractionResponded, delivery: Delivery) => Promise<Heard>;
}

/** What the application's bus recorded of an event, and nothing that the window wrote into it. */
export interface Delivery {
  readonly eventId: string;
  /** The principal of the session whose window sent the event. */
  readonly sentBy: string;
  /** Epoch milliseconds, of the clock that gives `signedInAt`. */
  readonly sentAt: number;
}

/**
 * `no-effect`: the answer counted for nothing. What it answers is decided already (`USER_INTERACTION_PROCESSED` has said what holds),
 * the event was handled before, or the person sent it before this window's sign-in.
 */
export type Heard = 'recorded' | 'no-effect';

/** The window of one person. Who signs in anew, as with a second factor, gets a new one. */
export interface Window {
  /** The client of the person. */
  readonly user: Client;
  /** Epoch milliseconds. */
  readonly signedInAt: number;
}

type Emit = (event: UserInteractionRequested | UserInteractionProcessed) => void;

/** What the window of one person asks, and has asked. */
function createDialogs(user: Client, workflowId: string, emit: Emit) {
  const open = new Map<string, UserInteractionRequested>();
  const closed = new Map<string, UserInteractionProcessed>();
  const superseded = new Map<string, UserInteractionRequested>();
  const openAbout = (approvalId: string): UserInteractionRequested | undefined =>
    [...open.values()].find(({ metadata }) => metadata.approvalId === approvalId);
  const close = (event: UserInteractionProcessed): void => {
    closed.set(event.interactionId, event);
    if (open.delete(event.interactionId)) emit(event);
  };
  /** Asks the person, who may not see every value; nothing when the open dialog asks the same. */
  const ask = async (approvalId: string, nodeId: string): Promise<void> => {
    const [{ principal: person }, approval] = await Promise.all([user.getMe(), user.getApproval(approvalId)]);
    if (approval.state !== 'pending') return;
    const asked = interactionRequested(approval, { workflowId, nodeId, person });
    const before = openAbout(approvalId);
    if (before?.interactionId === asked.interactionId) return;
    if (before !== undefined) {
      superseded.set(before.interactionId, before);
      close(interactionSuperseded(before, Date.now()));
    }
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
  /** The open dialog that the answer counts for. A "no" stands also where only what others did about the same proposal has changed. */
  const currentOf = (asked: UserInteractionRequested, isNo: boolean): UserInteractionRequested => {
    const { interactionId, metadata } = asked;
    const current = openAbout(metadata.approvalId);
    // Decided meanwhile, as the ledger will say.
    if (current === undefined) return asked;
    const isStanding = isNo && current.metadata.denialId === metadata.denialId;
    if (isStanding || current.interactionId === interactionId) return current;
    throw new StaleResponseError(`something else is asked in the place of ${interactionId}: look at that`);
  };
  /** The dialog of an answer; undefined: it was closed, and the answer counts for nothing. */
  const answered = (interactionId: string): UserInteractionRequested | undefined => {
    const asked = open.get(interactionId) ?? superseded.get(interactionId);
    if (asked === undefined && !closed.has(interactionId)) {
      throw new MappingError(`${interactionId} is not asked, or was made for another person`);
    }
    return asked && openAbout(asked.metadata.approvalId) && asked;
  };
  return { answered, ask, closeDecided, currentOf, open };
}

/** Show the dialogs that `emit` gets in this window alone. */
export function createToolApprovals(
  worker: Worker,
  { user, signedInAt }: Window,
  workflowId: string,
  emit: Emit,
): ToolApprovals {
  const { answered, ask, closeDecided, currentOf, open } = createDialogs(user, workflowId, emit);
  const handled = new Set<string>();
  /** @throws the error of a response that was refused, unless it is no loss. */
  const settleRefused = async (
    error: unknown,
    asked: UserInteractionRequested,
    mapped: MappedResponse,
  ): Promise<Heard> => {
    const { approvalId, person } = asked.metadata;
    if (isRefusal(error, 'already-resolved', 'expired')) {
      await closeDecided(asked);
      return 'no-effect';
    }
    if (isRefusal(error, 'digest-mismatch', 'idempotency-key-reused')) await ask(approvalId, asked.nodeId);
    currentOf(asked, mapped.body.decision.type === 'deny');
    const isRepeat = isRefusal(error, 'already-voted');
    if (!isRepeat || !isRecorded(await user.getApproval(approvalId), person, mapped)) throw error;
    return 'recorded';
  };
  const send = async (
    event: UserInteractionResponded,
    asked: UserInteractionRequested,
    sentBy: string,
  ): Promise<Heard> => {
    const mapped = responseToInteraction(event, asked, { person: (await user.getMe()).principal, sentBy });
    const { approvalId, body, idempotencyKey } = mapped;
    // Something else may be asked since.
    await ask(approvalId, asked.nodeId);
    const current = currentOf(asked, body.decision.type === 'deny');
    try {
      const { state } = await user.respond(approvalId, body, { idempotencyKey });
      if (state !== 'pending') await closeDecided(current);
      return 'recorded';
    } catch (error) {
      return settleRefused(error, current, mapped);
    }
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
    respond: async (event, { eventId, sentBy, sentAt }) => {
      if (handled.has(eventId) || !(sentAt >= signedInAt)) return 'no-effect';
      const asked = answered(event.interactionId);
      if (asked === undefined) return 'no-effect';
      try {
        const heard = await send(event, asked, sentBy);
        handled.add(eventId);
        return heard;
      } catch (error) {
        // What no ledger has answered may be sent again.
        if (isFinal(error)) handled.add(eventId);
        throw error;
      }
    },
  };
}

function isFinal(error: unknown): boolean {
  if (error instanceof MappingError) return true;
  const status = error instanceof CountersignError ? (error.status ?? 0) : 0;
  return status >= 400 && status < 500 && status !== 429;
}
