import type { EventData, RecordedDecision, Refusal, Requirement, ToolCallEvent } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { Decision } from './decider.js';
import { isSamePerson } from './identity.js';
import { areEqualJson } from './json-equality.js';
import { raised, reaches } from './requirement.js';
import { hasCome, storedAfter, toStored } from './time.js';
import { heldByBatch } from './tool-call.batch.js';
import type {
  EditDecision,
  RespondToApproval,
  ResponseDecision,
  RevealValues,
  WithdrawResponse,
} from './tool-call.commands.js';
import type { Approval, Resolution, ToolCall, ToolCallState } from './tool-call.state.js';
import {
  approversOf,
  castVote,
  countedVoteBy,
  currentStage,
  hasVotedOn,
  isApproverOf,
  proposalOf,
  tally,
  withRequirementOf,
} from './voting.js';

type Response = EventData<'ApprovalResponded'>;

function no(code: Refusal['code'], detail: string, extra?: Refusal['extra']): Refusal {
  return extra === undefined ? { code, detail } : { code, detail, extra };
}

/** The late one is told who won, when and through which channel, and never overwrites. */
function alreadyEnded(resolution: Exclude<Resolution, { status: 'pending' }>): Refusal {
  switch (resolution.status) {
    case 'expired':
      return no('expired', 'The approval has expired.', { resolution: 'expired', expiredAt: resolution.at });
    case 'cancelled': {
      const { status, at: cancelledAt, cancelledBy, reason } = resolution;
      const detail = 'The tool call was cancelled.';
      return no('already-resolved', detail, { resolution: status, cancelledBy, cancelledAt, reason });
    }
    case 'approved':
    case 'denied': {
      const { status, at: respondedAt, respondedBy, via } = resolution;
      const detail = `Already ${status} by ${respondedBy} through ${via}.`;
      return no('already-resolved', detail, { resolution: status, respondedBy, respondedAt, via });
    }
  }
}

/** Nobody can answer an approval that has ended, or whose deadline is over although nobody has recorded it yet. */
function notOpen({ resolution, requirement, expiresAt }: Approval, at: number): Refusal | undefined {
  if (resolution.status !== 'pending') return alreadyEnded(resolution);
  // `hold` keeps asking: its deadline only says when to stop counting.
  const isOver = requirement.onTimeout !== 'hold' && hasCome(expiresAt, at);
  return isOver
    ? no('expired', 'The deadline of the approval is over.', { resolution: 'expired', expiredAt: expiresAt })
    : undefined;
}

/** One answer in its context; `edited` is the approval as the answer's own edit would leave it. */
interface Answer {
  readonly command: RespondToApproval;
  readonly call: ToolCall;
  readonly approval: Approval;
  readonly edited: Approval;
  readonly response: Response;
}

type Check = (answer: Answer) => Refusal | undefined;

const isOpen: Check = ({ approval, command }) => notOpen(approval, command.at);

/** Whoever may not approve the edited arguments may not propose them either. */
const isApprover: Check = ({ approval, edited, command: { responder } }) => {
  const stage = currentStage(approval);
  const groups = approversOf(approval, stage);
  if (!isApproverOf(approval, stage, responder.groups)) {
    return no('not-an-approver', 'Others are asked to answer this approval.', { groups });
  }
  const isApproverOfEdited = edited.requirement.stages.some((_, index) =>
    isApproverOf(edited, index, responder.groups),
  );
  return isApproverOfEdited ? undefined : no('not-an-approver', 'Others must approve the edited arguments.');
};

const isAssured: Check = ({ edited: { requirement }, command: { responder } }) =>
  reaches(responder.assurance, requirement.minAssurance)
    ? undefined
    : no(
        'not-an-approver',
        `The assurance of "${responder.via}" is ${responder.assurance}; this approval needs ${String(requirement.minAssurance)}.`,
        { minAssurance: requirement.minAssurance },
      );

/** Four eyes: whoever asked cannot answer, nor through a delegate, nor as one. */
const isNotOwnRequest: Check = ({ approval, edited, call, response }) => {
  const askers = [call.request.requestedBy, approval.requestedBy];
  const isOwn = askers.some((asker) => isSamePerson(response, { respondedBy: asker, onBehalfOf: null }));
  return isOwn && edited.requirement.fourEyes ? no('own-request', 'You asked for this tool call yourself.') : undefined;
};

const isAllowedDecision: Check = ({ approval: { requirement }, command: { decision } }) =>
  requirement.allowedDecisions.includes(decision.type)
    ? undefined
    : no('decision-not-allowed', `"${decision.type}" is not among the decisions allowed here.`, {
        allowedDecisions: requirement.allowedDecisions,
      });

const hasReason: Check = ({ edited: { requirement }, command: { decision, reason } }) =>
  requirement.requireReason.includes(decision.type) && (reason ?? '').trim() === ''
    ? no('reason-required', `"${decision.type}" needs a reason.`)
    : undefined;

