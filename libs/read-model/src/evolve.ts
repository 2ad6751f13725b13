import { toToolCallEvent, upcast } from '@countersign/contracts';
import type { EventData, RecordedEvent, ToolCallEvent, ToolCallState } from '@countersign/contracts';
import { answerAt } from './call-row.js';
import type { ActionRef, ApprovalRow, CallProgress, CallRequest, CallRow, ResolutionRow } from './call-row.js';
import { dueAtOf } from './deadlines.js';
import { castVote, currentStage, withdrawVote } from './voting.js';

type Change = Partial<CallProgress>;

/**
 * The row after one more event of its stream. Total: an event that no decider can have made leaves the row as it is, so
 * that one broken stream never stops the model of all others.
 */
export function evolve(call: CallRow | undefined, event: RecordedEvent): CallRow | undefined {
  const { type, data } = toToolCallEvent(event);
  if (call === undefined) return type === 'ToolCallRequested' ? requested(data, event) : undefined;
  const change = changeOf(call, { type, data } as ToolCallEvent, event.position);
  const next: Mutable<CallRow> = { ...call, ...change, revision: event.revision };
  next.state = stateOf(next);
  next.dueAt = dueAtOf(next);
  return next;
}

/** The row of a call after all events of its stream, as the event store has them; undefined when there are none. */
export function foldCall(events: readonly RecordedEvent[]): CallRow | undefined {
  return events.reduce<CallRow | undefined>((row, event) => evolve(row, upcast(event)), undefined);
}

/** A row while it is made: the hot path of every write, so one copy an event must do. */
type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function stateOf({ execution, permission }: CallProgress): ToolCallState {
  switch (execution) {
    case 'claimed':
      return 'executing';
    case 'none':
    case 'released':
      return permission;
    case 'succeeded':
    case 'failed':
    case 'unknown':
      return execution;
  }
}

function requestOf(data: EventData<'ToolCallRequested'>): CallRequest {
  const { toolSchema: _schema, needsApproval: _needs, reason: _why, description: _text, ...request } = data;
  return request;
}

function requested(data: EventData<'ToolCallRequested'>, { position, revision }: RecordedEvent): CallRow {
  return {
    seq: position,
    request: requestOf(data),
    revision,
    state: 'awaiting_approval',
    // Until its verdict is there, nothing may run.
    permission: 'awaiting_approval',
    execution: 'none',
    verdict: null,
    action: null,
    approvals: [],
    executeBy: null,
    claim: null,
    output: null,
    error: null,
    why: null,
    instruction: null,
    settledAt: null,
    dueAt: null,
  };
}

function changeOf(call: CallRow, event: ToolCallEvent, position: number): Change {
  switch (event.type) {
    case 'ToolCallRequested':
      return {};
    case 'ToolCallAllowed':
      return { verdict: event.data.verdict, permission: 'allowed' };
    case 'ToolCallBlocked':
      return { ...ended('blocked', event.data.blockedAt, event.data.reason), verdict: event.data.verdict };
    case 'ValuesRevealed':
      return {};
    case 'ToolCallCancelled': {
      const { approvalId, reason, cancelledAt } = event.data;
      const resolution: ResolutionRow = { state: 'cancelled', at: cancelledAt };
      return {
        ...ended('cancelled', cancelledAt, reason),
        ...onPending(call, approvalId, (approval) => ({ ...approval, resolution })),
      };
    }
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
      return approvalChange(call, event, position);
    default:
      return executionChange(call, event);
  }
}

type ApprovalEvent = Extract<ToolCallEvent, { type: `Approv${string}` | 'ResponseWithdrawn' }>;

function approvalChange(call: CallRow, event: ApprovalEvent, position: number): Change {
  switch (event.type) {
    case 'ApprovalRequested':
      return asked(call, event.data, position);
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
    case 'ApprovalExpired': {
      const { approvalId, expiredAt } = event.data;
      const resolution: ResolutionRow = { state: 'expired', at: expiredAt };
      return {
        ...ended('expired', expiredAt, 'Nobody answered in time'),
        ...onPending(call, approvalId, (approval) => ({ ...approval, resolution })),
      };
    }
    case 'ApprovalEscalated':
      return onPending(call, event.data.approvalId, (approval) => ({
        ...approval,
        escalations: [...approval.escalations, { stage: currentStage(approval), to: event.data.to }],
        expiresAt: event.data.expiresAt,
      }));
    case 'ApproversReminded':
      return onPending(call, event.data.approvalId, (approval) => ({ ...approval, remindersSent: event.data.nth }));
    case 'ApprovalLapsed':
      return ended('expired', event.data.lapsedAt, 'Approved, but not executed in time');
  }
}

type ExecutionEvent = Extract<ToolCallEvent, { type: `Execution${string}` }>;

