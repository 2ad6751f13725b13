import { personOfFrontEnd } from '@countersign/contracts';
import type { Approval, VoterNow, Vote } from '@countersign/domain';
import { aliasesOf } from './aliases.js';
import { boundedGroups } from './groups.js';
import type { CommandPorts } from '../ports.js';

type VoterPorts = Pick<CommandPorts, 'policies' | 'people'>;

/**
 * What is known now about the people whose votes count in an approval. Attack: a stolen token votes, the token is
 * removed, and the next vote completes the quorum. Nothing without a vote, as nearly always.
 */
export function votersOf(
  ports: VoterPorts,
  tenant: string,
  approval: Approval | undefined,
  at: number,
): { readonly voters?: readonly VoterNow[] } {
  const counted = approval?.votes.filter(({ status, automatic }) => status === 'counted' && !automatic) ?? [];
  return counted.length === 0 ? {} : { voters: counted.map((vote) => voterNow(ports, tenant, vote, at)) };
}

function voterNow(ports: VoterPorts, tenant: string, vote: Vote, at: number): VoterNow {
  const { respondedBy, onBehalfOf, groups } = vote;
  const people = onBehalfOf === null ? [respondedBy] : [respondedBy, onBehalfOf];
  const names = people.flatMap((principal) => [principal, ...aliasesOf(ports, tenant, principal)]);
  const own = groupsOfVoter(ports, tenant, vote);
  if (own === null || onBehalfOf === null) return { respondedBy, onBehalfOf, groups: own, names };
  const policy = ports.policies.of(tenant);
  // A process that knows neither people nor a policy, as a projector may be, cannot say that a delegation has ended.
  const isUnknown = ports.people === undefined && policy.approvers.length === 0;
  const isDelegate = isUnknown || policy.delegatorsOf(respondedBy, at).some(({ id }) => id === onBehalfOf);
  const represented = isDelegate ? groupsNow(ports, tenant, onBehalfOf, groups) : null;
  const within = ports.people?.approver(tenant, respondedBy)?.within;
  return { respondedBy, onBehalfOf, groups: represented && boundedGroups(represented, within), names };
}

/**
 * The groups of a voter now; null also where a front end vouched for them, and this process cannot know what it may say. Attack: its
 * token is removed, and the votes of its people count at a deadline.
 */
function groupsOfVoter(
  ports: VoterPorts,
  tenant: string,
  { respondedBy, groups, via }: Vote,
): readonly string[] | null {
  const isUnbounded = ports.people === undefined && personOfFrontEnd(respondedBy)?.frontEnd === via;
  return isUnbounded ? null : groupsNow(ports, tenant, respondedBy, groups);
}

/**
 * The groups of a person now; null: they are no approver. A person of the sign-in provider who is away keeps the groups
 * of the vote, and so does every person in a process that knows the policy file alone.
 */
function groupsNow(
  { policies, people }: VoterPorts,
  tenant: string,
  principal: string,
  voted: readonly string[],
): readonly string[] | null {
  if (people === undefined) return voted;
  const now = people.approver(tenant, principal);
  if (now === undefined) return null;
  const given = [...(now.isAway ? voted : []), ...now.groups, ...policies.of(tenant).groupsOf(principal)];
  return boundedGroups(given, now.within);
}
