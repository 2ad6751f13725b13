import type { ToolCallEvent, Verdict } from '@countersign/contracts';
import type { Question } from './approval-requested.js';
import { toStored } from './time.js';
import type { ToolCallProposal } from './tool-call.commands.js';
import { isSettled } from './tool-call.state.js';
import type { Queued, ToolCall, ToolCallState } from './tool-call.state.js';

/** Returns whether a call takes its turn in its run: it is asked about, and may be claimed, only after those before it. */
export function isSequential({ batchMode }: Pick<ToolCallProposal, 'batchMode'>): boolean {
  return batchMode === 'sequential';
}

/** The part of a request that says in which queue a sequential call waits. */
export type QueuedRequest = Pick<ToolCallProposal, 'tenant' | 'requestedBy' | 'runId' | 'chain'>;

/**
 * The name of the queue of a sequential call: those of one principal in one run, and inside the same call. A nested call must
 * not wait for the call around it, which waits for the nested one.
 */
export function queueOf({ tenant, requestedBy, runId, chain }: QueuedRequest): string {
  return JSON.stringify([tenant, requestedBy, runId, chain?.at(-1)?.callId ?? null]);
}

/** What a call waits to be asked or allowed at its turn; undefined: it does not wait for a turn. */
export function queuedIn(call: Pick<ToolCall, 'permission'>): Queued | undefined {
  return call.permission.status === 'awaiting_approval' ? call.permission.queued : undefined;
}

/** Returns whether the calls behind this one wait for it. */
export function holdsTurn(call: ToolCallState): boolean {
  return !isSettled(call);
}

/** The event that puts a call into its queue; `question` null: it is allowed at its turn. */
export function toolCallQueued(
  { verdict, question }: { readonly verdict: Verdict; readonly question: Question | null },
  at: number,
): ToolCallEvent {
  const queuedAt = toStored(at);
  if (question === null) return { type: 'ToolCallQueued', data: { verdict, question, queuedAt } };
  const { approvalId, round, requirement, reason, description, requestedBy } = question;
  return {
    type: 'ToolCallQueued',
    data: { verdict, question: { approvalId, round, requirement, reason, description, requestedBy }, queuedAt },
  };
}
