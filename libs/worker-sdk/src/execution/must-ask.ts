import type { JsonValue, RequestApprovalBody, ToolCallView } from '@countersign/contracts';
import type { Given } from '../results/outcome.js';
import type { ApprovalContext, GateTool } from '../tools/tool-definition.js';

/** A call that nothing was asked about, and who it is to run for. */
export interface UnaskedCall {
  readonly call: ToolCallView;
  readonly tool: GateTool | undefined;
  /** Null: no step of a worker with this tool requested the call. */
  readonly argumentsHash: string | null;
  readonly given?: Given | undefined;
}

/**
 * Returns the question for people when the tool of this worker needs an approval that the call does not have.
 *
 * Attack: a process with the agent's token alone requests the call without `needsApproval`. The policy allows it, and a
 * worker that finds it in the ledger would run it. A standing grant is an approval by a person.
 */
export async function questionBefore({
  call,
  tool,
  argumentsHash,
  given,
}: UnaskedCall): Promise<RequestApprovalBody | undefined> {
  const isUnasked = call.state === 'allowed' && call.verdict.grantId === undefined;
  if (tool === undefined || argumentsHash !== null || !isUnasked) return undefined;
  const checked = await tool.check(call.arguments);
  // Invalid arguments never run: the call fails after its claim.
  if (!checked.valid) return undefined;
  const context = contextOf(call, given);
  const { needsApproval, reason } = await checked.judge(context);
  if (!needsApproval) return undefined;
  return {
    description: await checked.describe(context),
    ...(reason === undefined ? {} : { reason }),
    ...(tool.expiresInMs === undefined ? {} : { expiresInMs: tool.expiresInMs }),
    ...(tool.allowedDecisions === undefined ? {} : { allowedDecisions: [...tool.allowedDecisions] }),
  };
}

/** The conversation and the other calls of the step stayed in the process that requested the call. */
function contextOf(call: ToolCallView, given: Given | undefined): ApprovalContext {
  const { runId, agentId, toolCallId, toolName } = call;
  const args: JsonValue = structuredClone(call.arguments);
  const batch = [{ toolCallId, toolName, arguments: args }];
  return { runId, agentId, toolCallId, messages: given?.messages ?? [], batch, context: given?.context };
}
