import type { EventData, ToolCallEvent } from '@countersign/contracts';
import { evolveExecution, executing } from './tool-call.evolve-execution.js';
import type { Action, Approval, Execution, Permission, ToolCall, ToolCallState } from './tool-call.state.js';
import { castVote, currentStage, withdrawVote } from './voting.js';

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
    case 'ToolCallBlocked':
      return {
        ...ended(call, { status: 'blocked', reason: event.data.reason }, event.data.blockedAt),
        verdict: event.data.verdict,
      };
    case 'ValuesRevealed':
    case 'ToolCallShadowJudged':
      return call;
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
      return onPending(call, event.data.approvalId, (approval) => withdrawVote(approval, event.data.withdrawnBy));
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
  const approval: Approval = {
    ...data,
    escalations: [],
    remindersSent: 0,
    action: call.action,
    proposal: { kind: 'run', actionDigest: data.actionDigest },
    votes: [],
    resolution: { status: 'pending' },
  };
  return {
    ...call,
    verdict: data.verdict,
    permission: { status: 'awaiting_approval', wasAllowed: call.permission.status === 'allowed' },
    approvals: [...call.approvals, approval],
    settledAt: null,
  };
}

function responded(before: ToolCall, data: EventData<'ApprovalResponded'>): ToolCall {
  const pending = before.approvals.find(
    ({ approvalId, resolution }) => approvalId === data.approvalId && resolution.status === 'pending',
  );
  if (pending === undefined) return before;
  const voted = castVote(pending, data);
  const { respondedBy, respondedAt: at, via, reason, resolution: status } = data;
  const resolution: Approval['resolution'] =
    status === 'pending' ? { status } : { status, at, respondedBy, via, reason };
  // An edit sets what will run, and what the votes after it are about.
  const action = editedAction(data);
  const approval: Approval = { ...voted, action: action ?? voted.action, resolution };
  const call: ToolCall = {
    ...onPending(before, data.approvalId, () => approval),
    action: action ?? before.action,
    instruction: data.instruction ?? before.instruction,
  };
  return resolved(call, approval, data);
}

function editedAction({ decision, actionDigest }: EventData<'ApprovalResponded'>): Action | undefined {
  if (decision.type !== 'edit') return undefined;
  const { arguments: args, sensitive, salt } = decision;
  return { arguments: args, sensitive, salt, actionDigest };
}

/** An approved run may be claimed. An approved answer is the call's result, so there is nothing to claim. */
function resolved(call: ToolCall, { proposal }: Approval, data: EventData<'ApprovalResponded'>): ToolCall {
  if (data.resolution === 'pending') return call;
  if (data.resolution === 'denied') return ended(call, { status: 'denied' }, data.respondedAt);
  if (proposal.kind === 'run') {
    return {
      ...call,
      permission: { status: 'approved', actionDigest: proposal.actionDigest, executeBy: data.executeBy },
    };
  }
  const permission: Permission = { status: 'approved', actionDigest: data.actionDigest, executeBy: null };
  const execution: Execution = {
    status: 'succeeded',
    attempt: null,
    by: 'approver',
    claimedBy: null,
    output: proposal.output,
  };
  return executing({ ...call, permission }, execution, data.respondedAt);
}

function expired(call: ToolCall, { approvalId, expiredAt }: EventData<'ApprovalExpired'>): ToolCall {
  const after = onPending(call, approvalId, (approval) => ({
    ...approval,
    resolution: { status: 'expired', at: expiredAt },
  }));
  return ended(after, { status: 'expired', cause: 'unanswered' }, expiredAt);
}

function escalated(approval: Approval, { to, expiresAt, escalatedAt: at }: EventData<'ApprovalEscalated'>): Approval {
  const escalations = [...approval.escalations, { stage: currentStage(approval), to, at }];
  return { ...approval, escalations, expiresAt };
}

function cancelled(call: ToolCall, data: EventData<'ToolCallCancelled'>): ToolCall {
  const { reason, cancelledBy, cancelledAt } = data;
  const resolution: Approval['resolution'] = { status: 'cancelled', at: cancelledAt, cancelledBy, reason };
  const after = onPending(call, data.approvalId ?? '', (approval) => ({ ...approval, resolution }));
  return ended(after, { status: 'cancelled', reason, cancelledBy }, cancelledAt);
}

/** The call is as before the approval that came too late; an unconfirmed edit is dropped with it. */
function committed(call: ToolCall, { approvalId, committedAt }: EventData<'ToolCallCommitted'>): ToolCall {
  const { permission, request } = call;
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
  const { arguments: args, sensitive, salt, actionDigest } = request;
  return {
    ...onPending(call, approvalId ?? '', (approval) => ({ ...approval, resolution })),
    committed: true,
    permission: { status: 'allowed' },
    action: { arguments: args, sensitive, salt, actionDigest },
  };
}
