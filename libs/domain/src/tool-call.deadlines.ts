import type { ToolCallEvent } from '@countersign/contracts';
import { shortageOf } from './shortage.js';
import { expiryAfter } from './deadline-times.js';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { currentProposal, expiresAtOf, isOver, reminderTimes, requirementsDue } from './proposal.js';
import { openStage } from './seats.js';
import { hasCome, storedAfter, toEpochMs, toStored } from './time.js';
import { committed, hasBegun, heldByBatch } from './tool-call.batch.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { ExpireApproval, LapseApproval, RemindApprovers } from './tool-call.commands.js';
import type { LapseClaim } from './tool-call.execution-commands.js';
import { callState, currentApproval } from './tool-call.state.js';
import type { Approval, ToolCall, ToolCallState } from './tool-call.state.js';
import { lostVoters } from './voters.js';
import { maySilenceApprove, withoutVotesOf } from './voting.js';

/** A command of the clock, without a caller. */
export type DeadlineCommand = ExpireApproval | RemindApprovers | LapseApproval | LapseClaim;

/** The time at which something happens to a call automatically, epoch milliseconds. */
export interface Deadline {
  readonly kind: 'expiry' | 'reminder' | 'execute-by' | 'lease';
  readonly atMs: number;
}

const notDue = refused('not-due', 'Nothing is due.');

function pendingApproval(state: ToolCallState, approvalId: string): Approval | undefined {
  const approval = currentApproval(state);
  return approval?.approvalId === approvalId && approval.resolution.status === 'pending' ? approval : undefined;
}

/** The deadline of an approval has passed: applies the policy's `onTimeout`, otherwise the approval expires. */
export function expireApproval(command: ExpireApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  const { approvalId, batch, at } = command;
  const recorded = pendingApproval(state, approvalId);
  if (state.status === 'unrequested' || recorded === undefined) return notDue;
  // A person who has lost the right to respond since no longer counts.
  const ended = [...new Set(lostVoters({ call: state, approval: recorded }, command))];
  const approval = withoutVotesOf(recorded, ended);
  const events = onTimeout(state, approval, command).map((event) => withEndedVotes(event, ended));
  if (events.length === 0) return notDue;
  const end = events.find(({ type }) => type === 'ApprovalExpired');
  return end === undefined ? accepted(...events) : unlessBegun(end, state, batch, at);
}

function withEndedVotes(event: ToolCallEvent, endedVotes: string[]): ToolCallEvent {
  if (endedVotes.length === 0) return event;
  if (event.type === 'ApprovalEscalated') return { ...event, data: { ...event.data, endedVotes } };
  return event.type === 'ApprovalResponded' ? { ...event, data: { ...event.data, endedVotes } } : event;
}

/** Time ends no call whose batch has begun: the begin is recorded in the call instead. */
function unlessBegun(
  event: ToolCallEvent,
  call: ToolCall,
  fate: BatchFate | undefined,
  at: number,
): RuleResult<ToolCallEvent> {
  const held = heldByBatch(call, fate);
  if (held === undefined) return accepted(event);
  return hasBegun(call, fate) && !call.committed ? accepted(committed(call, at)) : held;
}

/** Each requirement ends by itself: an approval expires as soon as one of them says so. */
function onTimeout(
  call: ToolCall,
  approval: Approval,
  {
    at,
    approvers,
    isTimeUnsure,
    isOtherPolicy,
  }: Pick<ExpireApproval, 'at' | 'approvers' | 'isTimeUnsure' | 'isOtherPolicy'>,
): readonly ToolCallEvent[] {
  // Attack: the people who could object are removed, and nobody is left whose silence could mean anything.
  const isShort = approvers !== undefined && shortageOf(call, approval, approvers) !== undefined;
  const couldObject = !isShort && isTimeUnsure !== true && isOtherPolicy !== true;
  return requirementsDue(approval, at).map((index, before) =>
    onTimeoutOf(approval, { index, before, at, couldObject }),
  );
}

/** A requirement whose deadline has come; `before`: how many come before it in the same decision. */
interface Due {
  readonly index: number;
  readonly before: number;
  readonly at: number;
  /** They had the time, and as far as the approvers are known, enough of them are left to decide. */
  readonly couldObject: boolean;
}

