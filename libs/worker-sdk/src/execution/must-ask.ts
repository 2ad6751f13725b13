import type { JsonValue, RequestApprovalBody, ToolCallView } from '@countersign/contracts';
import { unlessAborted } from '../ledger/reject-on-abort.js';
import type { Given } from '../results/outcome.js';
import type { ApprovalContext, ApprovalNeed, CheckedCall, GateTool } from '../tools/tool-definition.js';

/** A call that nothing was asked about, and who it is to run for. */
export interface UnaskedCall {
  readonly call: ToolCallView;
  readonly tool: GateTool | undefined;
  /** Null: no step of a worker with this tool requested the call. */
  readonly argumentsHash: string | null;
  readonly given?: Given | undefined;
}

/** Why a call may not run here: people must be asked first, or the code of its tool denies it. */
export type Restraint = { readonly ask: RequestApprovalBody } | { readonly deny: string };

/**
 * Returns what the tool of this worker demands before a call runs that no step of a worker with this tool judged: the call was
 * requested elsewhere, or an approver edited it.
 *
 * Attack: a process with the agent's token alone requests the call without `needsApproval`. The policy allows it, and a
 * worker that finds it in the ledger would run it. A standing grant is an approval by a person.
 *
 * Rejects once the signal aborts: the code of a tool may never end.
 */
export function restraintOn(unasked: UnaskedCall, signal: AbortSignal): Promise<Restraint | undefined> {
  return unlessAborted(signal, restraintBy(unasked));
}

async function restraintBy(unasked: UnaskedCall): Promise<Restraint | undefined> {
  const { call, tool, argumentsHash, given } = unasked;
  if (tool === undefined || isJudged(unasked)) return undefined;
  const checked = await tool.check(call.arguments, true);
  // Invalid arguments never run: the call fails after its claim.
  if (!checked.valid) return undefined;
  const context = contextOf(call, given);
  const isUnasked = argumentsHash === null && call.state === 'allowed' && call.verdict.grantId === undefined;
  if (!isUnasked) {
    const denied = await checked.denial(context);
    return denied === undefined ? undefined : { deny: denied };
  }
  const need = await checked.judge(context);
  if (need.deny !== undefined) return { deny: need.deny };
  return need.needsApproval ? { ask: await questionOf(tool, checked, context, need) } : undefined;
}

/** Returns whether a step of a worker with this tool judged the arguments that are to run. */
function isJudged({ call, argumentsHash }: Pick<UnaskedCall, 'call' | 'argumentsHash'>): boolean {
  return argumentsHash !== null && call.originalArguments === undefined;
}

/**
 * Returns the reason for which the code of the tool denies claimed arguments that it did not judge before. A call of a batch that has
 * begun cannot be cancelled, and the ledger may have masked the arguments until the claim.
 */
export async function denialOfClaimed(unasked: UnaskedCall, checked: CheckedCall): Promise<string | undefined> {
  return isJudged(unasked) ? undefined : checked.denial(contextOf(unasked.call, unasked.given));
}

async function questionOf(
  tool: GateTool,
  checked: CheckedCall,
  context: ApprovalContext,
  { reason }: ApprovalNeed,
): Promise<RequestApprovalBody> {
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
