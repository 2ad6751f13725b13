import type { EventData, ToolCallEvent } from '@countersign/contracts';
import { evolveExecution, executing } from './tool-call.evolve-execution.js';
import type { Action, Approval, Execution, Permission, Proposal, ToolCall, ToolCallState } from './tool-call.state.js';
import { currentProposal } from './proposal.js';
import { openStage } from './seats.js';
import { castVote, instructionsOf, withoutVotesOf } from './voting.js';
import { afterWithdrawal } from './withdrawal.js';

/**
 * Folds the log. Total: an impossible event leaves the state unchanged, and the first resolution of an approval wins
 * here too.
 */
export function evolve(state: ToolCallState, event: ToolCallEvent): ToolCallState {
  if (state.status === 'recorded') return evolveCall(state, event);
  return event.type === 'ToolCallRequested' ? requested(event.data) : state;
}

function requested(request: EventData<'ToolCallRequested'>): ToolCall {
  const { arguments: args, sensitive, salt, actionDigest } = request;
  return {
    status: 'recorded',
    request,
    action: { arguments: args, sensitive, salt, actionDigest },
    verdict: null,
    // Until its verdict is there, nothing may run.
    permission: { status: 'awaiting_approval', wasAllowed: false },
    approvals: [],
    execution: { status: 'none' },
    committed: false,
    instruction: null,
    settledAt: null,
  };
}

function evolveCall(call: ToolCall, event: ToolCallEvent): ToolCall {
  switch (event.type) {
    case 'ToolCallRequested':
      return call;
    case 'ToolCallAllowed':
      return { ...call, verdict: event.data.verdict, permission: { status: 'allowed' } };
    case 'ToolCallQueued':
      return queued(call, event.data);
    case 'ToolCallBlocked':
      return {
        ...ended(call, { status: 'blocked', reason: event.data.reason }, event.data.blockedAt),
        verdict: event.data.verdict,
      };
    case 'ToolCallShadowJudged':
      return call;
    case 'ValuesRevealed':
      return onPending(call, event.data.approvalId, (approval) => ({ ...approval, reveals: approval.reveals + 1 }));
    case 'ToolCallCancelled':
      return cancelled(call, event.data);
    case 'ToolCallCommitted':
      return committed(call, event.data);
    case 'ApprovalRequested':
    case 'ApprovalDescribed':
    case 'ApprovalResponded':
    case 'ResponseWithdrawn':
    case 'ApprovalExpired':
    case 'ApprovalEscalated':
    case 'ApproversReminded':
    case 'ApprovalLapsed':
      return evolveApproval(call, event);
    default:
      return evolveExecution(call, event);
  }
}

function queued(call: ToolCall, { verdict, question }: EventData<'ToolCallQueued'>): ToolCall {
  const permission: Permission = { status: 'awaiting_approval', wasAllowed: false, queued: { question } };
  return { ...call, verdict, permission, settledAt: null };
}

type ApprovalEvent = Extract<ToolCallEvent, { type: `Approv${string}` | 'ResponseWithdrawn' }>;

function evolveApproval(call: ToolCall, event: ApprovalEvent): ToolCall {
  switch (event.type) {
    case 'ApprovalRequested':
      return asked(call, event.data);
    case 'ApprovalDescribed':
      return onPending(call, event.data.approvalId, (approval) => ({
        ...approval,
        reason: approval.reason ?? event.data.reason,
        description: approval.description ?? event.data.description,
      }));
    case 'ApprovalResponded':
      return responded(call, event.data);
    case 'ResponseWithdrawn':
      return onPending(call, event.data.approvalId, (approval) => afterWithdrawal(approval, event.data));
    case 'ApprovalExpired':
      return expired(call, event.data);
    case 'ApprovalEscalated':
      return onPending(call, event.data.approvalId, (approval) => escalated(approval, event.data));
    case 'ApproversReminded':
      return onPending(call, event.data.approvalId, (approval) => ({ ...approval, remindersSent: event.data.nth }));
    case 'ApprovalLapsed':
      return ended(call, { status: 'expired', cause: 'lapsed' }, event.data.lapsedAt);
  }
}

function ended(call: ToolCall, permission: Permission, settledAt: string): ToolCall {
  return { ...call, permission, settledAt };
}

/** Changes the approval of that id while it is pending. */
function onPending(call: ToolCall, approvalId: string, change: (approval: Approval) => Approval): ToolCall {
  const approvals = call.approvals.map((approval) =>
    approval.approvalId === approvalId && approval.resolution.status === 'pending' ? change(approval) : approval,
  );
  return { ...call, approvals };
}

function asked(call: ToolCall, data: EventData<'ApprovalRequested'>): ToolCall {
  const { approvalId, round, verdict, reason, description, requestedBy, requestedAt } = data;
  const action = askedAction(call, data.actionDigest);
  const approval: Approval = {
    ...{ approvalId, round, verdict, reason, description, requestedBy, requestedAt },
    proposals: [firstProposal(call, data, action)],
    escalations: [],
    remindersSent: 0,
    remindersBefore: 0,
    reveals: 0,
    votes: [],
    resolution: { status: 'pending' },
  };
  return {
    ...call,
    // An approved edit whose right to run has lapsed ends with its round.
    action,
    verdict,
    permission: { status: 'awaiting_approval', wasAllowed: call.permission.status === 'allowed' },
    approvals: [...call.approvals, approval],
    settledAt: null,
  };
}

