import { argumentsDigest, concealAt, hiddenValues, saltedDigest } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import {
  couldApprove,
  isInReach as reaches,
  isInScope,
  matchesArguments as isMatch,
  suffices,
} from '@countersign/domain';
import type {
  AskedCall,
  Grant,
  GrantFacts,
  JudgedCall,
  MatchFacts,
  PeopleOfGrant,
  Responder,
} from '@countersign/domain';
import { budgetOfRequest } from '@countersign/policy';
import type { Budget, PolicyCall } from '@countersign/policy';
import { aliasesOf } from '../people/aliases.js';
import type { Plan } from '../request/plan-call.js';
import type { CommandPorts, KnownApprover } from '../ports.js';

/** A call in front of grants. */
export interface GrantedCall extends AskedCall {
  readonly policyCall: PolicyCall;
}

/** Returns whether a use of the grant was lost for the call. */
export type IsLost = (grantId: string, callId: string) => boolean;

interface GrantLook {
  readonly isLost: IsLost;
  /** Epoch milliseconds. */
  readonly at: number;
}

/**
 * The grants that may cover each new call of a request about which people would be asked. All expressions of one request
 * share one budget. Costs nothing where no grant is about the tool of such a call.
 */
export async function grantFactsOf(
  ports: CommandPorts,
  plans: readonly Plan[],
  judged: readonly JudgedCall[],
  { isLost, at }: GrantLook,
): Promise<readonly (readonly GrantFacts[])[]> {
  const budget: Budget = { left: budgetOfRequest };
  const all: (readonly GrantFacts[])[] = [];
  for (const [index, plan] of plans.entries()) {
    const verdict = judged[index];
    const live = candidatesOf(ports, plan, verdict, isLost, at);
    if (verdict === undefined || live.length === 0) {
      all.push([]);
      continue;
    }
    const { proposal, policyCall } = plan;
    const call: GrantedCall = { proposal, policyCall, requirement: verdict.requirement };
    all.push(await inReach(ports, call, verdict, live, { calls: plans.length, budget, at }));
  }
  return all;
}

function candidatesOf(
  { grants }: CommandPorts,
  { callId, state, proposal }: Plan,
  judged: JudgedCall | undefined,
  isLost: IsLost,
  at: number,
): readonly Grant[] {
  if (grants === undefined || state.status === 'recorded' || judged?.verdict.outcome !== 'require') return [];
  return grants.index
    .live(proposal.tenant, proposal.toolName, at)
    .filter(({ terms: { grantId } }) => !isLost(grantId, callId));
}

/**
 * The grants in reach, up to the first that suffices: the expressions of those after it would cost the budget of the calls
 * that follow. Where a rule might block the call, a person decides, and no expression is evaluated.
 */
export async function inReach(
  ports: CommandPorts,
  call: GrantedCall,
  judged: JudgedCall,
  live: readonly Grant[],
  { calls, budget, at }: { readonly calls: number; readonly budget: Budget; readonly at: number },
): Promise<readonly GrantFacts[]> {
  const found: GrantFacts[] = [];
  const hidesValues = hides(call);
  const isAsked = judged.mightBeBlockedBy === undefined;
  for (const grant of live) {
    // The rules of a response, which answer about its people, take more work.
    if (!isInScope(grant.terms, call)) continue;
    const people = couldApprove(grant, peopleOf(ports, grant), call, at);
    if (!reaches({ grant, ...people }, call)) continue;
    const matched = await matchFactsOf(ports, grant.terms, call, isAsked ? budget : null);
    const facts = { grant, ...people, ...matched, hidesValues };
    found.push(facts);
    if (isAsked && suffices(facts, call.proposal.callId, calls)) break;
  }
  return found;
}

function peopleOf(ports: CommandPorts, { terms, confirmed }: Pick<Grant, 'terms' | 'confirmed'>): PeopleOfGrant {
  return { creator: creatorOf(ports, terms), confirmer: confirmed && confirmerOf(ports, terms.tenant, confirmed.by) };
}

/**
 * The creator as they are now. A person of the sign-in provider who is away has the groups of their sign-in at that time.
 * Null when they give none any more, or the policy file listed them then and no longer does.
 */
function creatorOf(ports: CommandPorts, terms: GrantTerms): Responder | null {
  const { tenant, createdBy: principal, groups, isListed, via, assurance } = terms;
  const policy = ports.policies.of(tenant);
  const now = giverNow(ports, tenant, principal);
  if (now === null) return null;
  if (isListed && !policy.isListed(principal)) return null;
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
 * The person of a grant as they are now; undefined in a process that knows no people. Null: they are no approver any more, or a
 * person of a front end, who gives no grant, because nothing says later that it still vouches for them.
 */
function giverNow({ people }: CommandPorts, tenant: string, principal: string): KnownApprover | null | undefined {
  if (people === undefined) return undefined;
  const now = people.approver(tenant, principal);
  return now === undefined || now.within !== undefined ? null : now;
}

function confirmerOf(ports: CommandPorts, tenant: string, principal: string): PeopleOfGrant['confirmer'] {
  const names = { principal, aliases: aliasesOf(ports, tenant, principal) };
  const now = giverNow(ports, tenant, principal);
  if (now === undefined) return names;
  if (now === null) return null;
  if (now.isAway) return names;
  return { ...names, groups: [...new Set([...now.groups, ...ports.policies.of(tenant).groupsOf(principal)])] };
}

/** Returns whether a grant is about this call at all, with its people as they are now. `at`: epoch milliseconds. */
export function isInReach(
  ports: CommandPorts,
  grant: Pick<Grant, 'terms' | 'confirmed'>,
  call: GrantedCall,
  at: number,
): boolean {
  return (
    isInScope(grant.terms, call) && reaches({ grant, ...couldApprove(grant, peopleOf(ports, grant), call, at) }, call)
  );
}

type Terms = Pick<GrantTerms, 'match' | 'toolName' | 'approvalId'>;
type Matched = Pick<GrantedCall, 'proposal' | 'policyCall'>;

/** Resolves to whether the arguments of a call are those that a grant permits. */
export async function matchesArguments(
  ports: CommandPorts,
  terms: Terms,
  call: Matched,
  budget: Budget,
): Promise<boolean> {
  return isMatch(terms, { ...(await matchFactsOf(ports, terms, call, budget)), hidesValues: hides(call) });
}

function hides({ proposal }: Pick<GrantedCall, 'proposal'>): boolean {
  return hiddenValues(proposal.arguments, proposal.sensitive).length > 0;
}

/**
 * The arguments of a call in front of a grant. An expression that reads a hidden value has no answer: the person who wrote
 * it did not see the value, and learns nothing about it. Without a budget no expression is evaluated.
 */
async function matchFactsOf(
  { grants, clock }: CommandPorts,
  { match, toolName }: Terms,
  { proposal: { arguments: args, sensitive }, policyCall }: Matched,
  budget: Budget | null,
): Promise<Omit<MatchFacts, 'hidesValues'>> {
  if ('digest' in match) {
    const digest = argumentsDigest(toolName, args);
    return { digest: match.salt === null ? digest : saltedDigest(digest, match.salt), holds: null };
  }
  if (!('when' in match) || budget === null) return { digest: null, holds: null };
  const conditions = await grants?.conditions();
  // Attack: an agent hides a value by its own schema or by a name, and `args.path != "/etc"` is true of the mask.
  const shown = { ...policyCall, arguments: concealAt(args, sensitive) };
  return { digest: null, holds: conditions?.holds(match.when, shown, clock.now(), budget) ?? false };
}
