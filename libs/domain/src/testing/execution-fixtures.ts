import type {
  ClaimExecution,
  LapseClaim,
  Outcome,
  ReconcileExecution,
  RenewClaim,
  ReportExecution,
  SubmitClientOutput,
} from '../tool-call.execution-commands.js';
import { callId, digest, minute, minuteMs } from './constants.js';

export const claim = (change: Partial<ClaimExecution> = {}): ClaimExecution => ({
  type: 'ClaimExecution',
  at: minute(10),
  callId,
  resolverId: 'resolver-1',
  claimedBy: 'worker',
  leaseMs: minuteMs,
  actionDigest: digest,
  idempotencyKey: 'key-1',
  claimId: 'claim-1',
  ...change,
});

export const renew = (change: Partial<RenewClaim> = {}): RenewClaim => ({
  type: 'RenewClaim',
  at: minute(10.5),
  attempt: 1,
  leaseMs: minuteMs,
  ...change,
});

export const succeeded: Outcome = { status: 'succeeded', output: { refunded: 100 } };
export const failed: Outcome = { status: 'failed', error: { message: 'no such order' } };

export const report = (outcome: Outcome = succeeded, attempt = 1, at = minute(10.5)): ReportExecution => ({
  type: 'ReportExecution',
  at,
  attempt,
  outcome,
  reportedBy: 'worker',
});

export const lapseClaim = (at = minute(11), attempt = 1): LapseClaim => ({ type: 'LapseClaim', at, attempt });

export const reconcile = (status: ReconcileExecution['status'], at = minute(30)): ReconcileExecution => ({
  type: 'ReconcileExecution',
  at,
  status,
  note: 'looked it up',
  reconciledBy: 'admin',
});

export const submit = (
  outcome: Outcome = succeeded,
  at = minute(10),
  change: Partial<SubmitClientOutput> = {},
): SubmitClientOutput => ({
  type: 'SubmitClientOutput',
  at,
  outcome,
  submittedBy: 'agent',
  reach: 'own',
  ...change,
});
