import type { ToolCallEvent } from '@countersign/contracts';
import { approvalRequested, wordsOf } from './approval-requested.js';
import { assert } from './assert.js';
import { accepted } from './decider.js';
import type { RuleResult } from './decider.js';
import { areEqualJson } from './json-equality.js';
import { noApproverDetail, stageWithoutApprovers, uncheckedSchema } from './step.questions.js';
import { toStored } from './time.js';
import type { TakeTurn } from './tool-call.commands.js';
import type { Judgement } from './tool-call.command-base.js';
import { blocked } from './tool-call.request.js';
import { nextRound } from './tool-call.state.js';
import type { Queued, ToolCall, ToolCallState } from './tool-call.state.js';
import { queuedIn } from './tool-call.turn.js';

type Asked = Extract<Judgement, { readonly outcome: 'require' }>;

/**
 * The turn of a call has come. What was recorded with its place and the policy in force both hold: it is blocked where the
 * policy forbids it now, people are asked where one of the two asks, and as many as each of them does; otherwise it is allowed.
 * Its deadlines begin now. It is cancelled instead where a denial has ended its run since it began to wait. Adds nothing where the call does not
 * wait at the place that was seen.
 *
 * MUST be given only for the first call of its queue that is not settled. That never becomes untrue of a place: a later call
 * is behind it, and one that is asked about again gets another place, at the end.
 */
export function takeTurn(command: TakeTurn, state: ToolCallState): RuleResult<ToolCallEvent> {
  const { at, endedBy, round, judgement } = command;
  if (state.status === 'unrequested' || state.verdict === null) return accepted();
  const queued = queuedIn(state);
  if (queued === undefined || round !== nextRound(state)) return accepted();
  if (endedBy !== undefined) return accepted(cancelledAtTurn(runEndedBy(endedBy), at));
  // An erasure has taken what would run. The calls behind it must not wait for an answer about nothing.
  if (isErased(state)) return accepted(cancelledAtTurn('values of the call were erased before its turn', at));
  assert(judgement !== null, 'a call is judged again at its turn');
  switch (judgement.outcome) {
    case 'allow':
      return accepted(asRecorded(state, queued, at));
    case 'block':
      return accepted(blocked(judgement.verdict, judgement.reason, at));
    case 'require':
      return accepted(
        isRecorded(judgement, queued) ? asRecorded(state, queued, at) : askedMore(command, judgement, state, queued),
      );
  }
}

/** Returns whether nothing is judged at the turn of a call: an erasure took its values. */
export function isErased({ request }: ToolCall): boolean {
  return request.salt === null;
}

function isRecorded({ requirement }: Asked, { question }: Queued): boolean {
  return question !== null && areEqualJson(requirement, question.requirement);
}

function asRecorded({ verdict, request }: ToolCall, { question }: Queued, at: number): ToolCallEvent {
  assert(verdict !== null, 'a call that waits for its turn is judged');
  return question === null
    ? { type: 'ToolCallAllowed', data: { verdict, allowedAt: toStored(at) } }
    : approvalRequested({ ...question, verdict, actionDigest: request.actionDigest }, at);
}

/** The policy in force asks people, or more of them. What it would refuse to ask about a new call ends this one. */
function askedMore(
  { at, round, approvalId, approvers }: TakeTurn,
  { verdict, requirement }: Asked,
  { request }: ToolCall,
  { question }: Queued,
): ToolCallEvent {
  const stage = approvers === undefined ? undefined : stageWithoutApprovers(requirement, request, approvers);
  if (stage !== undefined) return cancelledAtTurn(noApproverDetail(stage, verdict), at);
  const unchecked = uncheckedSchema(requirement, request);
  if (unchecked !== undefined) return cancelledAtTurn(`toolSchema ${unchecked}`, at);
  const { actionDigest, requestedBy } = request;
  const asked = { ...wordsOf(request), requestedBy, ...question };
  return approvalRequested({ ...asked, approvalId, round, requirement, verdict, actionDigest }, at);
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
