import type { GrantTerms } from '@countersign/contracts';
import { isExhausted } from './grant.state.js';
import type { Grant } from './grant.state.js';
import { otherPlace } from './place.js';
import { isWithinRisk } from './requirement.js';
import type { ApproversOfGrant, AskedCall, GrantFacts, JudgedCall, MatchFacts } from './step.facts.js';
import { hasCome } from './time.js';
import type { ToolCallProposal } from './tool-call.commands.js';

/** A call that would be recorded, in front of the grants that may cover it. */
export interface CoverableCall {
  readonly proposal: ToolCallProposal;
  readonly judged: JudgedCall;
  readonly grants: readonly GrantFacts[];
}

/** A call after the grants: `grantId` names the one whose use it needs. */
export interface CoveredCall {
  readonly judged: JudgedCall;
  readonly grantId: string | null;
}

/** The calls of one request, covered by the first grant that has a use left for each. `at`: epoch milliseconds. */
export function coverByGrants(calls: readonly CoverableCall[], at: number): readonly CoveredCall[] {
  const uses = new Map<string, number>();
  return calls.map((call): CoveredCall => {
    const { judged, grants } = call;
    if (judged.verdict.outcome !== 'require') return { judged, grantId: null };
    const usable = grants.filter((facts) => mayCover(facts, call, uses, at));
    // Attack: arguments on which the expression of a blocking rule has no answer, so that a grant covers the call.
    if (judged.mightBeBlockedBy !== undefined) return { judged: uncovered(usable, judged), grantId: null };
    const first = usable.find((facts) => matchesArguments(facts.grant.terms, facts))?.grant;
    if (first === undefined) return { judged, grantId: null };
    const { grantId } = first.terms;
    if (!first.callIds.includes(call.proposal.callId)) uses.set(grantId, (uses.get(grantId) ?? first.uses) + 1);
    return { judged: granted(judged, first.terms), grantId };
  });
}

/** Returns whether a grant that matches the arguments would cover the call, with the uses that calls before it take. */
function mayCover(facts: GrantFacts, call: CoverableCall, uses: ReadonlyMap<string, number>, at: number): boolean {
  const { grant } = facts;
  const { status, terms, callIds } = grant;
  if (status !== 'active' || hasCome(terms.expiresAt, at)) return false;
  const isUsed = isExhausted({ terms, uses: uses.get(terms.grantId) ?? grant.uses });
  if (isUsed && !callIds.includes(call.proposal.callId)) return false;
  return isInReach(facts, { proposal: call.proposal, requirement: call.judged.requirement });
}

/** Returns whether the arguments of a call are those that a grant permits. */
export function matchesArguments(
  { match, approvalId }: Pick<GrantTerms, 'match' | 'approvalId'>,
  { digest, holds, hidesValues }: MatchFacts,
): boolean {
  if ('any' in match) return true;
  // Attack: grants for the digests of guesses. The one that is used tells the hidden value. A remembered digest is ours.
  if ('digest' in match) return (approvalId !== null || !hidesValues) && match.digest === digest;
  return holds === true;
}

/**
 * Returns whether no grant after this one is needed: it covers the call, however many of the `calls` of the request it
 * covers. Then the expressions of the others need not be evaluated.
 */
export function suffices(facts: MatchFacts & Pick<GrantFacts, 'grant'>, callId: string, calls: number): boolean {
  const { grant } = facts;
  if (grant.status !== 'active' || !matchesArguments(grant.terms, facts)) return false;
  return grant.callIds.includes(callId) || !isExhausted({ ...grant, uses: grant.uses + calls - 1 });
}

/**
 * Returns whether a grant is about this call at all: its tool, run, agent and risk, a creator who could approve it alone,
 * and a second person, if it has one, who could as well.
 */
export function isInReach(
  {
    grant: { terms, confirmed },
    creatorCould,
    confirmerCould,
  }: ApproversOfGrant & { readonly grant: Pick<Grant, 'terms' | 'confirmed'> },
  call: AskedCall,
): boolean {
  return isInScope(terms, call) && creatorCould && (confirmed === null || confirmerCould);
}

/** Returns whether a grant names this call by its tool, run, agent, place, schema and risk, whoever is behind it. */
export function isInScope(terms: GrantTerms, call: AskedCall): boolean {
  const { toolName, runId, risk } = terms;
  if (toolName !== call.proposal.toolName) return false;
  if (runId !== null && runId !== call.proposal.runId) return false;
  const isSame = isOfAgent(terms, call) && isInPlace(terms, call) && isOfSchema(terms, call);
  return isSame && isWithinRisk(call.requirement.risk, risk);
}

/**
 * Attack: people allow a call of a tool, and the tool means another thing when the agent calls it again: its defaults, its units, or
 * what it accepts.
 */
function isOfSchema({ toolSchemaHash = null, approvalId }: GrantTerms, { proposal }: AskedCall): boolean {
  return approvalId === null || toolSchemaHash === proposal.toolSchemaHash;
}

/**
 * Attack: people allow a command in one folder, and the agent gives it in another, where the same arguments mean other files; or it
 * names no folder until its approval is remembered.
 */
function isInPlace({ labels = {}, approvalId }: GrantTerms, { proposal }: AskedCall): boolean {
  const hasLabels = Object.entries(labels).every(
    ([name, value]) => Object.hasOwn(proposal.labels, name) && proposal.labels[name] === value,
  );
  return hasLabels && (approvalId === null || otherPlace(labels, proposal.labels) === undefined);
}

/**
 * Attack: a principal whose token allows any agent takes the name of another's agent. A grant that was remembered with a call
 * is for the principal of the call alone; one that names an agent alone is for all who may speak for that agent.
 */
function isOfAgent({ agentId, requestedBy }: GrantTerms, { proposal }: AskedCall): boolean {
  if (requestedBy !== undefined && requestedBy !== proposal.requestedBy) return false;
  return agentId === null || agentId === proposal.agentId;
}

function uncovered(usable: readonly GrantFacts[], judged: JudgedCall): JudgedCall {
  const { verdict, mightBeBlockedBy } = judged;
  if (usable.length === 0 || mightBeBlockedBy === undefined) return judged;
  const why = [...verdict.why, `no grant covers it, because "${mightBeBlockedBy}" might block the call`];
  return { ...judged, verdict: { ...verdict, why } };
}

function granted({ verdict, requirement }: JudgedCall, { grantId, createdBy }: GrantTerms): JudgedCall {
  const why = [...verdict.why, `covered by the grant ${grantId} of ${createdBy}`];
  return { verdict: { ...verdict, outcome: 'allow', automatic: true, why, grantId }, requirement };
}
