import { actionDigest, jcsDigest, limits, presentedOf } from '@countersign/contracts';
import type { RequestToolCalls, RequestedCall } from '@countersign/contracts';
import { chainInside, recordedSalt } from '@countersign/domain';
import type { StepParent, ToolCall, ToolCallProposal, ToolCallState } from '@countersign/domain';
import type { PolicyCall } from '@countersign/policy';
import type { Actor } from '../actor.js';
import type { ValidArguments } from './argument-schema.js';
import type { CheckedRequest } from './check-calls.js';
import type { CommandPorts, ServiceTool } from '../ports.js';

/** One call of a request: what to record, and what the policy judges. */
export interface Plan {
  readonly callId: string;
  /** The state before anything was recorded. */
  readonly state: ToolCallState;
  /** With the salt and the facts about the tool of a recorded call. */
  readonly proposal: ToolCallProposal;
  /** Null for a tool that the service does not execute; else whether the agent itself asked for an approval. */
  readonly serviceTool: { readonly asksForApproval: boolean } | null;
  readonly policyCall: PolicyCall;
}

/** Plans one call of a request, given its state and the call inside which it runs. */
export function planCall(
  ports: CommandPorts,
  actor: Actor,
  step: CheckedRequest,
  index: number,
  parent: StepParent | null,
  state: ToolCallState,
): Plan {
  const { body, agentId, callIds } = step;
  const call = body.calls[index];
  if (call === undefined) throw new Error('a request must have each call that is planned');
  const tool = ports.tools.find(actor.tenant, call.toolName);
  const check = step.checked[index]?.check;
  const facts = { ...factsOf(call, tool), ...askedAfterRestore(ports, state) };
  const toolSchemaHash = facts.toolSchema === null ? null : jcsDigest(facts.toolSchema);
  const salt = recordedSalt(state) ?? Buffer.from(ports.ids.randomBytes(16)).toString('hex');
  const { toolCallId, toolName } = call;
  const identity = { tenant: actor.tenant, runId: body.runId, agentId, toolCallId, toolName };
  const proposal: ToolCallProposal = {
    callId: callIds[index] ?? '',
    ...identity,
    ...batchOf(step),
    ...facts,
    ...checkedParts(check?.status === 'valid' ? check : null),
    arguments: call.arguments,
    toolSchemaHash,
    salt,
    actionDigest: actionDigest({ ...identity, toolSchemaHash, salt }, call.arguments),
    requestedBy: actor.principal,
    ...hintsOf(call),
    ...lineageOf(actor, body, parent),
  };
  const policyCall = policyCallOf(proposal, call);
  const serviceTool = tool === undefined ? null : { asksForApproval: call.needsApproval === true };
  const plan = { callId: proposal.callId, state, proposal, serviceTool, policyCall };
  return state.status === 'recorded' ? { ...plan, proposal: onRecorded(plan, state) } : plan;
}

/** It may repeat a call that ran after the backup: then the log that would recognise it is lost. */
function askedAfterRestore(
  ports: CommandPorts,
  state: ToolCallState,
): Pick<ToolCallProposal, 'needsApproval'> | object {
  return state.status === 'unrequested' && ports.isRestored?.() === true ? { needsApproval: true } : {};
}

/** What the check of the arguments found. Part of the facts of the tool is the schema, which may be too large to record. */
function checkedParts(
  valid: ValidArguments | null,
): Pick<ToolCallProposal, 'sensitive' | 'schemaNotes'> & Partial<Pick<ToolCallProposal, 'toolSchema'>> {
  const { sensitive = [], notes = [], standIn = null } = valid ?? {};
  return {
    sensitive: [...sensitive],
    ...(notes.length > 0 && { schemaNotes: [...notes] }),
    ...(standIn !== null && { toolSchema: standIn }),
  };
}

/** The call as the policy judges it, with the stricter terms that the agent itself asks for. */
function policyCallOf(
  { agentId, runId, toolName, labels, description, needsApproval }: ToolCallProposal,
  call: RequestedCall,
): PolicyCall {
  return {
    ...{ agentId, runId, toolName, arguments: call.arguments, labels, description, needsApproval },
    expiresInMs: call.expiresInMs ?? null,
    allowedDecisions: call.allowedDecisions ?? null,
    ...(call.deny !== undefined && { deny: call.deny }),
    ...hintsOf(call),
  };
}

function hintsOf({ hints }: RequestedCall): Pick<ToolCallProposal, 'hints'> {
  return hints === undefined ? {} : { hints };
}

/** The people behind the request, and the calls around it. */
function lineageOf(
  { owner }: Actor,
  { onBehalfOf }: RequestToolCalls,
  parent: StepParent | null,
): Pick<ToolCallProposal, 'owner' | 'onBehalfOf' | 'chain'> {
  const chain = parent === null ? [] : chainInside(parent);
  return {
    ...(owner !== undefined && { owner }),
    ...(onBehalfOf !== undefined && { onBehalfOf }),
    ...(chain.length > 0 && { chain: [...chain] }),
  };
}

function batchOf({ body, callIds }: CheckedRequest): Pick<ToolCallProposal, 'batchId' | 'batchMode' | 'batchCallIds'> {
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
  const presented = { reason, description, ...presentedOf(call), clientExecuted, labels };
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

/**
 * The proposal with the salt and the tool facts of the recorded call, which another process may have recorded
 * meanwhile, so that both can be compared.
 */
export function onRecorded(
  { proposal, serviceTool }: Pick<Plan, 'proposal' | 'serviceTool'>,
  { request }: ToolCall,
): ToolCallProposal {
  const { salt, idempotent, needsApproval } = request;
  const digest =
    salt === proposal.salt
      ? proposal.actionDigest
      : actionDigest({ ...proposal, salt: salt ?? '' }, proposal.arguments);
  const repeated = { ...proposal, salt, actionDigest: digest };
  if (serviceTool === null) return repeated;
  return { ...repeated, idempotent, needsApproval: serviceTool.asksForApproval || needsApproval };
}
