import {
  actionDigest,
  approvalIdOf,
  deniedInCode,
  deriveCallId,
  jcsDigest,
  type ApprovalView,
  type DigestInput,
  type RequestApprovalBody,
  type PresentedView,
  type RequestToolCalls,
  type RequestedCall,
  type ToolCallView,
} from '@countersign/contracts';

/** The right to run a call, as the fake keeps it. */
export interface FakeClaim {
  readonly attempt: number;
  readonly resolverId: string;
  readonly leaseUntil: string;
}

/** A call as the fake keeps it. */
export interface FakeCall {
  readonly view: Mutable<ToolCallView>;
  readonly digestInput: DigestInput;
  readonly request: RequestedCall;
  readonly batch: NonNullable<ApprovalView['batch']> | null;
  /** The digest of the request. An edit changes the digest of the view, and leaves this one. */
  readonly requestedDigest: string;
  /** The latest one. */
  claim: FakeClaim | null;
  /** The report of the latest claim. */
  report: unknown;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** The fake has no clock: everything happens at this time. */
export const nowMs = Date.UTC(2030, 0, 1);
export const now = timeAfter(0);

export function timeAfter(ms: number): string {
  return new Date(nowMs + ms).toISOString();
}

const requirement: ApprovalView['requirement'] = {
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

const allowed: ToolCallView['verdict'] = {
  outcome: 'allow',
  ruleId: 'default',
  policyVersion: jcsDigest(null),
  automatic: true,
  why: ['nothing else matches'],
};
const required: ToolCallView['verdict'] = {
  ...allowed,
  outcome: 'require',
  ruleId: 'needsApproval',
  automatic: false,
  why: [...allowed.why, 'the worker asks for approval'],
};

/** The verdict about a call that the code of the agent denies. */
export function deniedBy(reason: string): ToolCallView['verdict'] {
  return { ...allowed, outcome: 'block', ruleId: deniedInCode, why: [...allowed.why, reason] };
}

/** The calls of a request as the real server records them without a policy, before people are asked. */
export function newFakeCalls(body: RequestToolCalls): readonly FakeCall[] {
  const { batchId = null, batchMode: mode = 'independent', calls } = body;
  const callIds = calls.map(({ toolCallId }) => deriveCallId('default', body.runId, toolCallId));
  const batch = calls.length > 1 || batchId !== null ? { batchId, mode, callIds } : null;
  return calls.map((request) => newFakeCall(body, request, batch));
}

function newFakeCall(body: RequestToolCalls, request: RequestedCall, batch: FakeCall['batch']): FakeCall {
  const { runId, agentId = 'agent', batchId = null } = body;
  const { toolCallId, toolName } = request;
  const toolSchemaHash = request.toolSchema === undefined ? null : jcsDigest(request.toolSchema);
  const ids = { agentId, runId, toolCallId, toolName };
  const digestInput = { tenant: 'default', ...ids, toolSchemaHash, salt: '00'.repeat(16) };
  const requestedDigest = actionDigest(digestInput, request.arguments);
  const view: ToolCallView = {
    callId: deriveCallId('default', runId, toolCallId),
    ...{ ...ids, batchId },
    ...presentedView(request),
    ...(request.clientExecuted === true && { clientExecuted: true }),
    arguments: request.arguments,
    actionDigest: requestedDigest,
    state: 'allowed',
    verdict: allowed,
    approval: null,
    output: null,
    error: null,
    instruction: null,
    requestedAt: now,
    settledAt: null,
    revision: -1,
  };
  return { view, digestInput, request, batch, requestedDigest, claim: null, report: null };
}

function presentedView({ title, toolDescription, metadata }: RequestedCall): PresentedView {
  return { title: title ?? null, toolDescription: toolDescription ?? null, metadata: metadata ?? null };
}

/** Makes a call wait for people: the next round of its approval. */
export function askPeople({ view, request, batch }: FakeCall, question: RequestApprovalBody): void {
  const { expiresInMs = requirement.expiresInMs } = question;
  const allowedDecisions = requirement.allowedDecisions.filter(
    (decision) => decision === 'deny' || (question.allowedDecisions?.includes(decision) ?? true),
  );
  const expiresAt = expiresInMs === 'never' ? null : timeAfter(expiresInMs);
  const round = (view.approval?.round ?? 0) + 1;
  const { callId, runId, agentId, toolCallId, toolName, actionDigest } = view;
  view.approval = {
    approvalId: approvalIdOf(callId, round),
    ...{ callId, runId, agentId, toolCallId, toolName, actionDigest, batch, round, allowedDecisions, expiresAt },
    requestedBy: 'agent',
    owner: null,
    onBehalfOf: null,
    chain: [],
    labels: request.labels ?? {},
    hiddenValues: [],
    state: 'pending',
    arguments: view.arguments,
    proposal: {
      ...{ number: 1, digest: jcsDigest([callId, round]), kind: 'run', output: null },
      ...{ proposedBy: 'agent', proposedAt: now, replaces: null },
    },
    ...{ shownDigest: jcsDigest([callId, round]), shownRevision: 1, instructions: [], endedProposals: [] },
    mayDecide: { now: false, why: 'forbidden', detail: 'You do not have the role approver.' },
    description: question.description ?? request.description ?? null,
    ...presentedView(request),
    reason: question.reason ?? request.reason ?? null,
    requestedAt: now,
    risk: null,
    requirement: { ...requirement, allowedDecisions, expiresInMs },
    responses: [],
    progress: [{ approvedBy: [], deniedBy: [], missing: 1, missingOf: null }],
    upcoming: expiresAt === null ? [] : [{ kind: 'expiry', at: expiresAt, to: [] }],
    callState: 'awaiting_approval',
    resolution: null,
    resolvedAt: null,
  };
  Object.assign(view, { state: 'awaiting_approval', verdict: required, error: null, settledAt: null });
}
