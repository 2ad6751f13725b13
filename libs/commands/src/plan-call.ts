import { actionDigest, jcsDigest, limits } from '@countersign/contracts';
import type { RequestToolCalls, RequestedCall } from '@countersign/contracts';
import { compareRepeat, recordedSalt } from '@countersign/domain';
import type { Repeat, ToolCall, ToolCallProposal, ToolCallState } from '@countersign/domain';
import type { PolicyCall } from '@countersign/policy';
import type { Actor } from './actor.js';
import type { CheckedCall } from './check-calls.js';
import type { Chains } from './nesting.js';
import type { CommandPorts, ServiceTool } from './ports.js';

/** One call of a request: what to record, and what the policy judges. */
export interface Plan {
  readonly callId: string;
  /** The state before anything was recorded. */
  readonly state: ToolCallState;
  readonly proposal: ToolCallProposal;
  /** Null for a tool that the service does not execute; else whether the agent itself asked for an approval. */
  readonly serviceTool: { readonly asksForApproval: boolean } | null;
  readonly policyCall: PolicyCall;
}

/** The checked calls of one request, in its order. */
export interface Step {
  readonly body: RequestToolCalls;
  readonly agentId: string;
  readonly callIds: readonly string[];
  readonly checked: readonly CheckedCall[];
  readonly chains: Chains;
}

/** Plans one call of a request, given the current states of all its calls. */
export function planCall(
  ports: CommandPorts,
  actor: Actor,
  step: Step,
  index: number,
  call: RequestedCall,
  states: readonly ToolCallState[],
): Plan {
  const { body, agentId, callIds } = step;
  const tool = ports.tools.find(actor.tenant, call.toolName);
  const facts = factsOf(call, tool);
  const toolSchemaHash = facts.toolSchema === null ? null : jcsDigest(facts.toolSchema);
  const state = states[index] ?? { status: 'unrequested' };
  const salt = recordedSalt(state) ?? Buffer.from(ports.ids.randomBytes(16)).toString('hex');
  const { toolCallId, toolName } = call;
  const identity = { tenant: actor.tenant, runId: body.runId, agentId, toolCallId, toolName };
  const proposal: ToolCallProposal = {
    callId: callIds[index] ?? '',
    ...identity,
    ...batchOf(step),
    ...facts,
    arguments: call.arguments,
    toolSchemaHash,
    salt,
    actionDigest: actionDigest({ ...identity, toolSchemaHash, salt }, call.arguments),
    sensitive: [...(step.checked[index]?.sensitive ?? [])],
    requestedBy: actor.principal,
    ...hintsOf(call),
    ...lineageOf(actor, step, index),
  };
  const policyCall: PolicyCall = {
    agentId,
    runId: body.runId,
    toolName,
    arguments: call.arguments,
    labels: facts.labels,
    description: facts.description,
    needsApproval: facts.needsApproval,
    expiresInMs: call.expiresInMs ?? null,
    allowedDecisions: call.allowedDecisions ?? null,
    ...hintsOf(call),
  };
  const serviceTool = tool === undefined ? null : { asksForApproval: call.needsApproval === true };
  return { callId: proposal.callId, state, proposal, serviceTool, policyCall };
}

function hintsOf({ hints }: RequestedCall): Pick<ToolCallProposal, 'hints'> {
  return hints === undefined ? {} : { hints };
}

/** The people behind the request, and the calls around it. */
function lineageOf(
  { owner }: Actor,
  { body: { onBehalfOf }, chains }: Step,
  index: number,
): Pick<ToolCallProposal, 'owner' | 'onBehalfOf' | 'chain'> {
  const chain = chains[index] ?? [];
  return {
    ...(owner !== undefined && { owner }),
    ...(onBehalfOf !== undefined && { onBehalfOf }),
    ...(chain.length > 0 && { chain: [...chain] }),
  };
}

function batchOf({ body, callIds }: Step): Pick<ToolCallProposal, 'batchId' | 'batchMode' | 'batchCallIds'> {
  return {
    batchId: body.batchId ?? null,
    batchMode: body.batchMode ?? 'independent',
    batchCallIds: callIds.length > 1 && callIds.length <= limits.batchMembersMax ? [...callIds] : [],
  };
}

/**
 * The facts of a call besides its identity. For the service's own tools they come from the operator's file, not from
 * the agent.
 */
function factsOf(call: RequestedCall, tool: ServiceTool | undefined) {
  const { reason = null, description = null, clientExecuted = false, labels = {} } = call;
  const { needsApproval = false, toolSchema = null, idempotent = false } = call;
  const presented = { reason, description, clientExecuted, labels };
  return { ...presented, ...withToolsFile({ needsApproval, toolSchema, idempotent }, tool) };
}

function withToolsFile(
  said: Pick<ToolCallProposal, 'needsApproval' | 'toolSchema' | 'idempotent'>,
  tool?: ServiceTool,
) {
  if (tool === undefined) return said;
  return {
    needsApproval: said.needsApproval || tool.needsApproval,
    toolSchema: tool.inputSchema ?? said.toolSchema,
    idempotent: tool.idempotent,
  };
}

/** Returns whether a planned call equals the recorded one, is stricter, or conflicts with it. */
export function repeatOf(plan: Plan, state: ToolCallState | undefined): Repeat | 'new' {
  return state?.status === 'recorded' ? compareRepeat(onRecorded(plan, state), state) : 'new';
}

/**
 * The proposal with the salt and the tool facts of the recorded call, which another process may have recorded
 * meanwhile, so that both can be compared.
 */
export function onRecorded({ proposal, serviceTool }: Plan, { request }: ToolCall): ToolCallProposal {
  const { salt, idempotent, needsApproval } = request;
  const digest =
    salt === proposal.salt
      ? proposal.actionDigest
      : actionDigest({ ...proposal, salt: salt ?? '' }, proposal.arguments);
  const repeated = { ...proposal, salt, actionDigest: digest };
  if (serviceTool === null) return repeated;
  return { ...repeated, idempotent, needsApproval: serviceTool.asksForApproval || needsApproval };
}
