import { argumentsDigest, concealAt, hiddenValues, saltedDigest } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import { couldApproveAlone, isWithinRisk } from '@countersign/domain';
import type { AskedCall, Grant, Responder } from '@countersign/domain';
import type { Budget, PolicyCall } from '@countersign/policy';
import { aliasesOf } from './aliases.js';
import type { CommandPorts } from './ports.js';

/** A call in front of grants. */
export interface GrantedCall extends AskedCall {
  readonly policyCall: PolicyCall;
}

/**
 * Returns whether a grant is about this call at all: its tool, run, agent and risk, a creator who could approve it alone,
 * and no second person who is a requester. Both people must be approvers now.
 */
export function isInReach(
  ports: CommandPorts,
  { terms, confirmed }: Pick<Grant, 'terms' | 'confirmed'>,
  call: GrantedCall,
  at: number,
): boolean {
  if (!isInScope(terms, call)) return false;
  const creator = creatorOf(ports, terms);
  if (creator === undefined || !couldApproveAlone(call, creator, at)) return false;
  if (confirmed === null) return true;
  if (ports.people !== undefined && ports.people.approver(terms.tenant, confirmed.by) === undefined) return false;
  // Attack: the agent's owner confirms. Their groups were checked then; here it counts only who they are.
  const aliases = aliasesOf(ports, terms.tenant, confirmed.by);
  return couldApproveAlone(call, { ...creator, principal: confirmed.by, aliases }, at);
}

function isInScope({ toolName, runId, agentId, risk }: GrantTerms, { proposal, requirement }: GrantedCall): boolean {
  if (toolName !== proposal.toolName) return false;
  if (runId !== null && runId !== proposal.runId) return false;
  if (agentId !== null && agentId !== proposal.agentId) return false;
  return isWithinRisk(requirement.risk, risk);
}

/**
 * The creator as they are now. A person of the sign-in provider who is away has the groups of their sign-in at that time.
 * Undefined when they are no approver any more, or the policy file listed them then and no longer does.
 */
function creatorOf(ports: CommandPorts, terms: GrantTerms): Responder | undefined {
  const { tenant, createdBy: principal, groups, isListed, via, assurance } = terms;
  const { people } = ports;
  const policy = ports.policies.of(tenant);
  const now = people?.approver(tenant, principal);
  if (people !== undefined && now === undefined) return undefined;
  if (isListed && !policy.isListed(principal)) return undefined;
  const signedIn = now === undefined || now.isAway ? groups : [];
  return {
    principal,
    aliases: aliasesOf(ports, tenant, principal),
    groups: [...new Set([...signedIn, ...(now?.groups ?? []), ...policy.groupsOf(principal)])],
    via,
    assurance,
  };
}

/**
 * Resolves to whether the arguments of a call are those that a grant permits. An expression that reads a hidden value has
 * no answer: the person who wrote it did not see the value, and learns nothing about it.
 */
export async function matchesArguments(
  { grants, clock }: CommandPorts,
  { match, toolName, approvalId }: Pick<GrantTerms, 'match' | 'toolName' | 'approvalId'>,
  { proposal, policyCall }: Pick<GrantedCall, 'proposal' | 'policyCall'>,
  budget: Budget,
): Promise<boolean> {
  if ('any' in match) return true;
  if ('digest' in match) {
    // Attack: grants for the digests of guesses. The one that is used tells the hidden value. A remembered digest is ours.
    if (approvalId === null && hiddenValues(proposal.arguments, proposal.sensitive).length > 0) return false;
    const digest = argumentsDigest(toolName, proposal.arguments);
    return match.digest === (match.salt === null ? digest : saltedDigest(digest, match.salt));
  }
  const conditions = await grants?.conditions();
  // Attack: an agent hides a value by its own schema or by a name, and `args.path != "/etc"` is true of the mask.
  const shown = concealAt(proposal.arguments, proposal.sensitive);
  return conditions?.holds(match.when, { ...policyCall, arguments: shown }, clock.now(), budget) ?? false;
}
