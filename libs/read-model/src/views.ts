import { hiddenValues, maskAt, maskByName } from '@countersign/contracts';
import type {
  ApprovalView,
  JsonObject,
  JsonValue,
  ResponseView,
  RunView,
  ToolCallView,
  Verdict,
} from '@countersign/contracts';
import { actionAt, currentApproval } from './call-row.js';
import type { Action, ApprovalRow, CallRequest, CallRow, ResponseRow } from './call-row.js';
import type { ApprovalOfCall } from './read-model.js';

/** `masked`: without the values of sensitive fields; `whole` is for the requesting agent, the claim and auditors alone. */
export type Visibility = 'whole' | 'masked';

function argumentsOf(action: Action, visibility: Visibility): JsonObject {
  return visibility === 'whole' ? action.arguments : maskAt(action.arguments, action.sensitive, action.salt);
}

/** Of outputs and errors no schema says what is sensitive: the names of their members do. */
function resultOf(value: JsonValue, visibility: Visibility): JsonValue {
  return visibility === 'whole' ? value : maskByName(value);
}

function decisionView({ decision, actionDigest }: ResponseRow, visibility: Visibility): ResponseView['decision'] {
  switch (decision.type) {
    case 'edit':
      return { type: 'edit', arguments: argumentsOf({ ...decision, actionDigest }, visibility) };
    case 'answer':
      return { type: 'answer', output: resultOf(decision.output, visibility) };
    case 'approve':
    case 'deny':
      return { type: decision.type };
  }
}

function responseViews(responses: readonly ResponseRow[], visibility: Visibility): ResponseView[] {
  return responses
    .filter(({ status }) => status !== 'withdrawn')
    .map((response) => ({
      respondedBy: response.respondedBy,
      decision: decisionView(response, visibility),
      reason: response.reason,
      respondedAt: response.respondedAt,
      via: response.via,
    }));
}

function batchOf({ batchId, batchMode: mode, batchCallIds }: CallRequest): ApprovalView['batch'] {
  return batchCallIds.length === 0 ? null : { batchId, mode, callIds: [...batchCallIds] };
}

/** An approval as answered over HTTP: its arguments and digest are what people are asked to agree to now. */
export function toApprovalView({ call, approval }: ApprovalOfCall, visibility: Visibility): ApprovalView {
  const { request } = call;
  const action = actionAt(call, approval.action);
  return {
    approvalId: approval.approvalId,
    callId: request.callId,
    runId: request.runId,
    agentId: request.agentId,
    toolCallId: request.toolCallId,
    requestedBy: approval.requestedBy,
    labels: request.labels,
    hiddenValues: visibility === 'whole' ? [] : [...hiddenValues(action.arguments, action.sensitive)],
    batch: batchOf(request),
    round: approval.round,
    state: approval.resolution?.state ?? 'pending',
    toolName: request.toolName,
    arguments: argumentsOf(action, visibility),
    actionDigest: action.actionDigest,
    description: approval.description,
    reason: approval.reason,
    requestedAt: approval.requestedAt,
    expiresAt: approval.expiresAt,
    risk: approval.requirement.risk,
    requirement: approval.requirement,
    allowedDecisions: approval.requirement.allowedDecisions,
    responses: responseViews(approval.responses, visibility),
    resolution: approval.resolution?.state ?? null,
    resolvedAt: approval.resolution?.at ?? null,
  };
}

/** Only a reader between two pages of the log can meet a call without a verdict: for them it fails closed. */
const unjudged: Verdict = {
  outcome: 'require',
  ruleId: 'none',
  policyVersion: 'none',
  automatic: true,
  why: ['not judged yet'],
};

/** Every call has a result that its model can be given, so whatever did not run says why. */
function errorOf({ state, error, why }: CallRow, visibility: Visibility): JsonValue {
  switch (state) {
    case 'failed':
      return resultOf(error, visibility);
    case 'blocked':
    case 'denied':
    case 'expired':
    case 'cancelled':
    case 'unknown':
      return { code: state, message: why ?? '' };
    case 'allowed':
    case 'awaiting_approval':
    case 'approved':
    case 'executing':
    case 'succeeded':
      return null;
  }
}

/** A tool call as answered over HTTP. */
export function toToolCallView(call: CallRow, visibility: Visibility): ToolCallView {
  const { request } = call;
  const action = actionAt(call, call.action);
  const approval = currentApproval(call);
  return {
    callId: request.callId,
    runId: request.runId,
    agentId: request.agentId,
    batchId: request.batchId,
    toolCallId: request.toolCallId,
    toolName: request.toolName,
    arguments: argumentsOf(action, visibility),
    ...(call.action === null ? {} : { originalArguments: argumentsOf(request, visibility) }),
    actionDigest: action.actionDigest,
    state: call.state,
    verdict: call.verdict ?? unjudged,
    approval: approval === undefined ? null : toApprovalView({ call, approval }, visibility),
    output: resultOf(call.output, visibility),
    error: errorOf(call, visibility),
    instruction: call.instruction,
    requestedAt: request.requestedAt,
    settledAt: call.settledAt,
    revision: call.revision,
  };
}

function pendingOf(call: CallRow): readonly ApprovalRow[] {
  return call.approvals.filter(({ resolution }) => resolution === null);
}

/** A run as answered over HTTP. Each call may be shown differently: its requester sees it whole. */
export function toRunView(
  runId: string,
  calls: readonly CallRow[],
  visibilityOf: (call: CallRow) => Visibility,
): RunView {
  const pendingApprovals = calls.flatMap((call) =>
    pendingOf(call).map((approval) => toApprovalView({ call, approval }, visibilityOf(call))),
  );
  const hasPendingApprovals = pendingApprovals.length > 0;
  return {
    runId,
    stopReason: hasPendingApprovals ? 'awaiting_approval' : null,
    hasPendingApprovals,
    pendingApprovals,
    calls: calls.map((call) => toToolCallView(call, visibilityOf(call))),
  };
}
