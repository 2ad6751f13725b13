import type { EventData, ToolCallEvent } from '@countersign/contracts';
import { assert } from './assert.js';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { areEqualJson } from './json-equality.js';
import { notOwner } from './ownership.js';
import { isSignedEnough } from './signed-votes.js';
import { hasCome, toStored } from './time.js';
import { hasBegun, isBatchMember } from './tool-call.batch.js';
import type { BatchFate } from './tool-call.command-base.js';
import type {
  ClaimExecution,
  Outcome,
  ReconcileExecution,
  RenewClaim,
  ReportExecution,
  SubmitClientOutput,
} from './tool-call.execution-commands.js';
import { currentApproval } from './tool-call.state.js';
import type { Execution, ToolCall, ToolCallState } from './tool-call.state.js';

/** The fencing token of the latest claim; 0 without a claim. */
function latestAttempt(execution: Execution): number {
  return execution.status === 'none' ? 0 : (execution.attempt ?? 0);
}

/** Refuses unless the call may run now, as far as people, policy and time are concerned. */
function notPermitted(call: ToolCall, at: number, fate: BatchFate | undefined): RuleResult<never> | undefined {
  const { permission, execution } = call;
  switch (permission.status) {
    case 'allowed':
      return undefined;
    case 'approved': {
      // A call that was claimed in time stays claimable after its claim is released: `executeBy` limits only the first
      // claim. So does a member of a batch that has begun: its siblings may have run.
      const isFirst = execution.status === 'none' && !hasBegun(call, fate);
      const isOver = isFirst && hasCome(permission.executeBy, at);
      return isOver ? lapsed(permission.executeBy) : notSigned(call);
    }
    case 'expired':
      // The same fact gets the same code, whether its recorder was there before the claim or not.
      return permission.cause === 'lapsed'
        ? lapsed(null)
        : refused('not-approved', 'The approval has expired.', { state: 'expired' });
    default:
      return refused('not-approved', `The tool call is ${permission.status}.`, { state: permission.status });
  }
}

/** What is recorded as approved is judged again: under a rule that asks for signatures only signed votes count. */
function notSigned(call: ToolCall): RuleResult<never> | undefined {
  const approval = currentApproval(call);
  return approval === undefined || isSignedEnough(approval)
    ? undefined
    : refused('not-approved', 'The approval lacks the signatures that its rule asks for.', { state: 'approved' });
}

function lapsed(executeBy: string | null): RuleResult<never> {
  const detail = 'The approval was not used in time.';
  return executeBy === null ? refused('approval-lapsed', detail) : refused('approval-lapsed', detail, { executeBy });
}

function alreadyBegun(execution: Execution): RuleResult<never> | undefined {
  switch (execution.status) {
    case 'none':
    case 'released':
      return undefined;
    case 'claimed': {
      // Also when its lease is over: the lapse is recorded first, and decides whether a second attempt is allowed.
      const { attempt, resolverId, leaseUntil } = execution;
      return refused('already-claimed', `Claimed by ${resolverId}.`, { attempt, resolverId, leaseUntil });
    }
    default:
      return refused('already-settled', `The execution is ${execution.status}.`, { state: execution.status });
  }
}

/** The last check before a member runs: its batch must have begun. */
function notInBegunBatch(call: ToolCall, fate: BatchFate | undefined): RuleResult<never> | undefined {
  if (!isBatchMember(call) || hasBegun(call, fate)) return undefined;
  return refused('batch-incomplete', 'The all-or-nothing batch of this call has not begun.');
}

/** The only way to an execution: approved or allowed, in time, this digest, no other claim, and the whole batch. */
export function claimExecution(command: ClaimExecution, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-approved', 'No such tool call is recorded.');
  const { request, action, execution } = state;
  assert(command.callId === request.callId, 'a claim is decided on its own call');
  const refusal = alreadyBegun(execution) ?? notPermitted(state, command.at, command.batch);
  if (refusal !== undefined) return refusal;
  const isOfClient = request.clientExecuted && command.isRestored !== true;
  if (isOfClient) return refused('not-approved', 'The client executes this tool call itself.');
  // Attack: arguments swapped between the approval and the run. Only the approved arguments run.
  if (command.actionDigest !== digestToRun(state)) {
    if (action.salt === null) return refused('digest-mismatch', unreadable);
    return refused('digest-mismatch', 'These are not the arguments that were approved.', {
      actionDigest: action.actionDigest,
    });
  }
  const incomplete = notInBegunBatch(state, command.batch);
  if (incomplete !== undefined) return incomplete;
  const { at, leaseMs, resolverId, claimedBy, actionDigest, idempotencyKey, claimId, seq } = command;
  const attempt = latestAttempt(execution) + 1;
  const times = { claimedAt: toStored(at), leaseUntil: toStored(at + leaseMs) };
  return accepted({
    type: 'ExecutionClaimed',
    data: { attempt, resolverId, claimedBy, actionDigest, idempotencyKey, claimId, ...(seq && { seq }), ...times },
  });
}

const unreadable =
  'Values of this tool call cannot be read, because they are erased or their key is missing: it can no longer run.';

function digestToRun({ permission, action }: ToolCall): string {
  return permission.status === 'approved' ? permission.actionDigest : action.actionDigest;
}

/** Moves the end of the lease; never back, so that an old renewal arriving late does no harm. */
export function renewClaim(command: RenewClaim, state: ToolCallState): RuleResult<ToolCallEvent> {
  const execution = executionOf(state);
  if (execution.status !== 'claimed' || execution.attempt !== command.attempt) return stale(execution, command.attempt);
  const leaseUntil = toStored(command.at + command.leaseMs);
  if (leaseUntil <= execution.leaseUntil) return accepted();
  return accepted({
    type: 'ExecutionClaimRenewed',
    data: { attempt: command.attempt, leaseUntil, renewedAt: toStored(command.at) },
  });
}

