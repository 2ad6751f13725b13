import { argumentsDigest, maskAt, saltedDigest } from '@countersign/contracts';
import type { GrantTerms, JsonObject } from '@countersign/contracts';
import { couldApproveAlone, isWithinRisk } from '@countersign/domain';
import type { AskedCall, Responder } from '@countersign/domain';
import type { Budget, PolicyCall } from '@countersign/policy';
import { aliasesOf } from './aliases.js';
import type { CommandPorts } from './ports.js';

/** A call in front of grants. */
export interface GrantedCall extends AskedCall {
  readonly policyCall: PolicyCall;
}

/** Returns whether a grant is about this call at all: its tool, run, agent and risk, and a creator who could approve it alone. */
export function isInReach(ports: CommandPorts, terms: GrantTerms, call: GrantedCall, at: number): boolean {
  const { proposal, requirement } = call;
  const { runId, agentId, risk } = terms;
  if (terms.toolName !== proposal.toolName) return false;
  if (runId !== null && runId !== proposal.runId) return false;
  if (agentId !== null && agentId !== proposal.agentId) return false;
  if (!isWithinRisk(requirement.risk, risk)) return false;
  const creator = creatorOf(ports, terms);
  return creator !== undefined && couldApproveAlone(call, creator, at);
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
 * Resolves to whether the arguments of a call are those that a grant permits. An expression sees masks in place of
 * hidden values, as the person did who wrote it.
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
  const shown: JsonObject = maskAt(proposal.arguments, proposal.sensitive, proposal.salt);
  return conditions?.holds(match.when, { ...policyCall, arguments: shown }, clock.now(), budget) ?? false;
}