function onTimeoutOf(approval: Approval, due: Due): ToolCallEvent {
  const { index, at, couldObject } = due;
  switch (currentProposal(approval).requirements[index]?.onTimeout) {
    case 'escalate':
      return escalated(approval, due) ?? expired(approval, at);
    case 'hold':
      return { type: 'ApprovalEscalated', data: escalation(approval, due, [], null) };
    case 'allow':
      return (couldObject ? approvedBySilence(approval, at) : undefined) ?? expired(approval, at);
    case 'deny':
    case undefined:
      return expired(approval, at);
  }
}

function expired({ approvalId }: Approval, at: number): ToolCallEvent {
  return { type: 'ApprovalExpired', data: { approvalId, expiredAt: toStored(at) } };
}

function escalation(
  approval: Approval,
  { index: requirement, before, at }: Due,
  to: string[],
  expiresAt: string | null,
) {
  const level = approval.escalations.length + before + 1;
  return { approvalId: approval.approvalId, level, to, requirement, expiresAt, escalatedAt: toStored(at) };
}

/** The next level has its whole time from now on, however late the escalation is recorded. */
function escalated(approval: Approval, due: Due): ToolCallEvent | undefined {
  const { index, at } = due;
  const { number, requirements } = currentProposal(approval);
  const requirement = requirements[index];
  const { length } = approval.escalations.filter((one) => one.proposal === number && one.requirement === index);
  const next = requirement?.escalation[length];
  if (requirement === undefined || next === undefined) return undefined;
  // A requirement whose people have agreed waits for those of another one: then it asks no more people.
  const isSatisfied = openStage(approval, index) === requirement.stages.length;
  const expiresAt = expiryAfter(requirement, at, next.expiresInMs);
  return { type: 'ApprovalEscalated', data: escalation(approval, due, isSatisfied ? [] : next.to, expiresAt) };
}

/** How long after its deadline silence may still approve: a busy service is so late, and one that was away is later. */
const silenceLateMsMax = 10_000;

/**
 * Silence approves only the first round of a request that nobody objected to, edited or answered, below high risk, and
 * about which enough people could have decided. Otherwise the call fails closed.
 *
 * Attack: the deadline passes while the server is stopped or its machine is suspended, or because the clock is set
 * forward. No person could object, or look within the business hours, so that is no silence. Nor is it where the server
 * was away for a part of the time: what it could not show does not count, however short it is (`couldObject`).
 */
function approvedBySilence(approval: Approval, at: number): ToolCallEvent | undefined {
  const { approvalId, verdict } = approval;
  const { requirements, action, number } = currentProposal(approval);
  const [requirement] = requirements;
  const expiresAt = expiresAtOf(approval);
  const isLate = expiresAt === null || at - toEpochMs(expiresAt) > silenceLateMsMax;
  if (requirement === undefined || isLate || !maySilenceApprove(approval)) return undefined;
  return {
    type: 'ApprovalResponded',
    data: {
      approvalId,
      decision: { type: 'approve' },
      proposal: number,
      shown: null,
      actionDigest: action.actionDigest,
      reason: `No person answered in time; rule "${verdict.ruleId}" of policy ${verdict.policyVersion} then approves.`,
      instruction: null,
      respondedBy: 'policy',
      onBehalfOf: null,
      groups: [],
      via: 'policy',
      assurance: 'low',
      automatic: true,
      respondedAt: toStored(at),
      resolution: 'approved',
      executeBy: storedAfter(at, requirement.executeByMs),
    },
  };
}

/** How many reminders are due by now, with those of the proposals before. */
function remindersDue(approval: Approval, at: number): number {
  return approval.remindersBefore + reminderTimes(approval).filter((atMs) => atMs <= at).length;
}

/** Several missed reminders, for example after a long stop, become one. */
export function remindApprovers({ approvalId, at }: RemindApprovers, state: ToolCallState): RuleResult<ToolCallEvent> {
  const approval = pendingApproval(state, approvalId);
  if (approval === undefined || isOver(approval, at)) return notDue;
  const nth = remindersDue(approval, at);
  if (nth <= approval.remindersSent) return notDue;
  return accepted({ type: 'ApproversReminded', data: { approvalId, nth, remindedAt: toStored(at) } });
}