function firstProposal(call: ToolCall, data: EventData<'ApprovalRequested'>, action: Action): Proposal {
  const { requirement, expiresAt, remindAt, requestedAt: since } = data;
  const edit = lastProposalOf(call, action);
  return {
    ...{ number: 1, kind: 'run', action, output: null, requirements: [requirement], replaces: null },
    clocks: [{ expiresAt, since, ...(remindAt === undefined ? {} : { remindAt }) }],
    proposedBy: edit?.proposedBy ?? data.requestedBy,
    proposedAt: since,
  };
}

/** The agent's request. A version that asked about an unapproved edit again recorded the digest of the edit. */
function askedAction(call: ToolCall, actionDigest: string): Action {
  const { arguments: args, sensitive, salt, actionDigest: requestedDigest } = call.request;
  const edit = actionDigest === requestedDigest ? undefined : editOf(call, actionDigest);
  return edit?.action ?? { arguments: args, sensitive, salt, actionDigest: requestedDigest };
}

function editOf({ approvals }: ToolCall, actionDigest: string): Proposal | undefined {
  const proposals = approvals.flatMap((approval) => approval.proposals);
  return proposals.findLast(({ action }) => action.actionDigest === actionDigest);
}

function lastProposalOf(call: ToolCall, { actionDigest }: Action): Proposal | undefined {
  return actionDigest === call.request.actionDigest ? undefined : editOf(call, actionDigest);
}

function responded(before: ToolCall, data: EventData<'ApprovalResponded'>): ToolCall {
  const pending = before.approvals.find(
    ({ approvalId, resolution }) => approvalId === data.approvalId && resolution.status === 'pending',
  );
  if (pending === undefined) return before;
  const voted = castVote(pending, data);
  // A version that let silence approve a later round, which may follow an objection: nothing was agreed to.
  if (data.automatic && pending.round > 1) {
    return expired(before, { approvalId: data.approvalId, expiredAt: data.respondedAt });
  }
  const { respondedBy, respondedAt: at, via, reason, resolution: status } = data;
  const resolution: Approval['resolution'] =
    status === 'pending' ? { status } : { status, at, respondedBy, via, reason };
  const approval: Approval = { ...voted, resolution };
  return resolved(
    onPending(before, data.approvalId, () => approval),
    approval,
    data,
  );
}

/** An approved run may be claimed. An approved answer is the call's result, so there is nothing to claim. */
function resolved(before: ToolCall, approval: Approval, data: EventData<'ApprovalResponded'>): ToolCall {
  if (data.resolution === 'pending') return before;
  const call: ToolCall = { ...before, instruction: instructionOf(approval) };
  if (data.resolution === 'denied') return ended(call, { status: 'denied' }, data.respondedAt);
  const { kind, action, output } = currentProposal(approval);
  const { actionDigest } = action;
  if (kind === 'run') {
    return { ...call, action, permission: { status: 'approved', actionDigest, executeBy: data.executeBy } };
  }
  const permission: Permission = { status: 'approved', actionDigest, executeBy: null };
  const execution: Execution = { status: 'succeeded', attempt: null, by: 'approver', claimedBy: null, output };
  return executing({ ...call, permission }, execution, data.respondedAt);
}

/** The instructions of the votes that brought the resolution, the earliest first; null: none has one. */
function instructionOf(approval: Approval): string | null {
  const instructions = instructionsOf(approval).map(({ instruction }) => instruction);
  return instructions.length === 0 ? null : [...new Set(instructions)].join('\n\n');
}

function expired(call: ToolCall, { approvalId, expiredAt }: EventData<'ApprovalExpired'>): ToolCall {
  const after = onPending(call, approvalId, (approval) => ({
    ...approval,
    resolution: { status: 'expired', at: expiredAt },
  }));
  return ended(after, { status: 'expired', cause: 'unanswered' }, expiredAt);
}

function escalated(before: Approval, data: EventData<'ApprovalEscalated'>): Approval {
  const approval = withoutVotesOf(before, data.endedVotes ?? []);
  const { to, expiresAt, requirement, escalatedAt: at } = data;
  const { number: proposal } = currentProposal(approval);
  const escalation = { proposal, requirement, stage: openStage(approval, requirement), to, at, expiresAt };
  return { ...approval, escalations: [...approval.escalations, escalation] };
}

function cancelled(call: ToolCall, data: EventData<'ToolCallCancelled'>): ToolCall {
  const { reason, cancelledBy, cancelledAt } = data;
  const resolution: Approval['resolution'] = { status: 'cancelled', at: cancelledAt, cancelledBy, reason };
  const after = onPending(call, data.approvalId ?? '', (approval) => ({ ...approval, resolution }));
  return ended(after, { status: 'cancelled', reason, cancelledBy }, cancelledAt);
}

/** The call is as before the approval that came too late. */
function committed(call: ToolCall, { approvalId, committedAt }: EventData<'ToolCallCommitted'>): ToolCall {
  const { permission } = call;
  if (permission.status === 'approved') {
    return { ...call, committed: true, permission: { ...permission, executeBy: null } };
  }
  const isAsked = call.approvals.some((each) => each.approvalId === approvalId && each.resolution.status === 'pending');
  if (permission.status !== 'awaiting_approval' || !isAsked) return { ...call, committed: true };
  const reason = 'the batch of the call had begun before people were asked';
  const resolution: Approval['resolution'] = {
    status: 'cancelled',
    at: committedAt,
    cancelledBy: 'countersign',
    reason,
  };
  return {
    ...onPending(call, approvalId ?? '', (approval) => ({ ...approval, resolution })),
    committed: true,
    permission: { status: 'allowed' },
  };
}
