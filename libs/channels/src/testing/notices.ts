import { approvalIdOf, deriveCallId } from '@countersign/contracts';
import type { ApprovalView, JsonObject, ToolCallView } from '@countersign/contracts';
import type { Notice } from '../channel.js';
import type { Person } from '../config/channels-file.js';

export const alice: Person = {
  id: 'alice',
  slack: 'T01:U01',
  telegram: '4711',
  teams: '11111111-0000-4000-8000-000000000001:aaaaaaaa-0000-4000-8000-000000000001',
  email: 'alice@example.com',
  groups: ['ops'],
};

export interface NoticeChange {
  readonly toolName?: string;
  readonly arguments?: JsonObject;
  readonly reason?: string;
  readonly description?: string;
  readonly approval?: Partial<ApprovalView>;
  readonly notice?: Partial<Notice>;
  readonly toolCallId?: string;
}

/** A request notice about a call, pending by default. */
export function sampleNotice({
  toolName = 'delete_file',
  toolCallId = 'call-1',
  ...change
}: NoticeChange = {}): Notice {
  const callId = deriveCallId('default', 'run-1', toolCallId);
  const args = change.arguments ?? { path: '/tmp/x' };
  const at = '2026-11-22T10:00:00.000Z';
  const actionDigest = `sha256:${'ab'.repeat(32)}`;
  const approval: ApprovalView = {
    ...{
      approvalId: approvalIdOf(callId, 1),
      callId,
      runId: 'run-1',
      agentId: 'agent',
      round: 1,
      state: 'pending',
      toolName,
    },
    ...{
      toolCallId,
      requestedBy: 'agent',
      owner: null,
      onBehalfOf: null,
      chain: [],
      labels: {},
      hiddenValues: [],
      batch: null,
    },
    ...{ arguments: args, actionDigest, description: change.description ?? null, reason: change.reason ?? null },
    ...{ title: null, toolDescription: null, metadata: null },
    proposal: {
      ...{ number: 1, digest: `sha256:${'cd'.repeat(32)}`, kind: 'run', output: null },
      ...{ proposedBy: 'agent', proposedAt: at, replaces: null },
    },
    ...{ shownDigest: `sha256:${'cd'.repeat(32)}`, shownRevision: 1, instructions: [], endedProposals: [] },
    ...{ requestedAt: at, expiresAt: '2026-11-22T11:00:00.000Z', risk: null, responses: [], resolution: null },
    ...{ progress: [], upcoming: [], callState: 'awaiting_approval' },
    ...{ resolvedAt: null, allowedDecisions: ['approve', 'edit', 'deny', 'answer'] },
    requirement: {
      ...{ stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }], fourEyes: true, requireReason: [] },
      ...{ allowedDecisions: ['approve', 'edit', 'deny', 'answer'], minAssurance: null, risk: null },
      ...{ expiresInMs: 3_600_000, executeByMs: 3_600_000, onTimeout: 'deny', escalation: [], remindersMs: [] },
    },
    ...change.approval,
  };
  const call: ToolCallView = {
    ...{ callId, runId: 'run-1', agentId: 'agent', batchId: null, toolCallId, toolName, arguments: args, actionDigest },
    ...{ title: null, toolDescription: null, metadata: null },
    state: approval.state === 'pending' ? 'awaiting_approval' : approval.state,
    verdict: { outcome: 'require', ruleId: 'rule-1', policyVersion: 'v', automatic: false, why: [] },
    ...{ approval, output: null, error: null, instruction: null, requestedAt: at, settledAt: null, revision: 1 },
  };
  return {
    messageId: 'a3b1c1f0-0000-5000-8000-000000000001',
    kind: 'requested',
    nth: 0,
    call,
    approval,
    at,
    recipient: alice,
    ...change.notice,
  };
}