/** The executeBy of a call that is approved and was never claimed. Claimed in time, it stays claimable. */
function executeByOf({ permission, execution }: ToolCall): string | null {
  return permission.status === 'approved' && execution.status === 'none' ? permission.executeBy : null;
}

/** An approval is no stock: unused, it ends. An allowed call has no such end. */
export function lapseApproval(command: LapseApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  const { approvalId, at, batch, isRestored } = command;
  if (state.status === 'unrequested' || currentApproval(state)?.approvalId !== approvalId) return notDue;
  const isUnused = state.permission.status === 'approved' && state.execution.status === 'none';
  if (!hasCome(executeByOf(state), at) && !(isRestored === true && isUnused)) return notDue;
  return unlessBegun({ type: 'ApprovalLapsed', data: { approvalId, lapsedAt: toStored(at) } }, state, batch, at);
}

/** The lease is over without a report. Only an idempotent tool becomes claimable again. */
export function lapseClaim(command: LapseClaim, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (command.isRestored === true) return loseOutcome(command, state);
  const { attempt, at, abandoned } = command;
  if (state.status === 'unrequested' || state.execution.status !== 'claimed') return notDue;
  const { execution, request } = state;
  const isOver = hasCome(execution.leaseUntil, at) || (abandoned !== undefined && !request.idempotent);
  if (execution.attempt !== attempt || !isOver) return notDue;
  if (request.idempotent) return accepted({ type: 'ExecutionLapsed', data: { attempt, lapsedAt: toStored(at) } });
  const reason = abandoned ?? `The lease of ${execution.resolverId} ended without a report.`;
  return accepted({ type: 'ExecutionOutcomeUnknown', data: { attempt, reason, unknownSince: toStored(at) } });
}

/** In a restored log it is unknown whether a claimed call ran, and whether one that may be claimed again did. */
function loseOutcome(
  { attempt, at, abandoned: reason = '' }: LapseClaim,
  state: ToolCallState,
): RuleResult<ToolCallEvent> {
  const execution = state.status === 'unrequested' ? undefined : state.execution;
  const isOpen = execution?.status === 'claimed' || execution?.status === 'released';
  if (!isOpen || execution.attempt !== attempt) return notDue;
  return accepted({ type: 'ExecutionOutcomeUnknown', data: { attempt, reason, unknownSince: toStored(at) } });
}

function deadline(kind: Deadline['kind'], stored: string | null): readonly Deadline[] {
  return stored === null ? [] : [{ kind, atMs: toEpochMs(stored) }];
}

function nextReminder(approval: Approval): readonly Deadline[] {
  const atMs = reminderTimes(approval)[approval.remindersSent - approval.remindersBefore];
  return atMs === undefined ? [] : [{ kind: 'reminder', atMs }];
}

/** Everything that will happen automatically in this state, final events first. */
function deadlines(state: ToolCallState): readonly Deadline[] {
  if (state.status === 'unrequested') return [];
  const approval = currentApproval(state);
  if (state.execution.status === 'claimed') return deadline('lease', state.execution.leaseUntil);
  if (callState(state) === 'approved') return deadline('execute-by', executeByOf(state));
  if (approval?.resolution.status !== 'pending') return [];
  return [...deadline('expiry', expiresAtOf(approval)), ...nextReminder(approval)];
}

/** The next time at which something happens to the call automatically; null when nothing will. */
export function dueAt(state: ToolCallState): Deadline | null {
  return deadlines(state).reduce<Deadline | null>(
    (first, next) => (first === null || next.atMs < first.atMs ? next : first),
    null,
  );
}

/**
 * Returns the command for a deadline that is due at `at` (epoch milliseconds); null when none is. Check again
 * afterwards: more may be due.
 */
export function dueCommand(state: ToolCallState, at: number): DeadlineCommand | null {
  const due = deadlines(state).find(({ atMs }) => atMs <= at);
  if (due === undefined || state.status === 'unrequested') return null;
  const approvalId = currentApproval(state)?.approvalId ?? '';
  switch (due.kind) {
    case 'expiry':
      return { type: 'ExpireApproval', approvalId, at };
    case 'reminder':
      return { type: 'RemindApprovers', approvalId, at };
    case 'execute-by':
      return { type: 'LapseApproval', approvalId, at };
    case 'lease':
      return state.execution.status === 'claimed' ? { type: 'LapseClaim', attempt: state.execution.attempt, at } : null;
  }
}
