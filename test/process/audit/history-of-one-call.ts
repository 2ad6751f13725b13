import type { EventData, JsonObject, ToolCallEvent } from '@countersign/contracts';
import type { Execution } from '../traffic/journal.js';
import type { Journal } from '../traffic/journal.js';
import { digestOf } from './digest.js';
import type { Entry } from './log.js';

/** A log and its clients' records, in the form of the audit. Tests change it to see the audit find the change. */
export interface Case {
  readonly entries: readonly Entry[];
  readonly journal: Journal;
}

const callId = 'tc_aaaaaaaaaaaaaaaaaaaaaaaaaa';
const approvalId = 'apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1';
const identity = {
  tenant: 'default',
  agentId: 'agent',
  runId: 'run-1',
  toolCallId: 'call-1',
  toolName: 'move_file',
  toolSchemaHash: null,
  salt: '00112233445566778899aabbccddeeff',
};
export const approvedArguments: JsonObject = { path: '/tmp/a', amount: 3 };
const actionDigest = digestOf(identity, approvedArguments);
const at = (second: number): string => `2026-05-01T12:00:${String(second).padStart(2, '0')}.000Z`;
const verdict = {
  outcome: 'require',
  ruleId: 'flagged',
  policyVersion: 'sha256:0',
  automatic: false,
  why: [],
} as const;

const request: EventData<'ToolCallRequested'> = {
  ...identity,
  callId,
  batchId: null,
  batchMode: 'independent',
  batchCallIds: [],
  arguments: approvedArguments,
  toolSchema: null,
  actionDigest,
  sensitive: [],
  needsApproval: true,
  reason: null,
  description: null,
  clientExecuted: false,
  idempotent: false,
  labels: {},
  requestedBy: 'agent',
  requestedAt: at(0),
};

const question: EventData<'ApprovalRequested'> = {
  approvalId,
  round: 1,
  actionDigest,
  verdict: { ...verdict, why: [] },
  requirement: {
    stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
    fourEyes: true,
    allowedDecisions: ['approve', 'deny'],
    requireReason: [],
    minAssurance: null,
    risk: null,
    expiresInMs: 30_000,
    executeByMs: 30_000,
    onTimeout: 'deny',
    escalation: [],
    remindersMs: [],
  },
  reason: null,
  description: null,
  requestedBy: 'agent',
  requestedAt: at(0),
  expiresAt: at(30),
};

const response: EventData<'ApprovalResponded'> = {
  approvalId,
  decision: { type: 'approve' },
  proposal: 1,
  shown: null,
  actionDigest,
  reason: null,
  instruction: null,
  respondedBy: 'me',
  onBehalfOf: null,
  groups: [],
  via: 'api',
  assurance: 'medium',
  automatic: false,
  respondedAt: at(5),
  resolution: 'approved',
  executeBy: at(35),
};

const claim: EventData<'ExecutionClaimed'> = {
  attempt: 1,
  resolverId: 'worker-1',
  claimedBy: 'worker',
  actionDigest,
  idempotencyKey: callId,
  claimedAt: at(6),
  leaseUntil: at(50),
};

const success: EventData<'ExecutionSucceeded'> = {
  attempt: 1,
  executedBy: 'resolver',
  reportedBy: 'worker',
  reportedAt: at(7),
  output: { done: true },
};

/** Requested, approved, claimed, run and reported. */
export const events = {
  requested: { type: 'ToolCallRequested', data: request },
  asked: { type: 'ApprovalRequested', data: question },
  approved: { type: 'ApprovalResponded', data: response },
  claimed: { type: 'ExecutionClaimed', data: claim },
  succeeded: { type: 'ExecutionSucceeded', data: success },
} as const satisfies Record<string, ToolCallEvent>;

/** The log that holds these events in this order. */
export function logOf(recorded: readonly ToolCallEvent[]): readonly Entry[] {
  return recorded.map(({ type, data }, index) => ({
    position: index + 1,
    stream: `toolCall-${callId}`,
    revision: index,
    eventId: `event-${index}`,
    type,
    recordedAt: at(8),
    callId,
    runId: identity.runId,
    tenant: identity.tenant,
    data,
  }));
}

export const execution: Execution = {
  by: 'worker',
  callId,
  attempt: 1,
  arguments: approvedArguments,
  idempotencyKey: callId,
  atMs: Date.parse(at(6)) + 1,
};

/** All is well. */
export function soundCase(): Case {
  const { runId, toolCallId, toolName } = identity;
  return {
    entries: logOf(Object.values(events)),
    journal: {
      surprises: [],
      grants: [],
      executions: [execution],
      acknowledgements: [
        { kind: 'requested', callId, runId, toolCallId, toolName, arguments: approvedArguments },
        { kind: 'shown', callId, revision: 1, state: 'awaiting_approval' },
        { kind: 'approval', callId, approvalId, state: 'pending' },
        { kind: 'responded', callId, approvalId, decision: 'approve' },
        { kind: 'approval', callId, approvalId, state: 'approved' },
        { kind: 'claimed', callId, attempt: 1, resolverId: 'worker-1', actionDigest, leaseUntil: at(50) },
        { kind: 'reported', callId, attempt: 1, status: 'succeeded', result: { done: true } },
        { kind: 'shown', callId, revision: 4, state: 'succeeded' },
      ],
    },
  };
}
