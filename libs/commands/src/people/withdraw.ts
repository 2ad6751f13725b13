import { parseApprovalId } from '@countersign/contracts';
import { toolCallRules } from '@countersign/domain';
import type { WithdrawResponse } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import type { Result } from '../result.js';
import { withToolCall } from '../stream/with-tool-call.js';
import type { Refused } from '../stream/with-tool-call.js';
import { aliasesOf } from './aliases.js';
import { asUnknownApproval, unknownApproval } from './respond.js';
import { noApproverNow } from './responder.js';

/**
 * Withdraws the actor's own vote while the approval is pending. `which` says which one, and whether it may be a repeat.
 *
 * Attack: a front end withdraws what a person of the tokens file answered, because the policy file says that they are one of its people.
 */
export async function withdraw(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  commandId: string,
  which: Pick<WithdrawResponse, 'response' | 'mayBeRepeat'> = {},
): Promise<Result> {
  const { tenant, principal, vouchedBy } = actor;
  const aliases = () => (vouchedBy === undefined ? aliasesOf(ports, tenant, principal) : []);
  return takeBack(
    { ports, actor, approvalId, commandId },
    () => noApproverNow(ports, actor) ?? { aliases: aliases(), ...which },
  );
}

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
  return takeBack({ ports, actor, approvalId, commandId }, () => ({ of }));
}

interface Withdrawal {
  readonly ports: CommandPorts;
  readonly actor: Actor;
  readonly approvalId: string;
  readonly commandId: string;
}

/** Whose votes, and which. It is asked again in each try. */
type Which = Pick<WithdrawResponse, 'response' | 'mayBeRepeat' | 'aliases' | 'of'>;

async function takeBack(
  { ports, actor, approvalId, commandId }: Withdrawal,
  whichNow: () => Which | Refused,
): Promise<Result> {
  const target = parseApprovalId(approvalId);
  if (target === undefined) return unknownApproval(approvalId);
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId: target.callId, commandId, by: actor },
    toolCallRules.withdrawResponse,
    (_, at) => {
      const which = whichNow();
      if ('refusal' in which) return which;
      return { type: 'WithdrawResponse', at, approvalId, withdrawnBy: actor.principal, ...which };
    },
  );
  if (outcome.status === 'refused') return asUnknownApproval(outcome, approvalId);
  return { status: 'done', value: undefined, position: outcome.position };
}
