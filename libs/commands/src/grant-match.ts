import { argumentsDigest, concealAt, saltedDigest } from '@countersign/contracts';
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
 * and no second person who is a requester.
 */
export function isInReach(
  ports: CommandPorts,
  { terms, confirmed }: Pick<Grant, 'terms' | 'confirmed'>,
  call: GrantedCall,
  at: number,
): boolean {
  const { proposal, requirement } = call;
  const { runId, agentId, risk } = terms;
  if (terms.toolName !== proposal.toolName) return false;
  if (runId !== null && runId !== proposal.runId) return false;
  if (agentId !== null && agentId !== proposal.agentId) return false;
  if (!isWithinRisk(requirement.risk, risk)) return false;
  const creator = creatorOf(ports, terms);
  if (creator === undefined || !couldApproveAlone(call, creator, at)) return false;
  // Attack: the agent's owner confirms. Their groups were checked then; here it counts only who they are.
  return confirmed === null || couldApproveAlone(call, { ...creator, principal: confirmed.by }, at);
}

/**
 * The creator as they are now: with the groups of their sign-in at that time and those of the policy file of today.
 * Undefined when the policy file listed them then and no longer does.
 */
function creatorOf(ports: CommandPorts, terms: GrantTerms): Responder | undefined {
  const { tenant, createdBy: principal, groups, isListed, via, assurance } = terms;
  const policy = ports.policies.of(tenant);
  if (isListed && !policy.isListed(principal)) return undefined;
  return {
    principal,
    aliases: aliasesOf(ports, tenant, principal),
    groups: [...new Set([...groups, ...policy.groupsOf(principal)])],
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
  { match, toolName }: Pick<GrantTerms, 'match' | 'toolName'>,
  { proposal, policyCall }: Pick<GrantedCall, 'proposal' | 'policyCall'>,
  budget: Budget,
): Promise<boolean> {
  if ('any' in match) return true;
  if ('digest' in match) {
    const digest = argumentsDigest(toolName, proposal.arguments);
    return match.digest === (match.salt === null ? digest : saltedDigest(digest, match.salt));
  }
  const conditions = await grants?.conditions();
  // Attack: an agent hides a value by its own schema or by a name, and `args.path != "/etc"` is true of the mask.
  const shown = concealAt(proposal.arguments, proposal.sensitive);
  return conditions?.holds(match.when, { ...policyCall, arguments: shown }, clock.now(), budget) ?? false;
}
