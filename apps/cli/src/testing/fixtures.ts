import type { ApprovalView, EventView, ToolCallView } from '@countersign/contracts';

/** The moment at which tests look. */
export const nowMs = Date.parse('2026-11-22T10:00:00.000Z');

const digest = `sha256:${'ab'.repeat(32)}`;

/** A pending approval of `delete_file`, three minutes old, with some members replaced. */
export function approvalOf(changes: Partial<ApprovalView> = {}): ApprovalView {
  return {
    approvalId: 'apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1',
    callId: 'tc_aaaaaaaaaaaaaaaaaaaaaaaaaa',
    runId: 'run-42',
    agentId: 'billing-agent',
    toolCallId: 'call_1',
    requestedBy: 'billing-agent',
    owner: null,
    onBehalfOf: null,
    chain: [],
    labels: {},
    hiddenValues: [],
    batch: null,
    round: 1,
    state: 'pending',
    toolName: 'delete_file',
    arguments: { path: '/etc/hosts' },
    actionDigest: digest,
    description: 'Delete /etc/hosts',
    reason: 'outside the workspace',
    title: null,
    toolDescription: null,
    metadata: null,
    requestedAt: '2026-11-22T09:57:00.000Z',
    expiresAt: '2026-11-22T10:57:00.000Z',
    risk: null,
    requirement: {
      stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: ['ops'] }],
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
    },
    allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
    proposal: {
      ...{ number: 1, digest: `sha256:${'cd'.repeat(32)}`, kind: 'run', output: null },
      ...{ proposedBy: 'agent', proposedAt: '2026-11-22T09:57:00.000Z', replaces: null },
    },
    shownDigest: `sha256:${'cd'.repeat(32)}`,
    shownRevision: 1,
    instructions: [],
    endedProposals: [],
    responses: [],
    progress: [{ approvedBy: [], deniedBy: [], missing: 1, missingOf: ['ops'] }],
    upcoming: [{ kind: 'expiry', at: '2026-11-22T10:57:00.000Z', to: [] }],
    callState: 'awaiting_approval',
    resolution: null,
    resolvedAt: null,
    ...changes,
  };
}

/** The call that an approval is about. */
export function callOf(approval: ApprovalView, changes: Partial<ToolCallView> = {}): ToolCallView {
  const { callId, runId, agentId, toolName, actionDigest, requestedAt } = approval;
  return {
    callId,
    runId,
    agentId,
    batchId: null,
    toolCallId: 'call_1',
    toolName,
    title: null,
    toolDescription: null,
    metadata: null,
    arguments: approval.arguments,
    actionDigest,
    state: 'awaiting_approval',
    verdict: {
      outcome: 'require',
      ruleId: 'default',
      policyVersion: digest,
      automatic: false,
      why: ['the worker asks'],
    },
    approval,
    output: null,
    error: null,
    instruction: null,
    requestedAt,
    settledAt: null,
    revision: 1,
    ...changes,
  };
}

/** A recorded event about an approval's call. */
export function eventOf(
  approval: ApprovalView,
  type: string,
  position: number,
  data: EventView['data'] = {},
): EventView {
  const { callId, toolCallId, toolName, agentId, runId, approvalId } = approval;
  return {
    eventId: `event-${String(position)}`,
    type,
    position,
    ...{ callId, toolCallId, toolName, agentId },
    runId,
    tenant: 'default',
    revision: position - 1,
    recordedAt: '2026-11-22T09:58:00.000Z',
    actor: null,
    data: { approvalId, ...data },
  };
}
