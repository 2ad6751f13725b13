import { parseApprovalId } from '@countersign/contracts';
import { toolCallRules } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import type { Result } from '../result.js';
import { withToolCall } from '../stream/with-tool-call.js';
import { asUnknownApproval, unknownApproval } from './respond.js';

/**
 * Ends the votes of another person in a pending approval. The caller may end that person: it is their front end, or an admin.
 * @returns a refusal `unknown-approval` when no vote of the person counts.
 */
export async function endVotes(
  ports: CommandPorts,
  actor: Actor,
  { approvalId, of }: { readonly approvalId: string; readonly of: string },
  commandId: string,
): Promise<Result> {
  const target = parseApprovalId(approvalId);
  if (target === undefined) return unknownApproval(approvalId);
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId: target.callId, commandId, by: actor },
    toolCallRules.withdrawResponse,
    (_, at) => ({ type: 'WithdrawResponse', at, approvalId, withdrawnBy: actor.principal, of }),
  );
  if (outcome.status === 'refused') return asUnknownApproval(outcome, approvalId);
  return { status: 'done', value: undefined, position: outcome.position };
}
