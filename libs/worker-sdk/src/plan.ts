import type { RequestedCall } from '@countersign/contracts';
import { jcsDigest } from '@countersign/contracts';
import type { ApprovalContext, CheckedCall, GateTool, ProposedCall } from './tool-definition.js';
import { localFailure, type ToolResult } from './results.js';
import type { CallState, Step } from './state.js';

/** A step after the worker's own checks: the calls to request, and those that failed without a request. */
export interface StepPlan {
  readonly requests: readonly RequestedCall[];
  /** One per call, in the order of the calls; the callIds are filled in later. */
  readonly calls: readonly CallState[];
}

type Planned = { readonly request: RequestedCall } | { readonly failure: ToolResult };

/** Validates first, then runs the predicates. In an all-or-nothing batch one invalid call fails all. */
export async function planStep(
  step: Step,
  tools: ReadonlyMap<string, GateTool>,
  agentId: string,
  given?: unknown,
): Promise<StepPlan> {
  const planned = await Promise.all(step.toolCalls.map((call) => planCall(call, step, tools, agentId, given)));
  const spoilt = step.batchMode === 'all-or-nothing' && planned.some((one) => 'failure' in one);
  const outcomes = planned.map((one, index): Planned => {
    const call = step.toolCalls[index];
    if (!spoilt || call === undefined || 'failure' in one) return one;
    const message = 'It was not asked for, because another call of the same all-or-nothing step is invalid';
    return { failure: localFailure(call, 'batch-incomplete', message) };
  });
  return {
    requests: outcomes.flatMap((one) => ('request' in one ? [one.request] : [])),
    calls: outcomes.map(callStateOf),
  };
}

async function planCall(
  call: ProposedCall,
  step: Step,
  tools: ReadonlyMap<string, GateTool>,
  agentId: string,
  given: unknown,
): Promise<Planned> {
  const tool = tools.get(call.toolName);
  if (tool === undefined) return { failure: localFailure(call, 'unknown-tool', `There is no tool ${call.toolName}`) };
  const checked = await tool.check(call.arguments);
  if (!checked.valid) {
    const what = checked.issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ');
    const issues = checked.issues.map((issue) => ({ ...issue }));
    return { failure: localFailure(call, 'invalid-arguments', `Invalid arguments: ${what}`, { issues }) };
  }
  const context: ApprovalContext = {
    runId: step.runId,
    agentId,
    toolCallId: call.toolCallId,
    messages: step.messages ?? [],
    batch: step.toolCalls,
    context: given,
  };
  const { parentCallId } = step;
  const request = await requestOf(call, tool, checked, context);
  return { request: parentCallId === undefined ? request : { ...request, parentCallId } };
}

async function requestOf(
  call: ProposedCall,
  tool: GateTool,
  checked: CheckedCall,
  context: ApprovalContext,
): Promise<RequestedCall> {
  const { needsApproval, reason } = await checked.judge(context);
  const description = checked.describe(context);
  return {
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    arguments: checked.arguments,
    needsApproval,
    ...(reason === undefined ? {} : { reason }),
    ...(description === undefined ? {} : { description }),
    toolSchema: tool.toolSchema,
    clientExecuted: tool.clientExecuted,
    idempotent: tool.idempotent,
    ...(tool.expiresInMs === undefined ? {} : { expiresInMs: tool.expiresInMs }),
    ...(tool.allowedDecisions === undefined ? {} : { allowedDecisions: [...tool.allowedDecisions] }),
    ...(tool.labels === undefined ? {} : { labels: { ...tool.labels } }),
    ...(tool.hints === undefined ? {} : { hints: tool.hints }),
  };
}

function callStateOf(planned: Planned): CallState {
  if ('failure' in planned) {
    const { failure } = planned;
    const { toolCallId, toolName } = failure;
    return {
      toolCallId,
      toolName,
      callId: null,
      argumentsHash: null,
      local: { ...failure, decidedBy: [] },
      seenRevision: null,
    };
  }
  const { toolCallId, toolName, arguments: args } = planned.request;
  return { toolCallId, toolName, callId: null, argumentsHash: jcsDigest(args), local: null, seenRevision: null };
}
