import { refusedUntold, toolCallRules } from '@countersign/domain';
import type { RespondToApproval, ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import { withToolCall } from '../stream/with-tool-call.js';
import type { Refused } from '../stream/with-tool-call.js';

/** A response that was refused, and the call as it was then. Undefined: it did not come so far. */
export interface RefusedResponse {
  readonly call: ToolCall | undefined;
  readonly tried: RespondToApproval | undefined;
  readonly commandId: string;
}

/**
 * Records a refused edit as a look at the hidden values that it keeps, where the refusal may tell them. Returns the refusal to
 * give instead if the look is not possible.
 *
 * Attack: an approver tries edits that keep a hidden value next to a guess. A schema that wants different values, or a rule
 * that compares two of them, says whether the guess is right.
 */
export async function recordedGuess(
  ports: CommandPorts,
  actor: Actor,
  { call, tried, commandId }: RefusedResponse,
): Promise<Refused | undefined> {
  if (call === undefined || tried?.decision.type !== 'edit' || tried.decision.keeps === undefined) return undefined;
  if (refusedUntold(tried, call) !== undefined) return undefined;
  const { tenant, callId } = call.request;
  const { approvalId, responder } = tried;
  const pointers = tried.decision.keeps;
  const look = await withToolCall(
    ports,
    { tenant, callId, commandId: `${commandId}:guess`, by: actor },
    toolCallRules.revealValues,
    (_, at) => ({ type: 'RevealValues', at, approvalId, pointers, outputPointers: [], responder }),
  );
  return look.status === 'refused' ? look : undefined;
}
