import type { RequestedCall, ToolCallView } from '@countersign/contracts';
import { jcsDigest } from '@countersign/contracts';
import type { ApprovalContext, CheckedCall, GateTool, ProposedCall } from '../tools/tool-definition.js';
import { checkedCallLabels } from '../tools/call-labels.js';
import type { Labels } from '../tools/call-labels.js';
import { requestedArguments } from '../ledger/read-run.js';
import { isSameJson, issuesText } from '../tools/schema.js';
import type { CallState, LocalFailure, Step } from '../state.js';

/** A step after the worker's own checks: the calls to request, and those that failed without a request. */
export interface StepPlan {
  readonly requests: readonly RequestedCall[];
  /** One per call, in the order of the calls; the callIds are filled in later. */
  readonly calls: readonly CallState[];
}

type Planned = { readonly request: RequestedCall } | { readonly call: ProposedCall; readonly failure: LocalFailure };

/** The recorded calls of the run. The tool of a call may have had another schema when it was requested. */
export interface RecordedCalls {
  /** Returns the recorded call that this one is. */
  readonly find: (call: ProposedCall) => Promise<ToolCallView | undefined>;
  /** The calls to look for: those whose arguments are invalid now, or all. */
  readonly about: 'invalid' | 'all';
}

/** The members of a plan that its calls share. */
export interface PlanContext {
  readonly agentId: string;
  readonly given?: unknown;
  readonly recorded?: RecordedCalls | undefined;
}

/**
 * Validates first, then runs the predicates. A call that is found in the ledger is requested as it is recorded. In an
 * all-or-nothing batch one invalid call fails all.
 */
export async function planStep(
  step: Step,
  tools: ReadonlyMap<string, GateTool>,
  around: PlanContext,
): Promise<StepPlan> {
  // A mistake of the caller, and none of the model: nothing is requested.
  if (step.labels !== undefined) checkedCallLabels(step.labels);
  const planned = await Promise.all(step.toolCalls.map((call) => planCall(call, step, tools, around)));
  const spoilt = step.batchMode === 'all-or-nothing' && planned.some((one) => 'failure' in one);
  const outcomes = planned.map((one, index): Planned => {
    const call = step.toolCalls[index];
    if (!spoilt || call === undefined || 'failure' in one) return one;
    const message = 'It was not asked for, because another call of the same all-or-nothing step is invalid';
    return { call, failure: { code: 'batch-incomplete', message } };
  });
  const requests = outcomes.flatMap((one) => ('request' in one ? [one.request] : []));
  return {
    requests: step.batchMode === 'all-or-nothing' ? deniedTogether(requests) : requests,
    calls: outcomes.map(callStateOf),
  };
}

/** No person is asked about an all-or-nothing batch of which the code denies a call: it never runs. */
function deniedTogether(requests: readonly RequestedCall[]): readonly RequestedCall[] {
  if (requests.every(({ deny }) => deny === undefined)) return requests;
  const deny = 'Another call of the same all-or-nothing step was denied in code';
  return requests.map((request) => ({ deny, ...request }));
}

async function planCall(
  call: ProposedCall,
  step: Step,
  tools: ReadonlyMap<string, GateTool>,
  { agentId, given, recorded }: PlanContext,
): Promise<Planned> {
  const tool = tools.get(call.toolName);
  if (tool === undefined) {
    return { call, failure: { code: 'unknown-tool', message: `There is no tool ${call.toolName}` } };
  }
  const checked = await tool.check(call.arguments);
  const context: ApprovalContext = {
    runId: step.runId,
    agentId,
    toolCallId: call.toolCallId,
    messages: step.messages ?? [],
    batch: step.toolCalls,
    context: given,
  };
  const isLookedFor = !checked.valid || recorded?.about === 'all';
  const view = isLookedFor ? await recorded?.find(call) : undefined;
  // A recorded call keeps its labels.
  if (view !== undefined) {
    return { request: { ...(await repeatOf(view, tool, context)), ...sharedBy(step, tool.labels) } };
  }
  if (!checked.valid) {
    const message = `Invalid arguments: ${issuesText(checked.issues)}`;
    return { call, failure: { code: 'invalid-arguments', message } };
  }
  const labelled = await labelsFor(checked, context);
  if ('failure' in labelled) return { call, ...labelled };
  const shared = sharedBy(step, labelled.labels, tool.labels);
  return { request: { ...(await requestOf(call, tool, checked, context)), ...shared } };
}

/** The labels that a tool gives to this call. Without them a laxer rule might judge it, or another chat be asked. */
async function labelsFor(
  checked: CheckedCall,
  context: ApprovalContext,
): Promise<{ readonly labels: Labels } | { readonly failure: LocalFailure }> {
  try {
    return { labels: await checked.label(context) };
  } catch (error) {
    const message = `Its labels could not be made: ${error instanceof Error ? error.message : String(error)}`;
    return { failure: { code: 'invalid-labels', message } };
  }
}

/** The request of a recorded call once more. */
async function repeatOf(view: ToolCallView, tool: GateTool, context: ApprovalContext): Promise<RequestedCall> {
  const { toolCallId, toolName, approval } = view;
  const args = requestedArguments(view);
  const checked = await tool.check(args);
  if (checked.valid && isSameJson(checked.arguments, args)) return requestOf(view, tool, checked, context);
  // It never runs: its claim refuses the schema. The server would refuse the arguments by the schema that the tool has now.
  const { clientExecuted, idempotent } = tool;
  return {
    ...{ toolCallId, toolName, arguments: args, needsApproval: approval !== null, clientExecuted, idempotent },
  };
}

async function requestOf(
  call: ProposedCall,
  tool: GateTool,
  checked: CheckedCall,
  context: ApprovalContext,
): Promise<RequestedCall> {
  const { needsApproval, reason, deny } = await checked.judge(context);
  const description = await checked.describe(context);
  return {
    toolCallId: call.toolCallId,
    toolName: call.toolName,
    arguments: checked.arguments,
    needsApproval,
    ...(deny === undefined ? {} : { deny }),
    ...(reason === undefined ? {} : { reason }),
    description,
    ...checked.present(context),
    toolSchema: tool.toolSchema,
    clientExecuted: tool.clientExecuted,
    idempotent: tool.idempotent,
    ...(tool.expiresInMs === undefined ? {} : { expiresInMs: tool.expiresInMs }),
    ...(tool.allowedDecisions === undefined ? {} : { allowedDecisions: [...tool.allowedDecisions] }),
    ...(tool.hints === undefined ? {} : { hints: tool.hints }),
  };
}

/** The labels say to what the arguments are relative, so they are part of every request. The last one of a name counts. */
function sharedBy(
  { parentCallId, labels }: Step,
  ...more: readonly (Labels | undefined)[]
): Pick<RequestedCall, 'labels' | 'parentCallId'> {
  const all = Object.fromEntries([labels, ...more].flatMap((one) => Object.entries(one ?? {})));
  return {
    ...(parentCallId === undefined ? {} : { parentCallId }),
    ...(Object.keys(all).length === 0 ? {} : { labels: all }),
  };
}

function callStateOf(planned: Planned): CallState {
  if ('failure' in planned) {
    const { toolCallId, toolName } = planned.call;
    return { toolCallId, toolName, callId: null, argumentsHash: null, local: planned.failure, seenRevision: null };
  }
  const { toolCallId, toolName, arguments: args } = planned.request;
  return { toolCallId, toolName, callId: null, argumentsHash: jcsDigest(args), local: null, seenRevision: null };
}