/** Attack: arguments that changed after the approver looked. What they saw must be what the approval asks now. */
const isSeenDigest: Check = ({ command: { actionDigest }, call: { action } }) =>
  actionDigest === null || actionDigest === action.actionDigest
    ? undefined
    : no('digest-mismatch', 'The arguments are no longer those that you answered.', {
        actionDigest: action.actionDigest,
      });

const isFirstVote: Check = ({ approval, response }) =>
  hasVotedOn(approval, response, proposalOf(approval, response))
    ? no('already-voted', 'You have already answered this; withdraw your answer first.')
    : undefined;

const isUnblocked: Check = ({ command: { decision } }) =>
  decision.type === 'edit' && decision.judgement.outcome === 'block'
    ? no('blocked-by-policy', decision.judgement.reason, { verdict: decision.judgement.verdict })
    : undefined;

const isValid: Check = ({ command: { decision } }) =>
  decision.type === 'edit' && decision.invalid.length > 0
    ? no('invalid-arguments', 'The edited arguments do not match the schema of the tool.', { errors: decision.invalid })
    : undefined;

/** In this order: what is true of the approval, then of the person, then of what they said. */
const checks: readonly Check[] = [
  isOpen,
  isApprover,
  isAssured,
  isNotOwnRequest,
  isAllowedDecision,
  hasReason,
  isSeenDigest,
  isFirstVote,
  isUnblocked,
  isValid,
];

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
  approval: Approval,
  call: ToolCall,
): Response {
  return {
    approvalId: approval.approvalId,
    decision: recorded(decision, approval),
    actionDigest: decision.type === 'edit' ? decision.actionDigest : call.action.actionDigest,
    reason: command.reason,
    instruction: command.instruction,
    respondedBy: responder.principal,
    onBehalfOf: responder.onBehalfOf,
    groups: [...responder.groups],
    via: responder.via,
    assurance: responder.assurance,
    automatic: false,
    respondedAt: toStored(command.at),
    resolution: 'pending',
    executeBy: null,
  };
}

/** The response with how the approval stands after it, and until when a call that is to run may be claimed. */
function resolved(response: Response, approval: Approval, at: number): Response {
  const after = castVote(approval, response);
  const resolution = tally(after);
  const isToRun = resolution === 'approved' && after.proposal.kind === 'run';
  return { ...response, resolution, executeBy: isToRun ? storedAfter(at, after.requirement.executeByMs) : null };
}

/** One person's vote; it resolves the approval when the quorum is reached. */
export function respondToApproval(command: RespondToApproval, state: ToolCallState): Decision<ToolCallEvent> {
  const found = findApproval(state, command.approvalId);
  if (found === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const { call, approval } = found;
  const response = pendingResponse(command, approval, call);
  const answer: Answer = { command, call, approval, edited: withRequirementOf(approval, response), response };
  for (const check of checks) {
    const refusal = check(answer);
    if (refusal !== undefined) return { status: 'refused', refusal };
  }
  const data = resolved(response, approval, command.at);
  const held = data.resolution === 'denied' ? heldByBatch(call, command.batch) : undefined;
  return held ?? accepted({ type: 'ApprovalResponded', data });
}

/** Shows hidden values to a person who may answer now: the checks of an answer that concern the approval and the person. */
export function revealValues(command: RevealValues, state: ToolCallState): Decision<ToolCallEvent> {
  const { approvalId, pointers, responder, at } = command;
  const found = findApproval(state, approvalId);
  if (found === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const asked: RespondToApproval = {
    ...{ type: 'RespondToApproval', at, approvalId, decision: { type: 'deny' }, responder },
    ...{ actionDigest: null, reason: null, instruction: null },
  };
  const { call, approval } = found;
  const response = pendingResponse(asked, approval, call);
  for (const check of [isOpen, isApprover, isAssured, isNotOwnRequest]) {
    const refusal = check({ command: asked, call, approval, edited: approval, response });
    if (refusal !== undefined) return { status: 'refused', refusal };
  }
  if (pointers.length === 0) return accepted();
  const { principal: revealedBy, via } = responder;
  const data = { approvalId, revealedBy, pointers: [...pointers], via, revealedAt: toStored(at) };
  return accepted({ type: 'ValuesRevealed', data });
}

/** Takes one's own vote back, while it can still make a difference. */
export function withdrawResponse(command: WithdrawResponse, state: ToolCallState): Decision<ToolCallEvent> {
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

function findApproval(state: ToolCallState, approvalId: string): { call: ToolCall; approval: Approval } | undefined {
  if (state.status === 'unrequested') return undefined;
  const approval = state.approvals.find((one) => one.approvalId === approvalId);
  return approval === undefined ? undefined : { call: state, approval };
}
