import {
  actionDigest,
  approvalIdOf,
  deriveCallId,
  jcsDigest,
  type ApprovalView,
  type DigestInput,
  type JsonObject,
  type JsonValue,
  type RequestedCall,
  type ResponseView,
  type ToolCallState,
  type ToolCallView,
} from '@countersign/contracts';

/** A call as the fake keeps it. */
export interface FakeCall {
  readonly view: Mutable<ToolCallView>;
  readonly digestInput: DigestInput;
  readonly request: RequestedCall;
  readonly batchMode: string;
  readonly requestedDigest: string;
  attempt: number;
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

const at = '2030-01-01T00:00:00.000Z';

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

/** A call as the real server records it without a policy: one that the worker flags needs one approver. */
export function newFakeCall(
  run: {
    readonly runId: string;
    readonly agentId: string;
    readonly batchId: string | null;
    readonly batchMode: string;
  },
  request: RequestedCall,
): FakeCall {
  const { runId, agentId, batchId, batchMode } = run;
  const { toolCallId, toolName } = request;
  const callId = deriveCallId('default', runId, toolCallId);
  const toolSchemaHash = request.toolSchema === undefined ? null : jcsDigest(request.toolSchema);
  const digestInput = {
    tenant: 'default',
    agentId,
    runId,
    toolCallId,
    toolName,
    toolSchemaHash,
    salt: '00'.repeat(16),
  };
  const asks = request.needsApproval === true;
  const view: FakeCall['view'] = {
    callId,
    runId,
    agentId,
    batchId,
    toolCallId,
    toolName,
    ...(request.clientExecuted === true && { clientExecuted: true }),
    arguments: request.arguments,
    actionDigest: actionDigest(digestInput, request.arguments),
    state: asks ? 'awaiting_approval' : 'allowed',
    verdict: {
      outcome: asks ? 'require' : 'allow',
      ruleId: 'built-in',
      policyVersion: jcsDigest(null),
      automatic: true,
      why: [],
    },
    approval: null,
    output: null,
    error: null,
    instruction: null,
    requestedAt: at,
    settledAt: null,
    revision: 1,
  };
  const call = { view, digestInput, request, batchMode, requestedDigest: view.actionDigest, attempt: 0 };
  if (asks) view.approval = newApproval(call, 1);
  return call;
}

/** Asks (again). */
export function newApproval({ view, request }: FakeCall, round: number): ApprovalView {
  return {
    approvalId: approvalIdOf(view.callId, round),
    callId: view.callId,
    runId: view.runId,
    agentId: view.agentId,
    toolCallId: view.toolCallId,
    requestedBy: view.agentId,
    owner: null,
    onBehalfOf: null,
    chain: [],
    labels: request.labels ?? {},
    hiddenValues: [],
    batch: null,
    round,
    state: 'pending',
    toolName: view.toolName,
    arguments: view.arguments,
    actionDigest: view.actionDigest,
    description: request.description ?? null,
    reason: request.reason ?? null,
    requestedAt: at,
    expiresAt: null,
    risk: null,
    requirement,
    allowedDecisions: request.allowedDecisions ?? requirement.allowedDecisions,
    responses: [],
    progress: [],
    upcoming: [],
    callState: 'awaiting_approval',
    resolution: null,
    resolvedAt: null,
  };
}

/** Ends the pending approval of a call. */
export function resolveApproval(
  { view }: FakeCall,
  resolution: 'approved' | 'denied' | 'expired' | 'cancelled',
  response?: { readonly decision: ResponseView['decision']; readonly reason: string | null },
): void {
  const { approval } = view;
  if (approval?.state !== 'pending') throw new Error(`no approval of ${view.toolCallId} is pending`);
  const given = { respondedBy: 'me', onBehalfOf: null, respondedAt: at, via: 'api', counted: true };
  const responses = response === undefined ? [] : [{ ...response, ...given }];
  view.approval = { ...approval, state: resolution, resolution, resolvedAt: at, responses };
}

/** Replaces the arguments, as an approver does. */
export function editArguments({ view, digestInput }: FakeCall, args: JsonObject): void {
  view.originalArguments = view.arguments;
  view.arguments = args;
  view.actionDigest = actionDigest(digestInput, args);
}

/** Gives a call its next state. */
export function moveTo(
  { view }: FakeCall,
  state: ToolCallState,
  more: { readonly output?: JsonValue; readonly error?: JsonValue; readonly instruction?: string | null } = {},
): void {
  Object.assign(view, { state, ...more, revision: view.revision + 1 });
}

/** Ends a call that has not begun to run. */
export function cancelCall(call: FakeCall, reason: string): void {
  if (call.view.approval?.state === 'pending') resolveApproval(call, 'cancelled');
  moveTo(call, 'cancelled', { error: { code: 'cancelled', message: reason } });
}
