import { toolCallStream } from '@countersign/contracts';
import type { ApprovalView, Refusal, ToolCallView } from '@countersign/contracts';
import { notOpen, toolCallRules } from '@countersign/domain';
import type { Approval, ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import { forbidden } from '../stream/forbidden.js';
import { unreadableRefusal } from '../stream/unreadable-stream.js';
import { noApproverNow, responderOf } from './responder.js';
import { votersOf } from './voters.js';

/**
 * Returns whether the actor may respond to an approval now, by the rules of a response; otherwise the code and the words
 * of the refusal. No person may decide a call with an event that cannot be read. A denial stands for every response, because every requirement allows it.
 */
export function mayDecide(
  ports: Pick<CommandPorts, 'policies' | 'people' | 'clock' | 'forbidding'>,
  actor: Actor,
  call: ToolCall,
  approvalId: string,
  unreadable: NonNullable<ToolCallView['unreadable']> | null = null,
): NonNullable<ApprovalView['mayDecide']> {
  const stream = toolCallStream(call.request.callId);
  if (unreadable !== null) return no(unreadableRefusal({ ...unreadable, stream, unreadable: unreadable.why }));
  if (!actor.roles.has('approver'))
    return { now: false, why: 'forbidden', detail: 'You do not have the role approver.' };
  const at = ports.clock.now();
  const approval = call.approvals.find((one) => one.approvalId === approvalId);
  const early = refusedEarly(ports, actor, { call, approval, at });
  if (early !== undefined) return no(early);
  const decision = toolCallRules.respondToApproval(
    {
      ...{ type: 'RespondToApproval', at, approvalId, decision: { type: 'deny' }, batch: 'broken' },
      ...{ proposalDigest: null, actionDigest: null, reason: 'asked', instruction: null },
      responder: responderOf(ports, actor, at),
      ...votersOf(ports, actor.tenant, approval, at),
    },
    call,
  );
  // The last check: the person may decide, with a signature.
  const isToSign = decision.status === 'refused' && decision.refusal.code === 'signature-required';
  return decision.status === 'accepted' || isToSign ? { now: true } : no(decision.refusal);
}

/** The refusals before the rule. The approval is looked at before the person: most approvals that are shown have ended. */
function refusedEarly(
  ports: Pick<CommandPorts, 'people' | 'forbidding'>,
  actor: Actor,
  { call, approval, at }: { readonly call: ToolCall; readonly approval: Approval | undefined; readonly at: number },
): Refusal | undefined {
  const prohibited = forbidden(ports, call.request, 'judge')?.refusal;
  if (prohibited !== undefined) return prohibited;
  const ended = approval === undefined ? undefined : notOpen(approval, at);
  return ended ?? noApproverNow(ports, actor)?.refusal;
}

function no({ code: why, detail }: Refusal): NonNullable<ApprovalView['mayDecide']> {
  return { now: false, why, detail };
}