/**
 * Records the outcome reported by the holder of the latest fencing token, also after its lease: only it knows what
 * happened. Refused once a person has reconciled the call, once a newer token exists, and for any other principal.
 */
export function reportExecution(command: ReportExecution, state: ToolCallState): RuleResult<ToolCallEvent> {
  const execution = executionOf(state);
  const { attempt, outcome, reportedBy, at } = command;
  if (latestAttempt(execution) !== attempt || !isHeldBy(execution, reportedBy)) return stale(execution, attempt);
  const report = { attempt, executedBy: 'resolver', reportedBy, at } as const;
  switch (execution.status) {
    case 'claimed':
      return accepted(settled(outcome, report, hasCome(execution.leaseUntil, at) ? 'lease-over' : undefined));
    case 'unknown':
      return accepted(settled(outcome, report, 'outcome-unknown'));
    case 'released':
      // An idempotent tool finished after its lease. The outcome is known, so no second run is needed.
      return execution.cause === 'lapsed' && permits(state)
        ? accepted(settled(outcome, report, 'lease-over'))
        : stale(execution, attempt);
    case 'succeeded':
    case 'failed':
      return execution.by === 'resolver' && isSameOutcome(execution, outcome) ? accepted() : stale(execution, attempt);
    case 'none':
      return stale(execution, attempt);
  }
}

/** Attack: another principal reports for a claim. The attempt is no secret, so the claiming principal alone may. */
function isHeldBy(execution: Execution, principal: string): boolean {
  const claimedBy = 'claimedBy' in execution ? execution.claimedBy : null;
  return claimedBy === null || claimedBy === principal;
}

function isSameOutcome(recorded: Extract<Execution, { status: 'succeeded' | 'failed' }>, outcome: Outcome): boolean {
  if (recorded.status === 'succeeded') {
    return outcome.status === 'succeeded' && areEqualJson(recorded.output, outcome.output);
  }
  return outcome.status === 'failed' && areEqualJson(recorded.error, outcome.error);
}

/** Returns whether the call was not cancelled after its claim was released, which older versions allowed. */
function permits(state: ToolCallState): boolean {
  return (
    state.status === 'recorded' && (state.permission.status === 'allowed' || state.permission.status === 'approved')
  );
}

/**
 * A person records the outcome of an execution whose outcome was unknown. Only this makes such a call claimable again.
 */
export function reconcileExecution(command: ReconcileExecution, state: ToolCallState): RuleResult<ToolCallEvent> {
  const { status, note, reconciledBy, at } = command;
  const { status: before } = executionOf(state);
  // It may have run, and nobody may claim it again: then only a person can end it.
  const isEnded = before === 'released' && status !== 'retry';
  if (before === 'released' && !isEnded) {
    return refused('not-unknown', 'This tool call can be claimed again already: say `succeeded` or `failed`.');
  }
  if (before !== 'unknown' && !isEnded) {
    return refused('not-unknown', 'The outcome of this tool call is not unknown.');
  }
  return accepted({ type: 'ExecutionReconciled', data: { status, note, reconciledBy, reconciledAt: toStored(at) } });
}

/**
 * Records the output of a tool that the client ran itself. After `executeBy` the output is recorded as late: the client
 * has run the tool, and the log must not say that it has not.
 */
export function submitClientOutput(command: SubmitClientOutput, state: ToolCallState): RuleResult<ToolCallEvent> {
  if (state.status === 'unrequested') return refused('not-approved', 'No such tool call is recorded.');
  const notTheirs = notOfClient(command, state);
  if (notTheirs !== undefined) return notTheirs;
  const lapse = notPermitted(state, command.at, command.batch);
  const isLate = lapse?.status === 'refused' && lapse.refusal.code === 'approval-lapsed';
  const refusal =
    alreadyBegun(state.execution) ?? (isLate ? undefined : lapse) ?? notInBegunBatch(state, command.batch);
  if (refusal !== undefined) return refusal;
  const report = { attempt: null, executedBy: 'client', reportedBy: command.submittedBy, at: command.at } as const;
  return accepted(settled(command.outcome, report, isLate ? 'execute-by-over' : undefined));
}

function notOfClient({ submittedBy, reach }: SubmitClientOutput, call: ToolCall): RuleResult<never> | undefined {
  const notOwned = notOwner(call, submittedBy, reach);
  if (notOwned !== undefined || call.request.clientExecuted) return notOwned;
  return refused('not-client-executed', 'A resolver executes this tool call.');
}

interface Report {
  readonly attempt: number | null;
  readonly executedBy: 'resolver' | 'client';
  readonly reportedBy: string;
  readonly at: number;
}

type Late = EventData<'ExecutionSucceeded'>['late'];

function settled(outcome: Outcome, { at, ...report }: Report, late: Late): ToolCallEvent {
  const data = { ...report, reportedAt: toStored(at), ...(late === undefined ? {} : { late }) };
  return outcome.status === 'succeeded'
    ? { type: 'ExecutionSucceeded', data: { ...data, output: outcome.output } }
    : { type: 'ExecutionFailed', data: { ...data, error: outcome.error } };
}

function executionOf(state: ToolCallState): Execution {
  return state.status === 'recorded' ? state.execution : { status: 'none' };
}

function stale(execution: Execution, attempt: number): RuleResult<never> {
  const latest = latestAttempt(execution);
  const detail =
    attempt > latest
      ? `No claim has been given with the attempt ${String(attempt)}.`
      : 'This claim is no longer the one that counts.';
  return refused('stale-claim', detail, { status: execution.status, attempt: latest });
}
