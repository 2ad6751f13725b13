import type { EventData, RecordedDecision, Requirement, ToolCallEvent } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { isSamePerson, voicesOf } from './identity.js';
import type { Voice } from './identity.js';
import { areEqualJson } from './json-equality.js';
import { raised } from './requirement.js';
import { storedAfter, toStored } from './time.js';
import { chosenAnswer, notOpen, responseChecks, revealChecks } from './tool-call.approval-checks.js';
import type { Answer } from './tool-call.approval-checks.js';
import { heldByBatch } from './tool-call.batch.js';
import type {
  EditDecision,
  RespondToApproval,
  ResponseDecision,
  RevealValues,
  WithdrawResponse,
} from './tool-call.commands.js';
import type { Approval, ToolCall, ToolCallState } from './tool-call.state.js';
import { castVote, countedVoteBy, tally, withRequirementOf } from './voting.js';

type Response = EventData<'ApprovalResponded'>;

function recordedEdit(edit: EditDecision, asked: Requirement): RecordedDecision {
  const { type, arguments: args, sensitive, salt, judgement } = edit;
  const inForce = judgement.outcome === 'require' ? raised(asked, judgement.requirement) : asked;
  const requirement = areEqualJson(inForce, asked) ? null : inForce;
  return { type, arguments: args, sensitive: [...sensitive], salt, verdict: judgement.verdict, requirement };
}

function recorded(decision: ResponseDecision, approval: Approval): RecordedDecision {
  return decision.type === 'edit' ? recordedEdit(decision, approval.requirement) : decision;
}

/** The response as it would be recorded if it resolved nothing. */
function pendingResponse(
  { decision, responder, ...command }: RespondToApproval,
  { respondedBy, onBehalfOf, groups }: Voice,
  approval: Approval,
  call: ToolCall,
): Response {
  return {
    approvalId: approval.approvalId,
    decision: recorded(decision, approval),
    actionDigest: decision.type === 'edit' ? decision.actionDigest : call.action.actionDigest,
    reason: command.reason,
    instruction: command.instruction,
    respondedBy,
    onBehalfOf,
    groups: [...groups],
    via: responder.via,
    assurance: responder.assurance,
    automatic: false,
    respondedAt: toStored(command.at),
    resolution: 'pending',
    executeBy: null,
  };
}

/** The response, the approval after it, and until when the call may be claimed. */
function resolved(response: Response, approval: Approval, at: number): Response {
  const after = castVote(approval, response);
  const resolution = tally(after);
  const isToRun = resolution === 'approved' && after.proposal.kind === 'run';
  const endsRun = resolution === 'denied' && after.requirement.denyEndsRun === true ? { endsRun: true as const } : {};
  const executeBy = isToRun ? storedAfter(at, after.requirement.executeByMs) : null;
  return { ...response, resolution, executeBy, ...endsRun };
}

/** The response in each voice of the person. */
function answersOf(command: RespondToApproval, { call, approval }: Found): readonly Answer[] {
  return voicesOf(command.responder).map((voice) => {
    const response = pendingResponse(command, voice, approval, call);
    return { command, call, approval, edited: withRequirementOf(approval, response), response };
  });
}

/** One person's vote. It resolves the approval when the quorum is reached. */
export function respondToApproval(command: RespondToApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  const found = findApproval(state, command.approvalId);
  if (found === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const { call, approval } = found;
  const chosen = chosenAnswer(responseChecks, answersOf(command, found));
  if ('refusal' in chosen) return { status: 'refused', refusal: chosen.refusal };
  const data = resolved(chosen.answer.response, approval, command.at);
  const held = data.resolution === 'denied' ? heldByBatch(call, command.batch) : undefined;
  return held ?? accepted({ type: 'ApprovalResponded', data });
}

/**
 * Reveals hidden values to a person who may respond now: it applies the checks of a response that concern the approval
 * and the person.
 */
export function revealValues(command: RevealValues, state: ToolCallState): RuleResult<ToolCallEvent> {
  const { approvalId, pointers, responder, at } = command;
  const found = findApproval(state, approvalId);
  if (found === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const asked: RespondToApproval = {
    ...{ type: 'RespondToApproval', at, approvalId, decision: { type: 'deny' }, responder },
    ...{ actionDigest: null, reason: null, instruction: null },
  };
  const chosen = chosenAnswer(revealChecks, answersOf(asked, found));
  if ('refusal' in chosen) return { status: 'refused', refusal: chosen.refusal };
  if (pointers.length === 0) return accepted();
  const { principal: revealedBy, via } = responder;
  const data = { approvalId, revealedBy, pointers: [...pointers], via, revealedAt: toStored(at) };
  return accepted({ type: 'ValuesRevealed', data });
}

/** Withdraws one's own vote, also one that a delegate cast, while the approval is pending. */
export function withdrawResponse(command: WithdrawResponse, state: ToolCallState): RuleResult<ToolCallEvent> {
  const approval = findApproval(state, command.approvalId)?.approval;
  if (approval === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const closed = notOpen(approval, command.at);
  if (closed !== undefined) return { status: 'refused', refusal: closed };
  const { approvalId, withdrawnBy, at } = command;
  if (countedVoteBy(approval, withdrawnBy) !== undefined) {
    return accepted({ type: 'ResponseWithdrawn', data: { approvalId, withdrawnBy, withdrawnAt: toStored(at) } });
  }
  return hasWithdrawn(approval, withdrawnBy)
    ? accepted()
    : refused('unknown-approval', 'No answer of yours stands that could be withdrawn.');
}

function hasWithdrawn(approval: Approval, principal: string): boolean {
  const person = { respondedBy: principal, onBehalfOf: null };
  return approval.votes.some((vote) => vote.status === 'withdrawn' && isSamePerson(vote, person));
}

interface Found {
  readonly call: ToolCall;
  readonly approval: Approval;
}

function findApproval(state: ToolCallState, approvalId: string): Found | undefined {
  if (state.status === 'unrequested') return undefined;
  const approval = state.approvals.find((one) => one.approvalId === approvalId);
  return approval === undefined ? undefined : { call: state, approval };
}