function executionChange(call: CallRow, event: ExecutionEvent): Change {
  switch (event.type) {
    case 'ExecutionClaimed': {
      const { attempt, resolverId, claimedBy, claimedAt, leaseUntil } = event.data;
      return executed('claimed', null, { claim: { attempt, resolverId, claimedBy, claimedAt, leaseUntil } });
    }
    case 'ExecutionClaimRenewed':
      return call.execution === 'claimed' && call.claim !== null
        ? executed('claimed', null, { claim: { ...call.claim, leaseUntil: event.data.leaseUntil } })
        : {};
    case 'ExecutionSucceeded':
      return executed('succeeded', event.data.reportedAt, { output: event.data.output });
    case 'ExecutionFailed':
      return executed('failed', event.data.reportedAt, { error: event.data.error });
    case 'ExecutionLapsed':
      return executed('released', null);
    case 'ExecutionOutcomeUnknown':
      return executed('unknown', event.data.unknownSince, { why: event.data.reason });
    case 'ExecutionReconciled':
      return reconciled(event.data);
  }
}

/** The batch of the call has begun: a question that came too late is closed, and the right to run has no end. */
function committed(call: CallRow, { approvalId, committedAt }: EventData<'ToolCallCommitted'>): Change {
  const resolution: ResolutionRow = { state: 'cancelled', at: committedAt };
  const closed = onPending(call, approvalId, (approval) => ({ ...approval, resolution }));
  return closed.approvals === undefined || call.permission !== 'awaiting_approval'
    ? { executeBy: null }
    : { ...closed, permission: 'allowed', action: null, executeBy: null };
}

function ended(permission: CallProgress['permission'], settledAt: string, why: string): Change {
  return { permission, settledAt, why };
}

/** What an execution's event leaves; nothing of an earlier outcome may stay beside it. */
function executed(execution: CallProgress['execution'], settledAt: string | null, more: Change = {}): Change {
  return { output: null, error: null, why: null, ...more, execution, settledAt };
}

function reconciled({ status, note, reconciledAt }: EventData<'ExecutionReconciled'>): Change {
  switch (status) {
    case 'succeeded':
      // The person knows that it ran, not what came out.
      return executed('succeeded', reconciledAt);
    case 'failed':
      return executed('failed', reconciledAt, { error: { code: 'reconciled', message: note } });
    case 'retry':
      return executed('released', null);
  }
}

/** Changes the approval of that id, as long as it is pending: the first resolution wins here too. */
function onPending(call: CallRow, approvalId: string | null, change: (approval: ApprovalRow) => ApprovalRow): Change {
  const index = call.approvals.findIndex(
    (approval) => approval.approvalId === approvalId && approval.resolution === null,
  );
  const pending = call.approvals[index];
  return pending === undefined ? {} : { approvals: call.approvals.with(index, change(pending)) };
}

function asked(call: CallRow, data: EventData<'ApprovalRequested'>, position: number): Change {
  const approval: ApprovalRow = {
    seq: position,
    approvalId: data.approvalId,
    round: data.round,
    action: call.action,
    answer: null,
    requirement: data.requirement,
    reason: data.reason,
    description: data.description,
    requestedBy: data.requestedBy,
    requestedAt: data.requestedAt,
    expiresAt: data.expiresAt,
    escalations: [],
    remindersSent: 0,
    responses: [],
    resolution: null,
  };
  return {
    verdict: data.verdict,
    permission: 'awaiting_approval',
    approvals: [...call.approvals, approval],
    settledAt: null,
    why: null,
  };
}

function responded(call: CallRow, data: EventData<'ApprovalResponded'>): Change {
  const index = call.approvals.findIndex(
    ({ approvalId, resolution }) => approvalId === data.approvalId && resolution === null,
  );
  const pending = call.approvals[index];
  if (pending === undefined) return {};
  const edit: ActionRef =
    data.decision.type === 'edit' ? { approval: index, response: pending.responses.length } : null;
  const voted = castVote(pending, data);
  const approval: ApprovalRow = {
    ...voted,
    action: edit ?? pending.action,
    resolution: data.resolution === 'pending' ? null : { state: data.resolution, at: data.respondedAt },
  };
  return {
    action: edit ?? call.action,
    approvals: call.approvals.with(index, approval),
    instruction: data.instruction ?? call.instruction,
    ...resolved(approval, data),
  };
}

/** An approved run may be claimed. An approved answer is the call's result: there is nothing to claim any more. */
function resolved(approval: ApprovalRow, data: EventData<'ApprovalResponded'>): Change {
  if (data.resolution === 'pending') return {};
  if (data.resolution === 'denied') return ended('denied', data.respondedAt, data.reason ?? 'User denied');
  const output = answerAt(approval, approval.answer);
  if (output === undefined) return { permission: 'approved', executeBy: data.executeBy };
  return { ...executed('succeeded', data.respondedAt, { output }), permission: 'approved', executeBy: null };
}
