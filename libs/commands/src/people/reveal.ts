import { hiddenByName, hiddenValues, parseApprovalId, toolCallStream } from '@countersign/contracts';
import type { HiddenValue, RevealedView } from '@countersign/contracts';
import { currentProposal, toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import type { Result } from '../result.js';
import { forbidden } from '../stream/forbidden.js';
import { applyRule, callOf, withToolCall } from '../stream/with-tool-call.js';
import { askedAction, asUnknownApproval, findApproval, unknownApproval } from './respond.js';
import { noApproverNow, responderOf } from './responder.js';

/**
 * Reveals the hidden values of an approval to an actor who may respond to it, after recording who looked. The same command shows the
 * same proposal again without a second record, as long as the rules allow it. A later proposal is another look.
 */
export async function reveal(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  commandId: string,
): Promise<Result<RevealedView>> {
  const target = parseApprovalId(approvalId);
  if (target === undefined) return unknownApproval(approvalId);
  const { callId } = target;
  const toLook = (call: ToolCall, at: number) => {
    const refusal = forbidden(ports, call.request, 'judge') ?? noApproverNow(ports, actor);
    if (refusal !== undefined) return refusal;
    const action = askedAction(call, approvalId);
    const pointers = pointersOf(hiddenValues(action.arguments, action.sensitive));
    const { output } = revealedOf(call, approvalId);
    const outputPointers = output === undefined ? [] : pointersOf(hiddenByName(output));
    const responder = responderOf(ports, actor, at);
    return { type: 'RevealValues', at, approvalId, pointers, outputPointers, responder } as const;
  };
  const { state, commandIds, position } = await ports.handler.load(toolCallStream(callId));
  const call = callOf(state, actor.tenant);
  const number = call === undefined ? 0 : proposalNumberOf(call, approvalId);
  const lookId = `${commandId}:${String(number)}`;
  if (call !== undefined && commandIds.includes(lookId)) {
    const look = toLook(call, ports.clock.now());
    const judged = 'refusal' in look ? look : applyRule(ports, toolCallRules.revealValues, look, call);
    if (judged.status === 'refused') return judged;
    return { status: 'done', value: revealedOf(call, approvalId), position };
  }
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId: lookId, by: actor },
    toolCallRules.revealValues,
    toLook,
  );
  if (outcome.status === 'refused') return asUnknownApproval(outcome, approvalId);
  return { ...outcome, value: revealedOf(outcome.value, approvalId) };
}

/** What a person agrees to with the current proposal, in clear: the arguments, and an answer in place of the run. */
function revealedOf(call: ToolCall, approvalId: string): RevealedView {
  const { arguments: args } = askedAction(call, approvalId);
  const approval = findApproval(call, approvalId);
  const proposal = approval && currentProposal(approval);
  return proposal?.kind === 'answer' ? { arguments: args, output: proposal.output } : { arguments: args };
}

function pointersOf(hidden: readonly HiddenValue[]): readonly string[] {
  return hidden.map(({ pointer }) => pointer);
}

function proposalNumberOf(call: ToolCall, approvalId: string): number {
  const approval = findApproval(call, approvalId);
  return approval === undefined ? 0 : currentProposal(approval).number;
}
