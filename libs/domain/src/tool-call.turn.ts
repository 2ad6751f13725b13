import type { ToolCallEvent, Verdict } from '@countersign/contracts';
import { approvalRequested } from './approval-requested.js';
import type { Question } from './approval-requested.js';
import { accepted } from './decider.js';
import type { RuleResult } from './decider.js';
import { toStored } from './time.js';
import type { TakeTurn, ToolCallProposal } from './tool-call.commands.js';
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

/**
 * The turn of a call has come: it is allowed, or people are asked, by the verdict that was recorded when it was queued. Its
 * deadlines begin now. It is cancelled instead where a denial has ended its run since then. Adds nothing where the call does not
 * wait for its turn.
 *
 * MUST be given only for the first call of its queue that is not settled. That never becomes untrue: a later call is behind
 * it, and one that is asked about again goes to the end.
 */
export function takeTurn({ at, endedBy }: TakeTurn, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested' || state.verdict === null) return accepted();
  const queued = queuedIn(state);
  if (queued === undefined) return accepted();
  const { verdict, request } = state;
  if (endedBy !== undefined) return accepted(cancelledAtTurn(runEndedBy(endedBy), at));
  // An erasure has taken what would run. The calls behind it must not wait for an answer about nothing.
  if (request.salt === null) return accepted(cancelledAtTurn('values of the call were erased before its turn', at));
  if (queued.question === null)
    return accepted({ type: 'ToolCallAllowed', data: { verdict, allowedAt: toStored(at) } });
  return accepted(approvalRequested({ ...queued.question, verdict, actionDigest: request.actionDigest }, at));
}

/** Why a call was cancelled whose run was ended by the denial of another one. */
export function runEndedBy(denied: string): string {
  return `the call ${denied} of this run was denied, which ends the run`;
}

function cancelledAtTurn(reason: string, at: number): ToolCallEvent {
  return {
    type: 'ToolCallCancelled',
    data: { approvalId: null, reason, cancelledBy: 'countersign', cancelledAt: toStored(at) },
  };
}
