import type { ApprovalView, ToolCallView } from '@countersign/contracts';
import { expect } from '@jest/globals';
import { sampleCall, type Answer } from './worker-server.js';

/** The members of each kind of response, as matchers. A response must have all of them, and no others. */
export type Members = Readonly<Record<string, unknown>>;

export const anyText: unknown = expect.any(String);
export const anyTime: unknown = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
export const anyDigest: unknown = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
export const anyCallId: unknown = expect.stringMatching(/^tc_[a-z2-7]{26}$/);

export function json(status: number, body: unknown): Answer {
  return { status, type: expect.stringMatching(/^application\/json/) as unknown as string, body };
}

export function problem(status: number, code: string, more: Members = {}): Answer {
  const body = { type: `/problems/${code}`, title: anyText, status, code, detail: anyText, instance: anyText, ...more };
  return { status, type: expect.stringMatching(/^application\/problem\+json/) as unknown as string, body };
}

const allowedBy = { outcome: 'allow', ruleId: 'default', automatic: true, why: ['nothing else matches'] };
export const required = {
  outcome: 'require',
  ruleId: 'needsApproval',
  automatic: false,
  why: ['nothing else matches', 'the worker asks for approval'],
  policyVersion: anyDigest,
};

/** The verdict about a call that the code of the agent denies. */
export const deniedBy = (reason: string): Members => ({
  ...{ outcome: 'block', ruleId: 'deniedInCode', automatic: true, policyVersion: anyDigest },
  why: ['nothing else matches', reason],
});

/** A call that is allowed, with other members. */
export function callShape(more: Members = {}): Members {
  return {
    callId: anyCallId,
    runId: anyText,
    agentId: 'biller',
    batchId: null,
    ...{ title: null, toolDescription: null, metadata: null },
    ...sampleCall,
    actionDigest: anyDigest,
    state: 'allowed',
    verdict: { ...allowedBy, policyVersion: anyDigest },
    approval: null,
    output: null,
    error: null,
    instruction: null,
    requestedAt: anyTime,
    settledAt: null,
    revision: expect.any(Number),
    ...more,
  };
}

const requirement = {
  stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
  fourEyes: true,
  allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
  requireReason: [],
  minAssurance: null,
  risk: null,
  expiresInMs: 3_600_000,
  executeByMs: 3_600_000,
  onTimeout: 'deny',
  escalation: [],
  remindersMs: [],
};

/** What people are asked to agree to: the request, or another proposal. */
export function proposalShape(more: Members = {}): Members {
  return {
    ...{ number: 1, digest: anyDigest, kind: 'run', output: null },
    ...{ proposedBy: 'agent', proposedAt: anyTime, replaces: null },
    ...more,
  };
}

/** An approval that is pending, with other members. */
export function approvalShape(more: Members = {}, rule: Partial<ApprovalView['requirement']> = {}): Members {
  return {
    approvalId: expect.stringMatching(/^apr_[a-z2-7]{26}_\d+$/),
    callId: anyCallId,
    runId: anyText,
    agentId: 'biller',
    toolCallId: 'call-1',
    requestedBy: 'agent',
    owner: null,
    onBehalfOf: null,
    chain: [],
    labels: {},
    hiddenValues: [],
    batch: null,
    round: 1,
    state: 'pending',
    toolName: 'refund',
    arguments: { amount: 50 },
    actionDigest: anyDigest,
    proposal: proposalShape(),
    shownDigest: anyDigest,
    shownRevision: 1,
    instructions: [],
    mayDecide: { now: false, why: 'forbidden', detail: 'You do not have the role approver.' },
    endedProposals: [],
    description: null,
    ...{ title: null, toolDescription: null, metadata: null },
    reason: null,
    requestedAt: anyTime,
    expiresAt: anyTime,
    risk: null,
    requirement: { ...requirement, ...rule },
    allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
    responses: [],
    progress: [{ approvedBy: [], deniedBy: [], missing: 1, missingOf: null }],
    upcoming: [{ kind: 'expiry', at: anyTime, to: [] }],
    callState: 'awaiting_approval',
    resolution: null,
    resolvedAt: null,
    ...more,
  };
}

/** A call that waits for people, with other members. */
export function waitingShape(more: Members = {}, approval: Members = {}): Members {
  return callShape({ state: 'awaiting_approval', verdict: required, approval: approvalShape(approval), ...more });
}

/** The members of an approval that has ended. */
export function endedApproval(resolution: string, callState: string, more: Members = {}): Members {
  return { state: resolution, resolution, callState, resolvedAt: anyTime, upcoming: [], ...more };
}

/** The members of an approval that one person decided. */
export function decidedApproval(decision: Members, callState: string, reason: string | null = null): Members {
  const response = {
    respondedBy: 'me',
    onBehalfOf: null,
    decision,
    reason,
    respondedAt: anyTime,
    via: 'api',
    counted: true,
    number: 1,
  };
  const isDenied = decision['type'] === 'deny';
  const progress = isDenied
    ? { approvedBy: [], deniedBy: ['me'], missing: 1, missingOf: null }
    : { approvedBy: ['me'], deniedBy: [], missing: 0, missingOf: [] };
  const proposed = decision['type'] === 'edit' || decision['type'] === 'answer';
  const by = { number: 2, proposedBy: 'me', replaces: 1 };
  const proposal =
    decision['type'] === 'answer' ? { ...by, kind: 'answer', output: decision['output'], hiddenValues: [] } : by;
  const more = {
    responses: [response],
    progress: [progress],
    ...(proposed && { proposal: proposalShape(proposal) }),
  };
  return endedApproval(isDenied ? 'denied' : 'approved', callState, more);
}

/** A claim of a call. */
export function claimShape(call: ToolCallView, more: Members = {}): Members {
  return {
    attempt: 1,
    arguments: call.arguments,
    actionDigest: call.actionDigest,
    digestInput: {
      tenant: 'default',
      agentId: call.agentId,
      runId: call.runId,
      toolCallId: call.toolCallId,
      toolName: call.toolName,
      toolSchemaHash: null,
      salt: expect.stringMatching(/^[0-9a-f]{32}$/),
    },
    idempotencyKey: call.callId,
    receipt: anyText,
    leaseUntil: anyTime,
    ...more,
  };
}
